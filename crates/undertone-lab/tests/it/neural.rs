//! Neural networks in whole runs: what they learn, what they cost, and what one record can move.

use crate::run;
use safetensors::SafeTensors;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use undertone::load::{Document, Source, Strictness};
use undertone::persist::{load, save};
use undertone::privacy::{NoCertificate, Receipt, verify};
use undertone::{LearnerId, Memory, MemoryKind, Round};
use undertone_lab::experiment::{Experiment, Overrides, RawExperiment, load_file, resolved};
use undertone_lab::stream::PublicParts;
use undertone_lab::{Measuring, RunEntropy, RunFacts, Summary, run_folder, simulate, stream};
use undertone_models::memory::{NeuralArrival, NeuralHistory};
use undertone_models::{AnyMemory, AnyModel, BoundedRecord, NeuralModel, Record};

/// Two half-moons of a sort: no line divides them.
fn rings(count: usize) -> String {
    let mut text = String::from("a,b,label\n");
    for j in 0..count {
        let angle = j as f64 * 2.399_963;
        let (class, radius) = if j % 2 == 0 { ("in", 0.3) } else { ("out", 0.9) };
        text += &format!("{},{},{class}\n", radius * angle.cos(), radius * angle.sin());
    }
    text
}

const CONFIG: &str = r#"
name = "rings"
rounds = 120
method = "shielded"
[network]
learners = 3
topology = "complete"
weight = 0.3
[data]
source = "rings.csv"
partition = "iid"
test_fraction = 0.2
[records]
label = "label"
warmup = 100
batch = 5
[bounds]
feature_norm = 1.0
out_of_bounds = "refuse"
[model]
loss = "mlp"
features = 2
classes = 2
hidden = [16]
clip = 1.0
[memory]
kind = "exact"
[parameters]
set = "ball"
radius = 100.0
[schedule]
step = 4.0
step_exponent = 0.0
coupling = 1.0
coupling_exponent = 0.0
interval = 1
[noise]
kind = "gaussian"
exponent = 0.0
calibrate = "lifetime"
[privacy]
epsilon = 20.0
delta = 1e-5
"#;

fn experiment(folder: &Path, change: impl FnOnce(&mut RawExperiment)) -> Experiment {
    fs::write(folder.join("rings.csv"), rings(2700)).unwrap();
    let path = folder.join("rings.toml");
    fs::write(&path, CONFIG).unwrap();
    let source = Source::File(path);
    let loaded = undertone::load(&source, change, Strictness::Run).unwrap();
    let mut experiment: Experiment = loaded.checked;
    experiment.data.source = folder.join("rings.csv").display().to_string();
    experiment
}

#[test]
fn shielded_networks_learn_what_no_line_divides_within_their_certificate() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["exact", "arrival", "window"] {
        let experiment = experiment(folder.path(), |raw| {
            raw.agreement.memory.kind = Some(kind.into());
            raw.agreement.memory.window = (kind == "window").then_some(200);
        });
        let (setup, outcome) = run(&experiment, 1, 10);
        let last = outcome.rows.last().unwrap().metrics;
        let (public, seen) = (last.test_accuracy_public.unwrap(), last.training_accuracy.unwrap());
        assert!(public > 0.85 && seen > 0.8, "{kind}: {public} {seen}");
        assert!(last.tracking_error.is_nan() && last.test_accuracy_optimum.is_none());
        for (learner, bound) in outcome.learners.iter().zip(&setup.lifetimes) {
            assert!(learner.spent.zcdp <= bound.as_ref().unwrap().total.zcdp, "{kind}");
        }
    }
    // The control: a linear model cannot learn it.
    let linear = experiment(folder.path(), |raw| {
        raw.agreement.model.loss = Some("softmax".into());
        raw.agreement.model.hidden = None;
    });
    let (_, outcome) = run(&linear, 1, 10);
    let public = outcome.rows.last().unwrap().metrics.test_accuracy_public.unwrap();
    assert!(public < 0.75, "{public}");
}

