//! The audit bundle in the documentation: made as it stands there, and verified.

use crate::{FixedEntropy, records};
use std::path::Path;
use undertone::agreement::RawAgreement;
use undertone::audit_bundle::{AuditBundle, BundleError, Ledger, verify_bundle};
use undertone::load::{Loaded, Source, Strictness, load};
use undertone::{LearnerId, Record, Release, Round, Setup};

const AGREEMENT: &str = r#"
name = "example"
[network]
learners = 2
topology = "path"
weights = "uniform"
weight = 0.4
[records]
warmup = 4
batch = 2
[bounds]
feature_norm = 1.0
label = 1.0
out_of_bounds = "scale"
[model]
loss = "ridge"
features = 2
ridge = 0.1
[parameters]
set = "ball"
radius = 2.0
[memory]
kind = "moments"
[schedule]
step = 0.5
step_exponent = 0.85
coupling = 1.0
coupling_exponent = 0.6
[noise]
kind = "laplace"
scale = [0.75, 1.0]
exponent = 0.05
[privacy]
delta = 1e-6
epsilon = [40.0, 20.0]
bound = "tight"
"#;

/// The ledger of learner 0: in round 2 its neighbour is missing, and rounds 4 and 5 are skipped.
fn example() -> (Setup, AuditBundle) {
    let source = Source::Text { origin: "the example".into(), text: AGREEMENT.into() };
    let Loaded { raw: agreement, checked, .. }: Loaded<RawAgreement> =
        load(&source, |_| (), Strictness::Run).unwrap();
    let setup = Setup::new(checked).unwrap();
    let checker = setup.record_checker();
    let mut rest =
        records(100).into_iter().map(|(x, y)| checker.check(Record::dense(x, y)).unwrap());
    let mut learners = [LearnerId(0), LearnerId(1)].map(|id| setup.learner(id).unwrap());
    let mut receipts = Vec::new();
    for round in [0, 1, 2, 3, 6, 7].map(Round) {
        let releases: Vec<Release> = learners
            .iter_mut()
            .map(|learner| {
                learner.skip_to(round);
                let count = if round == Round::ZERO { 6 } else { 2 };
                learner.observe(&rest.by_ref().take(count).collect::<Vec<_>>());
                learner.release(&mut FixedEntropy).unwrap()
            })
            .collect();
        receipts.push(*learners[0].receipt().unwrap());
        for (learner, heard) in learners.iter_mut().zip([1, 0]) {
            let heard = [&releases[heard]];
            learner.absorb(if round == Round(2) { &[] } else { &heard });
        }
    }
    let ledgers = vec![Ledger { learner: LearnerId(0), uses: 1, receipts }];
    let bundle = AuditBundle { warning: None, simulation_exhausted: None, agreement, ledgers };
    (setup, bundle)
}

#[test]
fn the_example_in_the_documentation_is_what_is_written() {
    let (setup, bundle) = example();
    let written = String::from_utf8(bundle.to_bytes(&setup).unwrap()).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/adr");
    let stands = std::fs::read_to_string(folder.join("0027-example.json")).unwrap_or_default();
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("0027-example.json");
    std::fs::write(&new, &written).unwrap();
    assert!(written == stands, "docs/adr/0027-example.json should be as {}", new.display());
    assert!(verify_bundle(written.as_bytes()).unwrap().agrees);
    // The hash that its first receipt carries, .
    let page = std::fs::read_to_string(folder.join("0027-audit-bundles.md")).unwrap();
    let genesis = bundle.ledgers[0].receipts[0].previous.to_string();
    assert!(page.contains(&genesis), "docs/adr/0027-audit-bundles.md should name {genesis}");
}

#[test]
fn no_bundle_is_made_of_a_ledger_that_disagrees() {
    let (setup, mut bundle) = example();
    bundle.ledgers[0].receipts[4].zcdp_cost *= 0.5;
    let refused = bundle.to_bytes(&setup);
    let found = matches!(refused, Err(BundleError::Ledger { learner: LearnerId(0), .. }));
    assert!(found, "{refused:?}");
}

#[test]
fn what_is_no_bundle_is_refused_without_a_panic() {
    let (setup, bundle) = example();
    let bytes = bundle.to_bytes(&setup).unwrap();
    for length in [0, 1, 3, 66, 67, 68, 100, bytes.len() - 1] {
        assert!(verify_bundle(&bytes[..length]).is_err(), "{length}");
        assert!(
            verify_bundle(&bytes[bytes.len() - length..]).is_ok_and(|found| !found.agrees)
                || length < 100
        );
    }
    assert!(verify_bundle(&bytes).unwrap().agrees, "the control");
}
