//! Small runs with known results.

use super::learners;
use super::surroundings::Run;
use super::{Faults, Scenario};
use undertone::{LearnerId, Release};
use undertone_simulation::RepeatableEntropy;

fn scenario(learners: usize, rounds: u64) -> Scenario {
    // Steps and noise that matter, so that a record or a draw too many would show.
    Scenario { step: 0.05, noise: 0.1, degree: 4, ..Scenario::new(learners, rounds, 5) }
}

fn run(scenario: &Scenario) -> Run {
    let mut run = Run::new(scenario);
    run.run();
    run
}

fn parameters(run: &Run) -> Vec<Vec<f64>> {
    let node = |id| run.simulation.node(id).expect("it is up");
    run.simulation.ids().map(|id| node(id).learner().private_parameters().for_owner().to_vec()).collect()
}

/// The same learners without a network: all release, then all absorb.
fn plain_loop(scenario: &Scenario, starts: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let setup = learners::setup(scenario);
    let (graph, checker) = (&setup.agreement.graph, setup.record_checker());
    let begin = |id: LearnerId| setup.learner(id).unwrap().starting_at(&starts[id.0 as usize]);
    let mut all: Vec<_> = graph.ids().map(begin).collect();
    let mut entropy = RepeatableEntropy::new(scenario.seed);
    for round in 0..scenario.rounds {
        let mut releases: Vec<Release> = Vec::new();
        for learner in &mut all {
            let record = learners::record(scenario, &checker, learner.id(), round);
            learner.observe(&[record]);
            releases.push(learner.release(&mut entropy).unwrap());
        }
        for learner in &mut all {
            let neighbours = graph.neighbours(learner.id());
            let heard: Vec<_> = neighbours.iter().map(|&(id, _)| &releases[id.0 as usize]).collect();
            learner.absorb(&heard);
        }
    }
    all.iter().map(|learner| learner.private_parameters().for_owner().to_vec()).collect()
}

#[test]
fn without_faults_everyone_ends_where_a_plain_loop_ends_bit_for_bit() {
    for topology in ["regular", "ring", "torus"] {
        let scenario = Scenario { topology: topology.into(), ..scenario(36, 25) };
        let run = run(&scenario);
        let plain = plain_loop(&scenario, &run.starts);
        assert_eq!(parameters(&run), plain, "{topology}");
        let report = run.measures().report(&scenario);
        assert_eq!(report["heard_share"], 1.0, "{topology}");
        assert_eq!(report["unfinished"], 0);
    }
}

#[test]
fn a_seed_gives_one_run_and_another_seed_another() {
    let rough = Faults { loss: 0.05, loss_of_requests: 0.05, up_seconds: 20.0, down_seconds: 5.0 };
    let seeded = |seed| {
        let scenario = Scenario { seed, faults: rough, ..scenario(40, 20) };
        run(&scenario).measures().report(&scenario)
    };
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
}

#[test]
fn with_loss_and_churn_nobody_stops() {
    let rough = Faults { loss: 0.1, loss_of_requests: 0.1, up_seconds: 30.0, down_seconds: 10.0 };
    for seed in 1..=5 {
        let scenario = Scenario { seed, faults: rough, ..scenario(60, 30) };
        let run = run(&scenario);
        assert_eq!(run.measures().unfinished(), 0, "seed {seed}");
        assert!(run.measures().went_away > 10, "seed {seed}: there was churn");
        assert!(run.measures().requests > 100, "seed {seed}: releases were lost and requested");
    }
}

/// A planted fault: without requests, a lost release never arrives, and its receiver waits for
/// ever.
#[test]
fn when_no_request_arrives_a_lost_release_stalls_its_receiver() {
    // A deadline that never comes, so no neighbour is considered away.
    let patient = Scenario { deadline_seconds: 1e6, ..scenario(30, 20) };
    let lossy = |loss_of_requests| Faults { loss: 0.05, loss_of_requests, up_seconds: 0.0, down_seconds: 0.0 };
    let requesting = run(&Scenario { faults: lossy(0.0), ..patient.clone() });
    assert_eq!(requesting.measures().unfinished(), 0);
    let silent = run(&Scenario { faults: lossy(1.0), ..patient });
    assert!(silent.measures().unfinished() > 0, "planted: it would go unnoticed");
}

#[test]
fn a_narrow_uplink_makes_long_messages_slow() {
    let median = |dimension, uplink_bits| {
        let scenario = Scenario { dimension, uplink_bits, ..scenario(30, 10) };
        let report = run(&scenario).measures().report(&scenario);
        report["round_seconds"]["p50"].as_f64().unwrap()
    };
    // On 100 kbit/s one message of 800 bytes takes 64 ms and all four 255 ms; a round is that much longer for a
    // neighbour that comes first or last.
    let (fast, slow) = (median(80, 1e9), median(80, 1e5));
    assert!(slow - fast > 0.064 && slow - fast < 0.255, "{fast} {slow}");
}
