//! A small setup, records, repeatable noise, and an in-memory store that can fail.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use undertone::agreement::RawAgreement;
use undertone::load::{Strictness, check_agreement};
use undertone::noise::{Cipher, Entropy, NoiseError, StreamKey};
use undertone::privacy::Receipt;
use undertone::{DataBounds, LearnerId, Loss, MemoryKind, ModelSpec, Round};
use undertone_models::{BoundedRecord, Features, Model, Record, Setup};
use undertone_node::protocol::{FOLLOW_RATE, Settings};
use undertone_node::store::{Commit, Position, Storage, StorageError, Stored};

/// SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A ring of logistic learners, with five features each.
pub(crate) fn setup(learners: usize, method: &str, more: &str) -> Arc<Setup> {
    parsed(&text(learners, method, more))
}

/// A network in which all are neighbours.
pub(crate) fn complete_setup(learners: usize) -> Arc<Setup> {
    let text = text(learners, "algorithm1", "unproven = true")
        .replace("topology = \"ring\"", "topology = \"complete\"")
        .replace("weight = 0.24", "weight = 0.1");
    parsed(&text)
}

/// The same with `features` features, and a memory of the same size.
pub(crate) fn wide_setup(learners: usize, features: usize) -> Arc<Setup> {
    let (now, then) = (format!("features = {FEATURES}"), format!("features = {features}"));
    let memory = (MEMORY, "kind = \"window\"\nwindow = 1");
    changed_setup(learners, "algorithm1", "unproven = true", &[(&now, &then), memory])
}

/// The same with parts of the text replaced.
pub(crate) fn changed_setup(
    learners: usize,
    method: &str,
    more: &str,
    changes: &[(&str, &str)],
) -> Arc<Setup> {
    let mut text = text(learners, method, more);
    for (now, then) in changes {
        assert!(text.contains(now), "{now}");
        text = text.replace(now, then);
    }
    parsed(&text)
}

/// The memory in the text of a setup.
pub(crate) const MEMORY: &str = "kind = \"anchored\"\ntolerance = 0.05\ntolerance_exponent = 0.3";

fn parsed(text: &str) -> Arc<Setup> {
    let raw: RawAgreement = toml::from_str(text).unwrap();
    Arc::new(Setup::new(check_agreement(&raw, Strictness::Run).unwrap()).unwrap())
}

fn text(learners: usize, method: &str, more: &str) -> String {
    format!(
        r#"
name = "node test"
rounds = 1000
method = "{method}"
{more}
[network]
learners = {learners}
topology = "ring"
weight = 0.24
[data]
source = "mushrooms"
partition = "iid"
[records]
warmup = 3
batch = 2
[bounds]
feature_norm = 1.0
out_of_bounds = "refuse"
[model]
loss = "logistic"
features = {FEATURES}
ridge = 0.01
[memory]
{MEMORY}
[parameters]
set = "ball"
radius = 5.0
[schedule]
step = 1.0
step_exponent = 0.8
coupling = 1.0
coupling_exponent = 0.65
[noise]
kind = "laplace"
scale = 0.5
exponent = 0.1
[privacy]
delta = 1e-6
"#
    )
}

pub(crate) const FEATURES: usize = 5;

pub(crate) fn settings(end: u64) -> Settings {
    Settings {
        deadline: Duration::from_secs(5),
        request_after: Duration::from_millis(500),
        records_wait: Duration::from_secs(2),
        heard_min: 1,
        follow_rate: FOLLOW_RATE,
        end: Round(end),
        inbox_max: 100_000,
    }
}

/// A record for any of the setups here.
pub(crate) fn record(dice: &mut Dice) -> BoundedRecord {
    let values: Vec<f64> = (0..FEATURES).map(|_| dice.unit() - 0.5).collect();
    let mut features = Features::Dense(values.into());
    features.clip_norm(0.9);
    let label = if dice.below(2) == 0 { 0.0 } else { 1.0 };
    let spec = ModelSpec {
        loss: Loss::Logistic,
        features: FEATURES,
        degree: 1,
        ridge: 0.01,
        lasso: 0.0,
        clip: f64::INFINITY,
    };
    let bounds = DataBounds { feature_norm: 1.0, label: 0.0, radius: 5.0 };
    let model = Model::new(spec, bounds).unwrap();
    model.record_checker(MemoryKind::Exact).check(Record::new(features, label)).unwrap()
}

