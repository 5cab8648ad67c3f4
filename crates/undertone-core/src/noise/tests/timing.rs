//! Whether timing reveals the noise or the value, tested as in dudect. Not an assertion: it
//! prints Welch's t of each class against the first, by
//! `cargo test --profile bench -p undertone-core --lib timing -- --ignored --nocapture`. |t| below about 4.5 shows no
//! leak; the second class repeats the first and shows the machine's own variation, and a control without the flush of
//! tiny values must exceed it.

use std::hint::black_box;
use std::marker::PhantomData;
use std::time::Instant;
use undertone_simd::InstructionSet;

use super::super::gaussian::Gaussian;
use super::super::kernel::{BLOCK, Block, GROUP, LaneConstants, Magnitude};
use super::super::keystream::Word;
use super::super::laplace::Laplace;
use super::{Setting, words};

const GROUPS: usize = BLOCK / GROUP;
const BATCHES: usize = 140_000;

struct Class {
    name: &'static str,
    high: [[Word; GROUP]; GROUPS],
    values: [[f64; GROUP]; GROUPS],
}

fn class(name: &'static str, value: f64, word: impl Fn(u64) -> u64) -> Class {
    let mut next = words(77);
    let mut high = [[[0; 8]; GROUP]; GROUPS];
    for place in high.as_flattened_mut() {
        *place = word(next()).to_le_bytes();
    }
    Class { name, high, values: [[value; GROUP]; GROUPS] }
}

fn classes() -> Vec<Class> {
    vec![
        class("typical noise, value 0", 0.0, |word| word),
        class("typical noise, value 0 (again)", 0.0, |word| word),
        class("tiny noise, value 0", 0.0, |word| word | 0xffff_f000_0000_0000),
        class("tail noise, value 0", 0.0, |word| (word >> 30) | (1 << 33)),
        class("typical noise, value at the bound", 73.0, |word| word),
        class("typical noise, ordinary value", 0.1234, |word| word),
        class("typical noise, subnormal value", 1e-310, |word| word),
    ]
}

/// Mean and variance of the mean of the lowest nine tenths.
fn trimmed(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    times.truncate(times.len() * 9 / 10);
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    (mean, variance / count)
}

#[expect(clippy::print_stdout, reason = "the result is for a reader")]
fn report<D: Magnitude>(name: &str, set: InstructionSet, constants: &LaneConstants) {
    let classes = classes();
    let mut times = vec![Vec::new(); classes.len()];
    let (mut order, mut low) = (words(78), [[[0; 8]; GROUP]; GROUPS]);
    low.as_flattened_mut().iter_mut().for_each(|word| *word = order().to_le_bytes());
    let (mut high, mut values) = (classes[0].high, classes[0].values);
    let mut out = [[0.0; GROUP]; GROUPS];
    for _ in 0..BATCHES {
        let chosen = (order() % classes.len() as u64) as usize;
        high.copy_from_slice(&classes[chosen].high);
        values.copy_from_slice(&classes[chosen].values);
        let start = Instant::now();
        for _ in 0..4 {
            let (constants, magnitude) = (black_box(constants), PhantomData::<D>);
            let (high, low, values, out) = (&high, &low, &values, &mut out);
            black_box(set.run(Block { constants, high, low, values, out, magnitude }));
            black_box(out);
        }
        times[chosen].push(start.elapsed().as_nanos() as f64);
    }
    let moments: Vec<_> = times.into_iter().map(trimmed).collect();
    println!("{name} on {set:?}, four blocks of {BLOCK} lanes:");
    for (class, (mean, variance)) in classes.iter().zip(&moments) {
        let t = (mean - moments[0].0) / (variance + moments[0].1).sqrt();
        println!("  {:36} {mean:9.1} ns, t = {t:+.2}", class.name);
    }
}

/// The control: scaling without the flush, which the classes must tell apart by t above 100.
#[expect(clippy::print_stdout, reason = "the result is for a reader")]
fn report_control() {
    let mut times = [Vec::new(), Vec::new()];
    let mut order = words(79);
    for _ in 0..BATCHES / 4 {
        let chosen = (order() % 2) as usize;
        let values = black_box([[0.0, 1e-310][chosen]; 4 * BLOCK]);
        let start = Instant::now();
        black_box(values.map(|value| value * 4096.0));
        times[chosen].push(start.elapsed().as_nanos() as f64);
    }
    let [zero, subnormal] = times.map(trimmed);
    let t = (subnormal.0 - zero.0) / (subnormal.1 + zero.1).sqrt();
    println!(
        "control, products without a flush: {:.1} ns and {:.1} ns, t = {t:+.2}",
        zero.0, subnormal.0
    );
}

#[test]
#[ignore = "prints timing; meaningful only in release mode on a quiet machine"]
fn timing_classes() {
    report_control();
    let constants = Setting::new(12, 0).constants();
    for set in InstructionSet::available() {
        report::<Laplace>("Laplace", set, &constants);
        report::<Gaussian>("Gaussian", set, &constants);
    }
}
