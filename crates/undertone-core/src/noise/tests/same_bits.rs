//! Determinism and structure: the same bits on every instruction set, the slow path at its rate.

use super::super::exact::SlowPath;
use super::super::gaussian::Gaussian;
use super::super::grid::power_of_two;
use super::super::kernel::Magnitude;
use super::super::laplace::Laplace;
use super::{Setting, ordinary_values};
use undertone_simd::InstructionSet;

fn bits_on<D: Magnitude + SlowPath>(instruction_set: InstructionSet, label: u64) -> Vec<u64> {
    let setting = Setting { instruction_set, ..Setting::new(12, label) };
    let (released, _) = setting.draw::<D>(&ordinary_values(100_003));
    released.into_iter().map(f64::to_bits).collect()
}

fn check_every_instruction_set<D: Magnitude + SlowPath>() {
    let baseline = bits_on::<D>(InstructionSet::Portable, 5);
    for set in InstructionSet::available() {
        assert!(bits_on::<D>(set, 5) == baseline, "{set:?} gives other bits");
    }
    assert!(
        bits_on::<D>(InstructionSet::Portable, 6) != baseline,
        "the comparison does not detect other bits"
    );
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    check_every_instruction_set::<Laplace>();
    check_every_instruction_set::<Gaussian>();
}

#[test]
fn a_longer_vector_starts_with_the_same_blocks() {
    let (long, _) = Setting::new(12, 8).draw::<Laplace>(&ordinary_values(600));
    let (short, _) = Setting::new(12, 8).draw::<Laplace>(&ordinary_values(512));
    assert!(long[..512].iter().zip(&short).all(|(a, b)| a.to_bits() == b.to_bits()));
}

/// Slow lanes of a million with a margin of a hundredth of a step, at one value.
fn slow_lanes<D: Magnitude + SlowPath>(value: f64) -> u64 {
    let setting = Setting { margin: Some(1e-3), ..Setting::new(12, 9) };
    setting.draw::<D>(&vec![value; 200_000]).1
}

#[test]
fn slow_path_is_taken_at_the_rate_of_its_margin_whatever_the_value() {
    // Expect 2·10⁻³·200 000 = 400, standard deviation 20; five of them.
    let values = [0.0, 0.1234, -2.9, 60.0, 5e-310, power_of_two(-700)];
    for value in values {
        for count in [slow_lanes::<Laplace>(value), slow_lanes::<Gaussian>(value)] {
            assert!((300..=500).contains(&count), "{count} slow lanes at {value:e}");
        }
    }
}

#[test]
fn slow_path_is_rare_with_the_real_margin() {
    // Expect 3·10⁻⁹ of the lanes.
    for value in [0.0, 0.1234] {
        let values = vec![value; 500_000];
        assert!(Setting::new(12, 10).draw::<Laplace>(&values).1 <= 1);
        assert!(Setting::new(12, 10).draw::<Gaussian>(&values).1 <= 1);
    }
}

#[test]
fn tiny_values_count_as_zero_and_others_do_not() {
    let constants = Setting::new(12, 0).constants();
    for value in [5e-324, -1e-310, power_of_two(-700), -0.0] {
        let (index, rest) = constants.split(value);
        assert!(index.abs() + rest.abs() < 1e-300, "{value:e}");
        assert!((rest + 1.0 > 0.0) && !rest.is_subnormal());
    }
    let (_, rest) = constants.split(power_of_two(-600));
    assert!(rest > 0.0);
}

#[test]
fn values_beyond_the_bound_are_clamped() {
    let setting = Setting::new(12, 0);
    let (constants, step) = (setting.constants(), setting.grid().step());
    for value in [73.123_456_7, 1e9, 1e300, f64::MAX] {
        for value in [value, -value] {
            let (index, rest) = constants.split(value);
            let back = (index + rest) * step;
            assert!((back.abs() - 73.123_456_7).abs() < 1e-12 && back.signum() == value.signum());
        }
    }
}