/// The same noise for the same learner and round.
#[derive(Clone, Copy)]
pub(crate) struct Fixed;

impl Entropy for Fixed {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut bytes = [7; 32];
        bytes[..4].copy_from_slice(&learner.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&round.0.to_le_bytes());
        Ok(StreamKey::new(Cipher::ChaCha20, bytes))
    }
}

/// Noise that depends on a seed and on how often it was drawn: drawing twice gives a different release.
#[derive(Clone)]
pub(crate) struct CountedEntropy {
    pub(crate) seed: u64,
    pub(crate) drawn: Rc<RefCell<BTreeMap<(u32, u64), u64>>>,
}

impl Entropy for CountedEntropy {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let mut drawn = self.drawn.borrow_mut();
        let count = drawn.entry((learner.0, round.0)).or_default();
        *count += 1;
        let mut bytes = [0; 32];
        let parts = [self.seed, u64::from(learner.0), round.0, *count];
        for (slot, part) in bytes.chunks_exact_mut(8).zip(parts) {
            slot.copy_from_slice(&part.to_le_bytes());
        }
        Ok(StreamKey::new(Cipher::ChaCha20, bytes))
    }
}

/// The contents of a disk, and how its next operations fail.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) stored: Stored,
    pub(crate) receipts: Vec<Receipt>,
    /// After how many more operations one fails, and whether it takes effect all the same.
    pub(crate) fails_after: Option<(u64, bool)>,
    /// A planted bug: reports success without storing anything.
    pub(crate) lies: bool,
    pub(crate) operations: u64,
}

impl Disk {
    fn operate(&mut self, operation: impl FnOnce(&mut Disk)) -> Result<(), StorageError> {
        self.operations += 1;
        let failed = || Err(StorageError::Unavailable("injected".into()));
        match &mut self.fails_after {
            Some((0, takes_effect)) => {
                let takes_effect = *takes_effect;
                self.fails_after = None;
                if takes_effect {
                    operation(self);
                }
                failed()
            }
            Some((left, _)) => {
                *left -= 1;
                operation(self);
                Ok(())
            }
            None if self.lies => Ok(()),
            None => {
                operation(self);
                Ok(())
            }
        }
    }
}

/// A store on a disk that outlives it.
#[derive(Clone, Default)]
pub(crate) struct MemoryStore(pub(crate) Rc<RefCell<Disk>>);

impl Storage for MemoryStore {
    fn load(&mut self) -> Result<Stored, StorageError> {
        Ok(self.0.borrow().stored.clone())
    }

    fn accept(
        &mut self,
        records: &[BoundedRecord],
        position: Option<&Position>,
    ) -> Result<(), StorageError> {
        self.0.borrow_mut().operate(|disk| {
            disk.stored.waiting.extend(records.iter().map(|record| record.as_record().clone()));
            if let Some(Position { source, reached }) = position {
                disk.stored.positions.insert(source.clone(), *reached);
            }
        })
    }

    fn commit(&mut self, commit: Commit<'_>) -> Result<(), StorageError> {
        self.0.borrow_mut().operate(|disk| {
            disk.stored.waiting.drain(..commit.records_used);
            disk.stored.releases += 1;
            disk.stored.receipts.push_back(*commit.receipt);
            disk.receipts.push(*commit.receipt);
            match commit.snapshot {
                Some(snapshot) => {
                    disk.stored.snapshot = Some(snapshot.to_vec());
                    disk.stored.entries.clear();
                }
                None => disk.stored.entries.push(commit.entry.to_vec()),
            }
        })
    }

    fn cut_off(&mut self, neighbour: LearnerId) -> Result<(), StorageError> {
        self.0.borrow_mut().operate(|disk| disk.stored.cut_off.push(neighbour))
    }
}
