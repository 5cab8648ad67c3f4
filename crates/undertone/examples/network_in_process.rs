//! Three learners on a ring in one process, each with its own records. The caller owns the loop.
//!
//! `cargo run -p undertone --example network_in_process`

#![expect(clippy::print_stdout, reason = "an example")]

use undertone::agreement::RawAgreement;
use undertone::load::{Loaded, Source, Strictness};
use undertone::noise::OsEntropy;
use undertone::{LearnerId, PublicModel, Record, Release, Setup, load};

/// The agreement of the three learners. Each may spend ε = 4 at δ = 10⁻⁶, for ever.
const AGREEMENT: &str = r#"
name = "three"
method = "algorithm1"
[network]
learners = 3
topology = "ring"
weight = 0.25
[records]
warmup = 100
[bounds]
feature_norm = 1.0
out_of_bounds = "scale"
[model]
loss = "logistic"
features = 2
ridge = 0.01
[parameters]
set = "ball"
radius = 10.0
[schedule]
step = 2.0
step_exponent = 0.8
coupling = 1.0
coupling_exponent = 0.6
[noise]
kind = "gaussian"
exponent = 0.01
calibrate = "lifetime"
[privacy]
epsilon = 4.0
delta = 1e-6
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = Source::Text { origin: "the agreement".into(), text: AGREEMENT.into() };
    let agreement: Loaded<RawAgreement> = load(&source, |_| (), Strictness::Run)?;
    let setup = Setup::new(agreement.checked)?;
    let ids: Vec<LearnerId> = setup.agreement.graph.ids().collect();
    let mut learners = ids.iter().map(|&id| setup.learner(id)).collect::<Result<Vec<_>, _>>()?;
    // Each record is checked once, where it enters: a learner takes no others.
    let checker = setup.record_checker();
    let mut public = PublicModel::new(setup.model.parameters());
    for round in 0..200u32 {
        let mut releases: Vec<Release> = Vec::new();
        for (learner, k) in learners.iter_mut().zip(0u32..) {
            let count = if round == 0 { 101 } else { 1 };
            let records = (0..count).map(|n| checker.check(record(3 * (round + n) + k)));
            learner.observe(&records.collect::<Result<Vec<_>, _>>()?);
            // Pays, then draws the noise. Only what it returns may leave the learner.
            releases.push(learner.release(&mut OsEntropy)?);
        }
        for (learner, &id) in learners.iter_mut().zip(&ids) {
            let neighbours = setup.agreement.graph.neighbours(id);
            let heard: Vec<&Release> =
                neighbours.iter().map(|&(id, _)| &releases[id.0 as usize]).collect();
            learner.absorb(&heard);
        }
        releases.iter().for_each(|release| public.include(release));
    }
    for learner in &learners {
        let epsilon = undertone::privacy::format_epsilon(learner.accountant().epsilon(1e-6));
        println!("learner {}: ε = {epsilon} at δ = 1e-6 spent so far", learner.id());
    }
    println!("public model: {:.3?}", public.values());
    Ok(())
}

fn record(k: u32) -> Record {
    let x = f64::from(k % 20) / 20.0 - 0.5;
    Record::dense([x, 0.5], f64::from(u8::from(x > 0.0)))
}
