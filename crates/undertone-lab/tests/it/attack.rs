//! Records come back from releases without noise, by every method, and do not with it.

use std::fmt::Write as _;
use std::path::Path;
use undertone::agreement::OneOrEach;
use undertone::load::{Source, Strictness};
use undertone::method::{Method, Shielded};
use undertone_lab::ExperimentError;
use undertone_lab::attack::invert::{Effort, Labels};
use undertone_lab::attack::{Attack, AttackError, Settings, attack};
use undertone_lab::experiment::{LoadedExperiment, RawExperiment};
use undertone_lab::presets::load_preset;
use undertone_lab::reproduce::Watch;

const CONFIG: &str = r#"
name = "small"
rounds = 10
unproven = true

[network]
learners = 3
topology = "complete"
weight = 0.2

[data]
source = "images.csv"
partition = "iid"
[records]
label = "label"
batch = 1

[bounds]
feature_norm = 8.0
out_of_bounds = "refuse"

[model]
loss = "cnn"
input = { channels = 1, height = 8, width = 8 }
classes = 3
layers = [
    { kind = "conv", channels = 6, kernel = 3, padding = 1 },
    { kind = "tanh" },
    { kind = "conv", channels = 6, kernel = 3, stride = 2, padding = 1 },
    { kind = "tanh" },
    { kind = "dense", outputs = 3 },
]
clip = 1e3

[memory]
kind = "exact"

[parameters]
set = "ball"
radius = 1e3

[schedule]
step = 0.5
step_exponent = 0.7
coupling = 0.5
coupling_exponent = 0.6

[noise]
kind = "laplace"
scale = 1.0
exponent = 0.05

[privacy]
delta = 1e-5
"#;

/// Blobs at places that depend on the class.
fn write_images(folder: &Path) {
    let mut text: String = (0..64).map(|pixel| format!("p{pixel},")).collect();
    text.push_str("label\n");
    for number in 0..60 {
        let class = number % 3;
        let (x, y) = (1.0 + 2.0 * f64::from(class), 2.0 + f64::from(number % 7) / 2.0);
        for pixel in 0..64 {
            let (column, row) = (f64::from(pixel % 8), f64::from(pixel / 8));
            let square = (column - x).powi(2) + (row - y).powi(2);
            let _ = write!(text, "{:.4},", (-square / 3.0).exp());
        }
        let _ = writeln!(text, "{class}");
    }
    std::fs::write(folder.join("images.csv"), text).unwrap();
}

fn load(folder: &Path, method: &str) -> LoadedExperiment {
    write_images(folder);
    let path = folder.join("config.toml");
    std::fs::write(&path, CONFIG).unwrap();
    let change = |raw: &mut RawExperiment| {
        if method == "algorithm1" {
            return;
        }
        raw.agreement.method = Some(method.into());
        raw.agreement.schedule.coupling_exponent = Some(0.0);
        if method != "shielded" && method != "local" {
            raw.agreement.memory.kind = None;
        }
        if mixes_noise_in(method) {
            raw.agreement.noise.scale = Some(OneOrEach::One(0.01));
        }
        if method == "pdop" {
            raw.agreement.schedule.step_exponent = Some(0.0);
            raw.agreement.schedule.step_ratio = Some(0.9);
            raw.agreement.noise.exponent = Some(OneOrEach::One(0.0));
            raw.agreement.noise.ratio = Some(0.95);
        }
    };
    undertone::load(&Source::File(path), change, Strictness::Run).unwrap()
}

/// Gradients are taken at points with noise in them, which must not drown the gradient of the neural network.
fn mixes_noise_in(method: &str) -> bool {
    ["shielded", "dola", "pdop"].contains(&method)
}

fn settings(labels: Labels) -> Settings {
    let effort = Effort { iterations: 300, starts: 4 };
    Settings {
        labels,
        multiples: vec![0.0, 1.0],
        records: 1,
        round: 0,
        seeds: 1,
        knows_start: false,
        effort,
    }
}

fn run(loaded: &LoadedExperiment, settings: Settings) -> Result<Attack, ExperimentError> {
    attack(loaded, settings, &Watch { done: &|| (), interrupted: &|| false })
}

/// Why there is nothing to attack.
fn refusal(result: Result<Attack, ExperimentError>) -> AttackError {
    let error = result.map(|_| ()).unwrap_err();
    let ExperimentError::Attack(refusal) = error else { panic!("{error}") };
    refusal
}

fn assert_noise_decides(method: &str, found: &Attack) {
    let [without, with, ..] = &found.lines[..] else { panic!("two lines") };
    assert_eq!(found.victims.len(), 3);
    assert!(
        without.error_max < 1e-3,
        "{method}: without noise the attack must succeed: {without:?}"
    );
    assert!((without.labels_found - 1.0).abs() < 1e-9, "{method}: {without:?}");
    // The control: the same attack, with noise.
    assert!(with.error > 0.05, "{method}: {with:?}");
}

