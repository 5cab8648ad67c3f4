//! Many learners on a wide-area network, in simulated time: the real protocol, not a model of it.
//!
//! Every learner is an [`undertone_node::protocol::Node`] that speaks the real wire format and
//! keeps its rounds in a store, in an [`undertone_simulation::Simulation`]. Here is what differs from its other uses: a
//! wide-area network and machines that go away ([`surroundings`]), and what is measured ([`measures`]). Everything follows
//! from a seed, including the noise, so a run can be repeated. NOT PRIVATE: this measures only the protocol.

mod learners;
mod measures;
mod surroundings;
#[cfg(test)]
mod tests;
mod wide_area;

use crate::spectrum::spectrum;
use measures::Measures;
use serde_json::{Value, json};
use std::time::Instant;
use surroundings::Run;
use wide_area::{PACKET_BYTES, PACKET_OVERHEAD_BYTES};

/// The settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) learners: usize,
    pub(crate) rounds: u64,
    pub(crate) seed: u64,
    /// `regular`, `ring` or `torus`.
    pub(crate) topology: String,
    /// Neighbours of each learner, where the topology is random and regular.
    pub(crate) degree: usize,
    /// n.
    pub(crate) dimension: usize,
    /// The step λ of a shielded learner, and the deviation of the noise on its gradients.
    pub(crate) step: f64,
    pub(crate) noise: f64,
    /// How long a round waits for neighbours, and after what time a missing release is requested.
    pub(crate) deadline_seconds: f64,
    pub(crate) request_after_seconds: f64,
    /// A round does not end before this many neighbours were heard.
    pub(crate) heard_min: usize,
    /// Whether all messages go through a router, which does not announce arrivals.
    pub(crate) router: bool,
    pub(crate) faults: Faults,
    /// The standard deviation of the logarithm of a message's travel time.
    pub(crate) jitter: f64,
    /// How many bits a learner can send in a second.
    pub(crate) uplink_bits: f64,
}

/// The faults of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    /// The share of releases that are lost, published or sent as an answer.
    pub(crate) loss: f64,
    /// The share of requests that are lost.
    pub(crate) loss_of_requests: f64,
    /// How long a learner stays on average before it goes away; 0: for ever.
    pub(crate) up_seconds: f64,
    /// How long a learner is away on average.
    pub(crate) down_seconds: f64,
}

impl Scenario {
    pub(crate) fn new(learners: usize, rounds: u64, seed: u64) -> Scenario {
        Scenario {
            learners,
            rounds,
            seed,
            topology: "regular".into(),
            degree: 6,
            dimension: 8,
            step: 1e-4,
            noise: 0.01,
            deadline_seconds: 5.0,
            request_after_seconds: 0.5,
            // As in the daemon.
            heard_min: 1,
            router: false,
            faults: Faults { loss: 0.0, loss_of_requests: 0.0, up_seconds: 0.0, down_seconds: 0.0 },
            jitter: 0.25,
            uplink_bits: 10e6,
        }
    }

    /// One option of the command line.
    fn set(&mut self, name: &str, value: &str) {
        let number = || value.parse::<f64>().expect("a number");
        match name {
            "--topology" => self.topology = value.into(),
            "--degree" => self.degree = number() as usize,
            "--dimension" => self.dimension = number() as usize,
            "--step" => self.step = number(),
            "--noise" => self.noise = number(),
            // As in the daemon.
            "--deadline" => (self.deadline_seconds, self.request_after_seconds) = (number(), number() / 10.0),
            "--heard-least" => self.heard_min = number() as usize,
            "--router" => self.router = number() > 0.0,
            "--loss" => (self.faults.loss, self.faults.loss_of_requests) = (number(), number()),
            "--up" => self.faults.up_seconds = number(),
            "--down" => self.faults.down_seconds = number(),
            "--jitter" => self.jitter = number(),
            "--uplink" => self.uplink_bits = number(),
            _ => panic!("{name}: no such option"),
        }
    }
}

/// `ours events LEARNERS ROUNDS SEED [--option value …]`: what was measured, as JSON.
pub(crate) fn command(words: &[&str]) -> String {
    let [learners, rounds, seed, options @ ..] = words else { panic!("events LEARNERS ROUNDS SEED") };
    let number = |word: &str| word.parse::<u64>().expect("a whole number");
    let mut scenario = Scenario::new(number(learners) as usize, number(rounds), number(seed));
    for pair in options.chunks(2) {
        let [name, value] = pair else { panic!("every option has a value") };
        scenario.set(name, value);
    }
    let begin = Instant::now();
    let mut run = Run::new(&scenario);
    let opened = begin.elapsed();
    run.run();
    let ran = begin.elapsed() - opened;
    let (peak, learner_rounds) = (peak_memory(), scenario.learners as f64 * scenario.rounds as f64);
    let (simulation, measures) = (&run.simulation, run.measures());
    let graph = &simulation.setup().agreement.graph;
    let spectrum = spectrum(graph, scenario.seed);
    let predicted = measures::averaging(graph, &run.starts, scenario.rounds);
    let report = json!({
        "scenario": told(&scenario),
        "message_bytes": simulation.wire().message_bytes(),
        "simulated_seconds": simulation.now().as_nanos() as f64 * 1e-9,
        "measured": measures.report(&scenario),
        "spectrum": {"delta_2": spectrum.0, "delta_m": spectrum.1},
        "disagreement_predicted": predicted,
        "decay": decay(measures, &predicted, spectrum.0),
        "cost": {
            "wire_seconds": run.wire_seconds,
            "open_seconds": opened.as_secs_f64(),
            "run_seconds": ran.as_secs_f64(),
            "microseconds_per_learner_round": 1e6 * ran.as_secs_f64() / learner_rounds,
            "events": simulation.events_scheduled(),
            "memory_bytes": peak,
            "memory_bytes_per_learner": peak / scenario.learners as f64,
        },
    });
    report.to_string()
}

fn told(scenario: &Scenario) -> Value {
    let faults = &scenario.faults;
    json!({
        "learners": scenario.learners, "rounds": scenario.rounds, "seed": scenario.seed,
        "topology": scenario.topology, "degree": scenario.degree, "dimension": scenario.dimension,
        "step": scenario.step, "noise": scenario.noise, "deadline_seconds": scenario.deadline_seconds,
        "ask_after_seconds": scenario.request_after_seconds, "heard_least": scenario.heard_min,
        "router": scenario.router,
        "loss": faults.loss, "loss_of_asks": faults.loss_of_requests,
        "up_seconds": faults.up_seconds, "down_seconds": faults.down_seconds,
        "jitter": scenario.jitter, "uplink_bits": scenario.uplink_bits,
        "packet_bytes": PACKET_BYTES, "packet_overhead_bytes": PACKET_OVERHEAD_BYTES,
    })
}

/// By what factor disagreement shrinks in a round, in the second half of the run: as measured, by plain averaging
/// without faults, and for ever by the spectral gap. The coupling is 1.
fn decay(measures: &Measures, predicted: &[f64], delta_2: f64) -> Value {
    let rate = |curve: &[f64]| {
        let (half, last) = (curve.len() / 2, curve.len() - 1);
        (curve[last] / curve[half]).powf(1.0 / (last - half) as f64)
    };
    let measured = measures.disagreement();
    json!({
        "measured": (measured.len() > 3).then(|| rate(&measured)),
        "averaging": rate(predicted),
        "gap": 1.0 + delta_2,
    })
}

/// The peak memory of this process.
fn peak_memory() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    let kilobytes = line.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok());
    1024.0 * kilobytes.expect("a number")
}