#[test]
fn algorithm1_on_a_neural_network_has_no_certificate_and_a_cap_stops_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment(folder.path(), |raw| {
        raw.agreement.method = Some("algorithm1".into());
        raw.agreement.unproven = Some(true);
        raw.agreement.schedule.interval = None;
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(undertone::agreement::OneOrEach::One(1.0));
    });
    let setup = experiment.setup().unwrap();
    assert_eq!(setup.lifetimes[0], Err(NoCertificate::NotConvexAndSmooth));
    let (_, outcome) = run(&experiment, 1, 10);
    // Round 1 is the last that has a bound.
    assert_eq!(outcome.rounds_run, 2);
    let mut uncapped = experiment;
    uncapped.agreement.caps.fill(None);
    let (setup, outcome) = run(&uncapped, 1, 10);
    assert_eq!(outcome.rounds_run, 120);
    assert!(outcome.learners[0].epsilon.is_infinite());
    // Costs without bound are null in JSON, and the ledger is still verified.
    let text = serde_json::to_string(&outcome.ledger).unwrap();
    let ledger: Vec<Receipt> = serde_json::from_str(&text).unwrap();
    let own: Vec<Receipt> = ledger.into_iter().filter(|one| one.learner == LearnerId(0)).collect();
    assert!(own.last().unwrap().zcdp_total.is_infinite());
    verify(LearnerId(0), &setup.mechanisms[0], None, &own).unwrap();
}

fn small_model(clip: f64) -> Arc<NeuralModel> {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment(folder.path(), |raw| raw.agreement.model.clip = Some(clip));
    match experiment.setup().unwrap().model {
        AnyModel::Neural(model) => model,
        AnyModel::Linear(_) => panic!("the experiment has a neural network"),
    }
}

fn record(model: &Arc<NeuralModel>, a: f64, b: f64, label: f64) -> BoundedRecord {
    let checker = AnyModel::Neural(Arc::clone(model)).record_checker(MemoryKind::Exact);
    checker.check(Record::dense([a, b], label)).unwrap()
}

fn point(model: &NeuralModel, salt: f64) -> Vec<f64> {
    let n = model.neural().parameters();
    (0..n).map(|j| (salt + 1.7 * j as f64).sin()).collect()
}

/// What one record can move each memory's gradient by, at points that are the same for both.
#[test]
fn one_record_moves_no_memory_by_more_than_its_share() {
    let model = small_model(0.25);
    let spread = model.spec().constants(model.bounds()).gradient_spread;
    let kinds = [MemoryKind::Exact, MemoryKind::Arrival, MemoryKind::Window { rounds: 4 }];
    for kind in kinds {
        let mut twins: Vec<AnyMemory> = (0..2)
            .map(|_| AnyMemory::new(kind, AnyModel::Neural(Arc::clone(&model))).unwrap())
            .collect();
        let mut moved_most: f64 = 0.0;
        for t in 0..12u64 {
            let theta = point(&model, t as f64);
            let gradients: Vec<Vec<f64>> = twins
                .iter_mut()
                .enumerate()
                .map(|(side, memory)| {
                    let (a, label) = (0.1 * t as f64 - 0.5, (t % 2) as f64);
                    let mut batch = vec![record(&model, a, 0.2, label); 3];
                    if t == 2 && side == 1 {
                        batch[1] = record(&model, -0.7, 0.7, 1.0);
                    }
                    memory.observe(&theta, &batch);
                    let mut out = vec![0.0; theta.len()];
                    memory.gradient(Round(t), &theta, &mut out);
                    out
                })
                .collect();
            let squares = gradients[0].iter().zip(&gradients[1]).map(|(a, b)| (a - b) * (a - b));
            let moved = squares.sum::<f64>().sqrt();
            let counted = 3 * (t + 1).min(kind.forgetting().limit().unwrap_or(u64::MAX));
            assert!(moved <= spread / counted as f64, "{kind:?}, round {t}: {moved}");
            moved_most = moved_most.max(moved * counted as f64 / spread);
            let gone = matches!(kind, MemoryKind::Window { .. }) && t >= 6;
            assert_eq!(moved > 0.0, t >= 2 && !gone, "{kind:?}, round {t}");
        }
        assert!(moved_most > 0.05, "{kind:?}: the test would not see a bound of a twentieth");
    }
}

#[test]
fn arrival_keeps_the_gradients_that_were_taken_and_exact_takes_them_anew() {
    let model = small_model(10.0);
    let batch = [record(&model, 0.3, -0.4, 1.0), record(&model, 0.5, 0.5, 0.0)];
    let (first, second) = (point(&model, 0.0), point(&model, 5.0));
    let mut out = vec![0.0; first.len()];
    let mut history = NeuralHistory::new(Arc::clone(&model), None);
    let mut arrival = NeuralArrival::new(Arc::clone(&model));
    let mut at = |memory: &mut dyn Memory<Record = BoundedRecord>, t: u64, theta: &[f64]| {
        memory.gradient(Round(t), theta, &mut out);
        out.clone()
    };
    history.observe(&first, &batch);
    arrival.observe(&first, &batch);
    let (old, kept) = (at(&mut history, 0, &first), at(&mut arrival, 0, &first));
    assert!(old.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 1e-12));
    assert_eq!(at(&mut arrival, 1, &second), kept);
    assert_ne!(at(&mut history, 1, &second), old);
}