#[test]
fn every_method_gives_records_away_without_noise_and_not_with_it() {
    for method in ["algorithm1", "shielded", "dsgd", "dola", "pdop"] {
        let folder = tempfile::tempdir().unwrap();
        let loaded = load(folder.path(), method);
        let full = if mixes_noise_in(method) { 100.0 } else { 1.0 };
        // Hardly any noise is next to none, with what is heard on the wire alone.
        let multiples = vec![0.0, full, 1e-6 * full];
        let found = run(&loaded, Settings { multiples, ..settings(Labels::Dlg) }).unwrap();
        assert_noise_decides(method, &found);
        let little = found.lines[2];
        assert!(little.error_max < 1e-3, "{method}: {little:?}");
    }
}

#[test]
fn the_label_can_be_read_off_the_gradient() {
    let folder = tempfile::tempdir().unwrap();
    let found = run(&load(folder.path(), "algorithm1"), settings(Labels::Idlg)).unwrap();
    assert_noise_decides("idlg", &found);
}

#[test]
fn several_records_and_later_rounds_are_taken_together() {
    for method in ["algorithm1", "shielded"] {
        let folder = tempfile::tempdir().unwrap();
        let loaded = load(folder.path(), method);
        let later = Settings { round: 1, multiples: vec![0.0], ..settings(Labels::Dlg) };
        let found = run(&loaded, later).unwrap();
        assert_eq!(found.records, 2);
        // Two records are harder; both still come out far better than a random guess.
        let (random, line) = (found.error_of_random.unwrap(), found.lines[0]);
        assert!(line.error < random / 4.0, "{method}: {line:?} of {random}");
    }
}

#[test]
fn what_cannot_be_attacked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = load(folder.path(), "algorithm1");
    let refused = |settings| refusal(run(&loaded, settings));
    let late = Settings { round: 40, ..settings(Labels::Dlg) };
    assert!(matches!(refused(late), AttackError::TooManyRecords { found: 41, .. }));
    let two = Settings { round: 1, ..settings(Labels::Idlg) };
    assert!(matches!(refused(two), AttackError::OneRecordOnly(2)));
    let known = Settings { round: 1, knows_start: true, ..settings(Labels::Dlg) };
    assert!(matches!(refused(known), AttackError::StartIsLongAgo));
    let two = Settings { records: 2, ..settings(Labels::Idlg) };
    assert!(matches!(refused(two), AttackError::OneRecordOnly(2)));
    let huge = Settings { round: u64::MAX, ..settings(Labels::Dlg) };
    assert!(matches!(refused(huge), AttackError::TooManyRecords { .. }));
    let mut shielded = load(folder.path(), "shielded");
    shielded.checked.agreement.method =
        Method::Shielded(Shielded { interval: 8, ..Shielded::default() });
    for (round, next) in [(0, 7), (7 + 2, 15), (u64::MAX - 1, u64::MAX)] {
        let between = run(&shielded, Settings { round, ..settings(Labels::Dlg) });
        let AttackError::NoGradient { next: found, .. } = refusal(between) else {
            panic!("{round}")
        };
        assert_eq!(found, next);
    }
    let newest = load(folder.path(), "dsgd");
    let dry = run(&newest, Settings { round: 50, ..settings(Labels::Dlg) });
    assert!(matches!(refusal(dry), AttackError::TooFewRecords { .. }));
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        let bad = Settings { multiples: vec![bad], ..settings(Labels::Dlg) };
        assert!(matches!(refused(bad), AttackError::Multiple));
    }
    let silent = run(&load(folder.path(), "local"), settings(Labels::Dlg));
    assert!(matches!(refusal(silent), AttackError::NothingSent));
    let linear = load_preset("mushrooms", &Default::default()).unwrap();
    let linear = run(&linear, settings(Labels::Dlg));
    assert!(matches!(refusal(linear), AttackError::NotNeural));
    let stopped = Watch { done: &|| (), interrupted: &|| true };
    let stopped = attack(&loaded, settings(Labels::Dlg), &stopped);
    assert!(matches!(stopped, Err(ExperimentError::Interrupted)));
}

#[test]
fn nothing_but_the_page_shows_records() {
    let folder = tempfile::tempdir().unwrap();
    let quick = Settings { effort: Effort { iterations: 2, starts: 1 }, ..settings(Labels::Dlg) };
    let found = run(&load(folder.path(), "algorithm1"), quick).unwrap();
    let json = serde_json::to_string(&found).unwrap();
    assert!(!json.contains("originals") && !json.contains("found\":["));
    assert!(format!("{:?}", found.victims[0]).contains("<redacted>"));
    let page = undertone_lab::report::attack_page(&found);
    assert!(page.matches("data:image/png").count() == 3 * 3, "three victims, three pictures each");
    assert!(page.contains("NOT PRIVATE") && !page.contains("NaN"));
}

#[test]
fn who_knows_the_start_has_one_noise_fewer_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = load(folder.path(), "algorithm1");
    let mut errors = Vec::new();
    for knows_start in [false, true] {
        let multiples = vec![0.01];
        let settings = Settings { multiples, knows_start, seeds: 2, ..settings(Labels::Idlg) };
        errors.push(run(&loaded, settings).unwrap().lines[0].error);
    }
    assert!(errors[1] < errors[0], "{errors:?}");
}
