//! Distributes chunks over threads and adds their sums in the order of the records.

use super::chunk::{CHUNK, Chunk, RunChunk, Task};
use super::packed::Packed;
use super::scratch::Scratch;
use super::steps::Steps;
use std::num::NonZeroUsize;
use std::sync::mpsc::sync_channel;
use undertone_simd::InstructionSet;

/// Records per group, which one thread processes at a time: four chunks.
const GROUP: usize = 4 * CHUNK;

/// All records of a batch, and the parameters.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) steps: &'a Steps,
    pub(super) packed: &'a Packed,
    pub(super) set: InstructionSet,
    pub(super) inputs: &'a [f32],
    pub(super) task: Task<'a>,
}

/// The result of one group or of all.
pub(super) struct Outcome {
    /// The sum of gradients, packed.
    pub(super) sum: Vec<f64>,
    pub(super) logits: Vec<f32>,
    pub(super) clipped: usize,
    pub(super) dropped: usize,
}

impl Job<'_> {
    /// Runs all groups. The assignment of groups to threads changes no bit: each group is computed separately, and groups
    /// are merged in order.
    pub(super) fn run(&self, threads: NonZeroUsize) -> Outcome {
        let groups = self.records().div_ceil(GROUP);
        let threads = threads.get().min(groups);
        let mut total = self.empty_outcome();
        if threads <= 1 {
            let (mut scratch, mut outcome) = (Scratch::new(self.steps), self.empty_outcome());
            for group in 0..groups {
                self.group(group, &mut scratch, &mut outcome);
                total.merge(&outcome);
            }
            return total;
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|first| {
                    // Capacity one: a thread that is ahead waits, so memory stays bounded.
                    let (send, receive) = sync_channel(1);
                    let job = *self;
                    scope.spawn(move || {
                        let mut scratch = Scratch::new(job.steps);
                        for group in (first..groups).step_by(threads) {
                            let mut outcome = job.empty_outcome();
                            job.group(group, &mut scratch, &mut outcome);
                            if send.send(outcome).is_err() {
                                break;
                            }
                        }
                    });
                    receive
                })
                .collect();
            for group in 0..groups {
                // An error means that the thread panicked; the scope propagates the panic.
                if let Ok(outcome) = workers[group % threads].recv() {
                    total.merge(&outcome);
                }
            }
        });
        total
    }

    fn records(&self) -> usize {
        self.inputs.len() / self.steps.input.count()
    }

    fn empty_outcome(&self) -> Outcome {
        let len = if matches!(self.task, Task::Logits) { 0 } else { self.steps.packed };
        Outcome { sum: vec![0.0; len], logits: Vec::new(), clipped: 0, dropped: 0 }
    }

    /// Writes the result of one group into `outcome`.
    fn group(&self, group: usize, scratch: &mut Scratch, outcome: &mut Outcome) {
        outcome.sum.fill(0.0);
        outcome.logits.clear();
        (scratch.clipped, scratch.dropped) = (0, 0);
        let end = self.records().min((group + 1) * GROUP);
        for start in (group * GROUP..end).step_by(CHUNK) {
            let records = start..end.min(start + CHUNK);
            let features = self.steps.input.count();
            let inputs = &self.inputs[records.start * features..records.end * features];
            let task = match self.task {
                Task::Logits => Task::Logits,
                Task::Gradients(labels, clip) => Task::Gradients(&labels[records], clip),
            };
            let chunk = Chunk { steps: self.steps, packed: self.packed, inputs, task };
            self.set.run(RunChunk { chunk, scratch });
            for (total, &part) in outcome.sum.iter_mut().zip(scratch.sum.iter()) {
                *total += f64::from(part);
            }
            outcome.logits.extend_from_slice(&scratch.logits);
        }
        (outcome.clipped, outcome.dropped) = (scratch.clipped, scratch.dropped);
    }
}

impl Outcome {
    fn merge(&mut self, other: &Outcome) {
        for (total, part) in self.sum.iter_mut().zip(&other.sum) {
            *total += part;
        }
        self.logits.extend_from_slice(&other.logits);
        self.clipped += other.clipped;
        self.dropped += other.dropped;
    }
}
