//! How many records a second are transformed.
//!
//! `cargo bench -p undertone-models --bench features` first prints rates of one thread, then micro-benchmarks.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![allow(clippy::unwrap_used, reason = "a bench may stop at once")]

use divan::{Bencher, black_box, counter::ItemsCount};
use std::time::Instant;
use undertone_core::FeatureTransform;
use undertone_core::neural::Shape;
use undertone_models::features::FeatureMap;
use undertone_models::{Features, PublicRandom};

fn main() {
    // In test mode the micro-benchmarks alone run, once each.
    let has = |name: &str| std::env::args().any(|argument| argument == name);
    if has("--bench") && !has("--test") {
        report();
    }
    divan::main();
}

/// A transform and what it is of.
const TRANSFORMS: [(&str, FeatureTransform); 6] = [
    ("grey 28×28", scattering(1, 28, None)),
    ("grey 28×28 to 400", scattering(1, 28, Some(400))),
    ("colour 32×32", scattering(3, 32, None)),
    ("colour 64×64", scattering(3, 64, None)),
    ("table of 54 to 1000", fourier(54, 1000)),
    ("table of 112 to 4000", fourier(112, 4000)),
];

const fn scattering(channels: usize, side: usize, dimension: Option<usize>) -> FeatureTransform {
    let input = Shape { channels, height: side, width: side };
    FeatureTransform::Scattering { input, dimension }
}

const fn fourier(inputs: usize, dimension: usize) -> FeatureTransform {
    FeatureTransform::Fourier { inputs, gamma: 0.1, dimension }
}

/// A map that has computed its constants, and records for it.
fn prepared(transform: FeatureTransform) -> (FeatureMap, Vec<Features>) {
    let map = FeatureMap::new(transform).unwrap();
    let mut random = PublicRandom::new(1);
    let mut record = || Features::Dense((0..transform.inputs()).map(|_| random.unit()).collect());
    let records: Vec<Features> = (0..16).map(|_| record()).collect();
    map.apply(&records[0]).unwrap();
    (map, records)
}

fn report() {
    println!(
        "one thread, median of five turns of 0.4 seconds, and the time until the first record"
    );
    for (name, transform) in TRANSFORMS {
        let start = Instant::now();
        let (map, records) = prepared(transform);
        let constants = start.elapsed();
        let mut rates: Vec<f64> = (0..5).map(|_| rate(&map, &records)).collect();
        rates.sort_by(f64::total_cmp);
        println!("{name}: {:.0} records/s, {constants:.2?}", rates[2]);
    }
}

fn rate(map: &FeatureMap, records: &[Features]) -> f64 {
    let (start, mut count) = (Instant::now(), 0.0);
    while start.elapsed().as_secs_f64() < 0.4 {
        for record in records {
            black_box(map.apply(black_box(record)).unwrap());
            count += 1.0;
        }
    }
    count / start.elapsed().as_secs_f64()
}

#[divan::bench(args = 0..TRANSFORMS.len())]
fn transform(bencher: Bencher<'_, '_>, place: usize) {
    let (map, records) = prepared(TRANSFORMS[place].1);
    let mut turn = records.iter().cycle();
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| map.apply(turn.next().unwrap()));
}
