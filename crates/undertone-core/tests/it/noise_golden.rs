//! Fixed keys give fixed releases, on every machine. A change here is a changelog entry.

use undertone_core::noise::{Cipher, NoiseError, NoiseKind, Perturbation, StreamKey, perturb};

const VALUES: [f64; 8] = [0.0, 0.25, -0.5, 1.0, 1e-310, std::f64::consts::PI, 250.0, -1e300];

/// The indices on the grid, for a scale of 1 and a bound of 100: the step is 2⁻¹².
fn indices(kind: NoiseKind, cipher: Cipher) -> Vec<i64> {
    let mut bytes = [0; 32];
    for (byte, value) in bytes.iter_mut().zip(1..) {
        *byte = value;
    }
    let mechanism = Perturbation { kind, scale: 1.0, bound: 100.0 };
    // 300 values: more than a block, and a last group that is not full.
    let values: Vec<f64> = VALUES.iter().copied().cycle().take(300).collect();
    let mut out = vec![0.0; values.len()];
    let grid = perturb(&mechanism, &values, StreamKey::new(cipher, bytes), &mut out).unwrap();
    let chosen = out[..6].iter().chain(&out[294..]);
    chosen.map(|value| (value / grid.step()) as i64).collect()
}

#[test]
fn fixed_keys_give_golden_releases() {
    let cases = [
        (NoiseKind::Laplace, Cipher::Aes256Ctr, LAPLACE_AES),
        (NoiseKind::Laplace, Cipher::ChaCha20, LAPLACE_CHACHA),
        (NoiseKind::Gaussian, Cipher::Aes256Ctr, GAUSSIAN_AES),
        (NoiseKind::Gaussian, Cipher::ChaCha20, GAUSSIAN_CHACHA),
    ];
    for (kind, cipher, expected) in cases {
        assert_eq!(indices(kind, cipher), expected, "{kind:?} from {cipher:?}");
    }
}

// Computed apart from this crate, in 60-digit decimal arithmetic from the two ciphers' definitions.
const LAPLACE_AES: [i64; 12] =
    [-5461, 5159, 803, 8616, 9275, 16170, 419433, -412601, -2894, 5391, 6588, 6272];
const LAPLACE_CHACHA: [i64; 12] =
    [-9509, -873, -4868, 21255, -6768, 10329, 405677, -409684, 5066, 7400, -10998, 7275];
const GAUSSIAN_AES: [i64; 12] =
    [-4579, 4739, 724, 8072, 6661, 15986, 416530, -412489, -2805, 4897, 4296, 6316];
const GAUSSIAN_CHACHA: [i64; 12] =
    [-6775, -953, -4796, 14043, -5349, 10346, 406032, -409705, 4332, 6149, -8549, 7121];

fn attempt(scale: f64, bound: f64, values: &[f64]) -> (Result<(), NoiseError>, Vec<f64>) {
    let mechanism = Perturbation { kind: NoiseKind::Laplace, scale, bound };
    let key = StreamKey::new(Cipher::ChaCha20, [9; 32]);
    let mut out = vec![7.0; values.len()];
    (perturb(&mechanism, values, key, &mut out).map(|_| ()), out)
}

#[test]
fn values_that_are_not_finite_are_refused_and_nothing_is_written() {
    for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for coordinate in [0, 1, 255, 256, 999] {
            let mut values = vec![0.5; 1_000];
            values[coordinate] = bad;
            let (result, out) = attempt(1.0, 10.0, &values);
            let error = result.unwrap_err();
            assert_eq!(error, NoiseError::NotFinite { coordinate });
            assert!(out.iter().all(|value| value.to_bits() == 7.0_f64.to_bits()));
            let expected = format!("the value of coordinate {coordinate} is not a finite number");
            assert_eq!(error.to_string(), expected);
        }
    }
    assert!(attempt(1.0, 10.0, &[f64::MAX, f64::MIN, 5e-324, -0.0]).0.is_ok());
}

#[test]
fn scales_and_bounds_out_of_range_are_refused() {
    let scale = |scale| attempt(scale, 1e-200, &[0.0]).0;
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
        assert!(matches!(scale(bad), Err(NoiseError::Scale { .. })), "{bad}");
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12] {
        let result = attempt(1.0, bad, &[0.0]).0;
        assert!(matches!(result, Err(NoiseError::Bound { .. })), "{bad}");
    }
}

#[test]
fn extreme_scales_work() {
    for (scale, bound) in [(1e-120, 1e-119), (1e120, 1.0), (1e120, 1e130)] {
        for value in [0.0, bound, -1e-300, 5e-324, 1e300] {
            let (result, out) = attempt(scale, bound, &[value; 40]);
            assert!(result.is_ok());
            let near = out.iter().filter(|y| y.abs() < bound + 40.0 * scale).count();
            assert_eq!(near, 40);
            assert!(out.iter().any(|y| (y - value.clamp(-bound, bound)).abs() > 0.01 * scale));
        }
    }
}

#[test]
fn an_empty_vector_is_released_as_one() {
    assert_eq!(attempt(1.0, 1.0, &[]), (Ok(()), vec![]));
}
