//! Seeded runs of every method come out as they did before the methods had files of their own.
//!
//! The numbers are of version 0.1.0, with records dealt iid: other deals have changed since. They hold to nine
//! digits on every platform; on the machine they were made on, every bit of models, rounds and charges was the
//! same.

use std::ops::ControlFlow;
use std::path::Path;
use undertone::load::{Source, Strictness, load};
use undertone_lab::{LoadedExperiment, Measuring, RunEntropy, simulate, stream};

/// `SCHEDULE`, `NOISE`, `MEMORY`, `LASSO` and `PRIVACY` differ from case to case.
const TEXT: &str = r#"
method = "METHOD"
rounds = 60
unproven = true
[network]
learners = 5
topology = "ring"
weight = 0.25
[data]
source = "mushrooms"
partition = "iid"
test_fraction = 0.2
[records]
centre = true
normalise = true
warmup = 50
batch = 2
[bounds]
feature_norm = 1.0
out_of_bounds = "scale"
[model]
loss = "logistic"
features = 112
ridge = 0.01
LASSO
[parameters]
set = "ball"
radius = 20.0
[memory]
MEMORY
[schedule]
SCHEDULE
[noise]
NOISE
[privacy]
delta = 1e-6
PRIVACY
"#;

const DECAYING: &str = "step = 2.0\nstep_exponent = 0.8\ncoupling = 1.0\ncoupling_exponent = 0.6";
const CONSTANT: &str = "step = 0.5\nstep_exponent = 0.0\ncoupling = 0.5\ncoupling_exponent = 0.0";
const LAPLACE: &str = "kind = \"laplace\"\nscale = 0.5\nexponent = 0.01";
const GAUSSIAN: &str = "kind = \"gaussian\"\nscale = 0.5\nexponent = 0.0";

/// Name, changes, the sum of the public model's absolute values, and the zCDP that each learner spent.
type Case = (&'static str, &'static [(&'static str, &'static str)], f64, f64);

const CASES: [Case; 11] = [
    ("algorithm1", &[], 25.47046180153488, 0.3921659523422609),
    ("algorithm1", &[("LASSO", "lasso = 0.01")], 19.55007681118538, 0.3921659523422609),
    (
        "algorithm1",
        &[("MEMORY", "kind = \"window\"\nwindow = 5"), ("SCHEDULE", CONSTANT), ("NOISE", GAUSSIAN)],
        32.276895453434065,
        0.6912349623769035,
    ),
    (
        "algorithm1",
        &[
            ("MEMORY", "kind = \"decaying\"\nfactor = 0.8"),
            ("SCHEDULE", CONSTANT),
            ("NOISE", "kind = \"laplace\"\nscale = 0.5\nexponent = 0.0"),
        ],
        42.31460450541829,
        0.45892160960353173,
    ),
    ("algorithm1", &[("PRIVACY", "bound = \"theorem5i\"")], 25.47046180153488, 10331.033566588621),
    ("algorithm1", &[("PRIVACY", "bound = \"theorem5ii\"")], 25.47046180153488, 2.247668341133621),
    (
        "shielded",
        &[
            (
                "SCHEDULE",
                "step = 2.0\nstep_exponent = 0.8\ncoupling = 1.0\ncoupling_exponent = 0.6\ninterval = 3",
            ),
            ("NOISE", GAUSSIAN),
        ],
        26.132601378188216,
        0.01592432255110878,
    ),
    (
        "shielded",
        &[
            ("NOISE", "kind = \"gaussian\"\ncalibrate = \"rounds\"\nexponent = 0.0"),
            ("PRIVACY", "epsilon = 2.0"),
        ],
        37.45858026547854,
        0.09999646385519374,
    ),
    ("dsgd", &[], 88.6882681598154, 2.5119982093036155),
    ("dola", &[], 88.75447091243564, 2.3975325772695166),
    (
        "pdop",
        &[
            (
                "SCHEDULE",
                "step = 2.0\nstep_exponent = 0.8\ncoupling = 1.0\ncoupling_exponent = 0.6\nstep_ratio = 0.98",
            ),
            ("NOISE", "kind = \"laplace\"\nscale = 0.5\nexponent = 0.0\nratio = 0.99"),
        ],
        118.05137742496703,
        2.4502946686724574,
    ),
];

fn loaded(method: &str, changes: &[(&str, &str)]) -> LoadedExperiment {
    let mut text = TEXT.replace("METHOD", method);
    for (key, value) in changes {
        text = text.replace(key, value);
    }
    let rest = [
        ("SCHEDULE", DECAYING),
        ("NOISE", LAPLACE),
        ("MEMORY", ""),
        ("LASSO", ""),
        ("PRIVACY", ""),
    ];
    for (key, value) in rest {
        text = text.replace(key, value);
    }
    load(&Source::Text { origin: method.into(), text }, |_| (), Strictness::Run).unwrap()
}

#[test]
fn every_method_gives_its_golden_numbers() {
    let mut changed = Vec::new();
    for (name, changes, model, zcdp) in CASES {
        let loaded = loaded(name, changes);
        let setup = loaded.checked.setup().unwrap();
        let streams = stream::load(&loaded.checked, Path::new("."), 3).unwrap();
        let go = |_: Option<&_>| ControlFlow::Continue(());
        let entropy = RunEntropy::new(Some(3));
        let outcome = simulate(&setup, 60, streams, entropy, Measuring::Evenly(1), go).unwrap();
        let found: f64 = outcome.public.values().iter().map(|value| value.abs()).sum();
        let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.abs();
        let spent: Vec<f64> = outcome.learners.iter().map(|learner| learner.spent.zcdp).collect();
        if !near(found, model) || !spent.iter().all(|&spent| near(spent, zcdp)) {
            changed.push(format!("{name} {changes:?}: {found:?}, {:?}", spent[0]));
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn another_seed_gives_other_numbers() {
    let loaded = loaded("algorithm1", &[]);
    let setup = loaded.checked.setup().unwrap();
    let streams = stream::load(&loaded.checked, Path::new("."), 4).unwrap();
    let go = |_: Option<&_>| ControlFlow::Continue(());
    let entropy = RunEntropy::new(Some(4));
    let outcome = simulate(&setup, 60, streams, entropy, Measuring::Evenly(1), go).unwrap();
    let found: f64 = outcome.public.values().iter().map(|value| value.abs()).sum();
    assert!((found / CASES[0].2 - 1.0).abs() > 1e-6, "the control");
}
