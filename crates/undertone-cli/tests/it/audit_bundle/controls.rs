//! Two programs that agree could both look at too little: each formula of the second verifier is needed, and the
//! constants of losses agree over wide ranges.

use super::drive_python;
use super::networks::{BASE, Case, Random, cases};
use undertone::LossConstants;
use undertone::agreement::RawAgreement;
use undertone::load::{Loaded, Source, Strictness, load};

/// Runs the second verifier with one formula changed at a time, on files until one disagrees. Prints how many it read.
const MUTANTS: &str = "
import contextlib, io, json, sys
source = open(sys.argv[1]).read()
*files, changes = sys.argv[2:]
for old, new in json.load(open(changes)):
    if old not in source:
        print(f'not in the program: {old}')
        continue
    program = {'__name__': 'changed'}
    exec(compile(source.replace(old, new), 'changed', 'exec'), program)
    for read, path in enumerate(files, 1):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = program['main']([path])
        if code:
            read = read if code == 1 else 'an exception'
            break
    else:
        read = 'nothing'
    print(read)
";

/// Formulas of the account, each with one that is wrong.
const WRONG: [(&str, &str); 29] = [
    ("0.5 * ratio * ratio", "ratio * ratio"),
    ("math.sqrt(self.facts[\"dimension\"]) * ratio", "ratio"),
    ("2.0**-50", "2.0**-51"),
    ("128.0 * facts", "64.0 * facts"),
    ("max(self.machine(round_), carried)", "self.machine(round_)"),
    ("abs(1.0 - a - bend)", "(1.0 - a - bend)"),
    ("abs(1.0 - a - length * self.constants[\"strong_convexity\"])", "0.0"),
    ("min(a, self.coupling(round_) * self.facts[\"weight_min\"])", "a"),
    ("max(contraction, idle)", "contraction"),
    ("1.0 / max(records, 1)", "1.0"),
    ("if bound == \"theorem5i\"", "if bound == \"theorem5ii\""),
    ("bend if self.method == \"dsgd\"", "0.0 if self.method == \"dsgd\""),
    ("self.is_charged(round_ + 1) else 0.0", "True else 0.0"),
    ("round_ % self.facts[\"method\"].get(\"interval\", 1) == 0", "True"),
    ("2.0 * length * self.law", "length * self.law"),
    ("\"step_ratio\"), self", "1.0), self"),
    ("round_, \"noise_ratio\"", "round_"),
    ("self.method in (\"algorithm1\", \"dsgd\")", "True"),
    ("n * self.factor ** (round_ - k)", "n"),
    ("self.factor**age / self.total", "1.0 / self.total"),
    ("if age < self.limit", "if age <= self.limit"),
    ("self.total * self.factor**passed", "self.total"),
    ("entry.weight *= older / self.total", "entry.weight *= 1.0"),
    (
        "max((entry.paid[i] for entry in self.entries), default=0.0)",
        "sum(entry.paid[i] for entry in self.entries)",
    ),
    ("mu / 2, epsilon", "mu, epsilon"),
    ("math.log1p(1.0 / e)", "0.0"),
    ("math.log1p(e)) / e", "0.0) / e"),
    ("min(zcdp_epsilon(cost[1], delta), cost[0])", "zcdp_epsilon(cost[1], delta)"),
    ("\"undertone receipt 2\"", "\"undertone receipt 3\""),
];

#[test]
fn a_second_verifier_with_any_formula_wrong_would_disagree() {
    let mut files: Vec<Vec<u8>> = cases().iter().map(Case::bundle).collect();
    let bundles = files.len();
    let mut wrong: Vec<(&str, &str)> = WRONG.to_vec();
    // The control of the control: a change of nothing is not found.
    wrong.push(("ROUND_LIMIT", "ROUND_LIMIT"));
    files.push(serde_json::to_vec(&wrong).unwrap());
    let found = drive_python(MUTANTS, &files);
    assert_eq!(found.len(), wrong.len());
    for ((old, new), found) in wrong.iter().zip(&found) {
        let read: Option<usize> = found.parse().ok();
        assert_eq!(read.is_some(), old != new, "{old} -> {new}: {found} of {bundles}");
    }
}

/// Agreements with all losses of ADR 24, over wide ranges.
fn models() -> Vec<String> {
    let mut random = Random(24);
    let mut between = |low: f64, high: f64| {
        low * (high / low).powf(random.below(1 << 20) as f64 / f64::from(1 << 20))
    };
    let mut texts = Vec::new();
    for place in 0..240 {
        let (norm, radius, label) = (between(0.1, 5.0), between(0.02, 200.0), between(0.01, 10.0));
        let (clip, ridge, classes) =
            (between(0.05, 3.0), between(1e-4, 1.0), between(3.0, 3000.0).floor());
        let (loss, regression) = match place % 8 {
            0 => ("loss = 'ridge'".to_string(), true),
            1 => (format!("loss = 'huber'\nthreshold = {clip}"), true),
            2 => ("loss = 'power'\ndegree = 4".into(), true),
            3 => ("loss = 'logistic'".into(), false),
            4 => ("loss = 'softmax'\nclasses = 2".into(), false),
            5 => ("loss = 'softmax'\nclasses = 3".into(), false),
            6 => (format!("loss = 'softmax'\nclasses = {classes}"), false),
            _ => ("loss = 'polynomial'\ndegree = 2".into(), true),
        };
        let clip = if place % 3 == 0 { format!("clip = {clip}\n") } else { String::new() };
        let label = if regression { format!("label = {label}\n") } else { String::new() };
        let bounds = format!("feature_norm = {norm}\n{label}out_of_bounds = 'scale'");
        let model = format!("{loss}\nfeatures = 4\n{clip}ridge = {ridge}");
        let parameters = format!("set = 'ball'\nradius = {radius}");
        let [bounds, model, parameters] = [bounds, model, parameters].map(|text| &*text.leak());
        texts.push(Case { bounds, model, parameters, ..BASE }.text());
    }
    texts
}

#[test]
fn both_programs_compute_the_same_constants_of_losses() {
    const DRIVER: &str = "
import json, runpy, sys
program = runpy.run_path(sys.argv[1])
for path in sys.argv[2:]:
    print(json.dumps(program['loss_facts'](json.load(open(path)), set())[3]))
";
    let (mut files, mut expected) = (Vec::new(), Vec::new());
    for text in models() {
        let source = Source::Text { origin: "a model".into(), text };
        let loaded: Loaded<RawAgreement> = load(&source, |_| (), Strictness::Run).unwrap();
        files.push(serde_json::to_vec(&loaded.raw).unwrap());
        expected.push(loaded.checked.model.constants(&loaded.checked.bounds));
    }
    // Without nulls, as in a bundle.
    let files: Vec<Vec<u8>> = files
        .iter()
        .map(|file| {
            let mut value: serde_json::Value = serde_json::from_slice(file).unwrap();
            for section in value.as_object_mut().unwrap().values_mut() {
                if let Some(section) = section.as_object_mut() {
                    section.retain(|_, value| !value.is_null());
                }
            }
            serde_json::to_vec(&value).unwrap()
        })
        .collect();
    for (line, expected) in drive_python(DRIVER, &files).iter().zip(expected) {
        let found: [f64; 4] = serde_json::from_str(line).unwrap();
        let LossConstants { smoothness, strong_convexity, gradient_spread, gradient_norm } =
            expected;
        for (found, expected) in
            found.iter().zip([smoothness, strong_convexity, gradient_spread, gradient_norm])
        {
            assert!((found / expected - 1.0).abs() < 1e-11, "{line} {expected:?}");
        }
    }
}
