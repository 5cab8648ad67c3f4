//! Our side of the comparison. Each call makes one measurement and prints one number, or JSON if
//! there are several.
//!
//! `ours noise laplace 1000000` and so on; `compare.py` calls it in turns with the other systems,
//! and `scale.py` calls it for large networks.

mod bandwidth;
mod cnn;
mod configs;
mod counted;
mod events;
mod learning;
mod network;
mod noise;
mod nodes;
mod scale;
mod spectrum;
mod store_growth;

use std::time::{Duration, Instant};

/// The approximate length of a measurement.
pub(crate) const MEASURED: Duration = Duration::from_millis(700);

/// Calls `work`, which does `items` items each time, for a while. Returns items a second.
pub(crate) fn rate(items: u64, mut work: impl FnMut()) -> f64 {
    work();
    let begin = Instant::now();
    let mut done = 0;
    while begin.elapsed() < MEASURED {
        work();
        done += items;
    }
    done as f64 / begin.elapsed().as_secs_f64()
}

/// The median.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// From 0 up to 1: the top bits of a linear congruential generator, for records and starting points.
pub(crate) fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// A folder on the disk of this program, because the folder for temporary files may be in memory.
pub(crate) fn folder_beside_the_build() -> tempfile::TempDir {
    let program = std::env::current_exe().expect("the way to this program");
    tempfile::tempdir_in(program.parent().expect("a folder")).expect("a folder")
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let found = match words.as_slice() {
        ["events", rest @ ..] => return println!("{}", events::command(rest)),
        ["gap", topology, learners, degree] => {
            return println!("{}", spectrum::command(topology, number(learners) as usize, number(degree) as usize));
        }
        ["store-growth", dimension, rounds] => {
            return println!("{}", store_growth::command(number(dimension) as usize, number(rounds)));
        }
        ["budget", learners, rounds] => {
            return println!("{}", scale::budget(number(learners) as usize, number(rounds)));
        }
        ["bandwidth", threads] => bandwidth::gigabytes_a_second(number(threads) as usize),
        ["noise", kind, count] => noise::samples(kind, number(count) as usize),
        ["accountant", start] => noise::accountant(number(start)),
        ["logistic", features] => learning::logistic(number(features) as usize),
        ["rounds", learners, count, memory] => learning::rounds(number(learners) as usize, number(count), memory),
        ["cnn", how, batch, threads] => {
            cnn::records(*how == "clipped", number(batch) as usize, number(threads) as usize)
        }
        ["memory", kind, start] => learning::memory(kind, number(start)),
        ["sockets", security, bytes] => nodes::sockets(*security == "tls", number(bytes) as usize),
        ["nodes", security, store, bytes] => {
            nodes::nodes(*security == "tls", *store == "disk", number(bytes) as usize)
        }
        ["scale", learners, dimension, threads] => {
            scale::rounds(number(learners) as usize, number(dimension) as usize, number(threads) as usize)
        }
        ["count", what, count] => counted::work(what, number(count)),
        ["memory-per-learner", learners, dimension] => {
            scale::memory(number(learners) as usize, number(dimension) as usize)
        }
        _ => {
            eprintln!("see compare.py and scale.py for what can be measured");
            std::process::exit(2);
        }
    };
    println!("{found}");
}