#[test]
fn a_networks_memory_loaded_from_its_state_goes_on_with_the_same_bits() {
    let model = small_model(10.0);
    let kinds = [MemoryKind::Exact, MemoryKind::Arrival, MemoryKind::Window { rounds: 2 }];
    for kind in kinds {
        let empty = || AnyMemory::new(kind, AnyModel::Neural(Arc::clone(&model))).unwrap();
        let mut memory = empty();
        for t in 0..5_u32 {
            let theta = point(&model, f64::from(t));
            let (first, second) = ((0.3, -0.1 * f64::from(t), 1.0), (0.5, 0.5, 0.0));
            let batch = [first, second].map(|(a, b, label)| record(&model, a, b, label));
            memory.observe(&theta, &batch);
            let mut again = empty();
            load(&mut again, &save(&mut memory)).unwrap();
            let gradients = [&mut memory, &mut again].map(|memory| {
                let mut out = vec![0.0; theta.len()];
                memory.gradient(Round(t.into()), &theta, &mut out);
                out.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            });
            assert_eq!(gradients[0], gradients[1], "{kind:?}");
            assert_eq!(save(&mut memory), save(&mut again), "{kind:?}");
        }
    }
}

#[test]
fn what_no_network_can_have_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    experiment(folder.path(), |_| ());
    let loaded = load_file(&folder.path().join("rings.toml"), &Default::default()).unwrap();
    type Change = fn(&mut RawExperiment);
    let cases: [(Change, &str); 8] = [
        (|raw| raw.agreement.model.clip = None, "model.clip"),
        (|raw| raw.agreement.model.ridge = Some(0.1), "model.ridge"),
        (|raw| raw.agreement.model.classes = None, "model.classes"),
        (|raw| raw.agreement.model.hidden = Some(vec![0]), "model.hidden"),
        (|raw| raw.agreement.model.loss = Some("cnn".into()), "model.input"),
        (|raw| raw.agreement.parameters.start_spread = Some(1.0), "parameters.start_spread"),
        (|raw| raw.agreement.memory.kind = Some("moments".into()), "memory.kind"),
        (
            |raw| {
                raw.agreement.model.loss = Some("softmax".into());
                raw.agreement.model.hidden = None;
                raw.agreement.memory.kind = Some("arrival".into());
            },
            "memory.kind",
        ),
    ];
    for (change, path) in cases {
        let mut raw = loaded.raw.clone();
        change(&mut raw);
        let faults = raw.check(Strictness::Run).unwrap_err();
        assert!(faults.0.iter().any(|fault| fault.path == path), "{path}: {faults}");
    }
}

#[test]
fn the_public_network_is_written_layer_by_layer() {
    let folder = tempfile::tempdir().unwrap();
    experiment(folder.path(), |_| ());
    let overrides = Overrides { rounds: Some(2), ..Overrides::default() };
    let loaded = load_file(&folder.path().join("rings.toml"), &overrides).unwrap();
    let setup = loaded.checked.setup().unwrap();
    let streams = stream::load(&loaded.checked, folder.path(), 1).unwrap();
    let facts = RunFacts {
        rounds_planned: 2,
        records_repeat: false,
        seed: Some(1),
        source: streams.name.clone(),
        test_records: streams.test.len(),
        records_scaled: 0,
        records_refused: 0,
        public: PublicParts::default(),
        seconds: 0.0,
    };
    let go = |_: Option<&_>| ControlFlow::Continue(());
    let entropy = RunEntropy::new(Some(1));
    let outcome = simulate(&setup, 2, streams, entropy, Measuring::Evenly(2), go).unwrap();
    let summary = Summary::new(&setup, &outcome, &facts);
    let (out, raw) = (folder.path().join("run"), resolved(&loaded, &setup.scales()));
    let neural = loaded.checked.agreement.neural.as_ref();
    run_folder::write(&out, &raw, &outcome, &summary, neural).unwrap();
    let bytes = fs::read(out.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let shapes = [("0.weight", vec![16, 2]), ("0.bias", vec![16]), ("2.weight", vec![2, 16])];
    for (name, shape) in shapes {
        assert_eq!(tensors.tensor(name).unwrap().shape(), shape, "{name}");
    }
    let bias = tensors.tensor("2.bias").unwrap();
    let last = outcome.public.values().last().unwrap().to_le_bytes();
    assert_eq!(bias.data()[8..], last, "the flat parameters end with the last bias");
    // What was run can be run again.
    assert!(load_file(&out.join("config.toml"), &Overrides::default()).is_ok());
}
