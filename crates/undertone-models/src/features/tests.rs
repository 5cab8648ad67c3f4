//! The scattering transform against numbers computed independently, and its laws.

use super::scattering::{CHANNELS, Scatter, Scattering};
use super::*;
use serde::Deserialize;
use undertone_core::neural::Shape;
use undertone_simd::InstructionSet;

/// Written by `scripts/scattering_fixtures.py`.
const FIXTURE: &str = include_str!("../../tests/fixtures/scattering.toml");

#[derive(Deserialize)]
struct Fixture {
    image: Vec<Image>,
}

#[derive(Deserialize)]
struct Image {
    height: usize,
    width: usize,
    /// Every so many values are listed.
    step: usize,
    pixels: Vec<u8>,
    values: Vec<f32>,
}

impl Image {
    fn pixels(&self) -> Vec<f32> {
        self.pixels.iter().map(|&value| f32::from(value) / 255.0).collect()
    }
}

fn images() -> Vec<Image> {
    toml::from_str::<Fixture>(FIXTURE).unwrap().image
}

fn scatter_on(set: InstructionSet, transform: &Scattering, image: &[f32]) -> Vec<f32> {
    let mut channels = vec![f32::NAN; CHANNELS * transform.cells()];
    let workspace = &mut transform.workspace();
    set.run(Scatter { transform, workspace, image, channels: &mut channels });
    channels
}

fn scatter(transform: &Scattering, image: &[f32]) -> Vec<f32> {
    scatter_on(InstructionSet::best(), transform, image)
}

fn distance(left: &[f32], right: &[f32]) -> f64 {
    let pairs = left.iter().zip(right);
    pairs.map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn channels_are_those_of_the_definition_computed_in_numpy() {
    for image in images() {
        let transform = Scattering::new(image.height, image.width);
        let found = scatter(&transform, &image.pixels());
        let listed: Vec<f32> = found.iter().copied().step_by(image.step).collect();
        assert_eq!(listed.len(), image.values.len());
        let errors = listed.iter().zip(&image.values).map(|(a, b)| (a - b).abs());
        let error = errors.fold(0.0, f32::max);
        assert!(error < 5e-7, "{}×{}: {error}", image.height, image.width);
        // The control: one pixel that is off by a hundredth is seen.
        let mut changed = image.pixels();
        changed[image.width + 1] += 0.01;
        assert!(distance(&scatter(&transform, &changed), &found) > 1e-4);
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    for image in images() {
        let transform = Scattering::new(image.height, image.width);
        let expected = scatter_on(InstructionSet::Portable, &transform, &image.pixels());
        for set in InstructionSet::available() {
            let found = scatter_on(set, &transform, &image.pixels());
            let equal = found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(equal, "{set:?}, {}×{}", image.height, image.width);
        }
    }
}

#[test]
fn a_workspace_that_was_used_gives_the_same_bits() {
    let (transform, image) = (Scattering::new(28, 28), images().remove(2).pixels());
    let mut workspace = transform.workspace();
    let mut results = Vec::new();
    for image in [vec![1.0; 784], image.clone(), image] {
        let mut channels = vec![0.0; CHANNELS * transform.cells()];
        let (workspace, channels) = (&mut workspace, &mut channels[..]);
        undertone_simd::run(Scatter { transform: &transform, workspace, image: &image, channels });
        results.push(channels.to_vec());
    }
    assert!(results[1] == results[2] && results[0] != results[1]);
}

#[test]
fn a_constant_image_is_zero_in_all_channels_but_the_first() {
    let transform = Scattering::new(28, 32);
    let channels = scatter(&transform, &[0.75; 28 * 32]);
    let (first, others) = channels.split_at(transform.cells());
    assert!(first.iter().all(|value| (value - 0.75).abs() < 1e-5));
    assert!(others.iter().all(|value| value.abs() < 1e-5));
    // The control: one pixel.
    let mut image = [0.75; 28 * 32];
    image[400] = 1.0;
    let dotted = scatter(&transform, &image);
    assert!(dotted[transform.cells()..].iter().any(|&value| value > 1e-3));
}

/// Before cells are left out, every stage of the transform is non-expansive on the torus: at each frequency the squares of
/// the filters add up to 1 at most. One cell in sixteen pixels is kept, which can add 2 % by aliasing.
#[test]
fn images_are_never_further_apart_after_the_transform_and_half_of_that_bound_is_too_little() {
    let transform = Scattering::new(28, 28);
    let own = images().remove(2).pixels();
    let random = |seed: u64| -> Vec<f32> {
        let mut random = crate::PublicRandom::new(seed);
        (0..784).map(|_| random.unit() as f32).collect()
    };
    let dark = |image: &[f32]| image.iter().map(|value| 0.5 * value).collect::<Vec<f32>>();
    let pairs = [
        (own.clone(), dark(&own)),
        (own.clone(), random(1)),
        (random(1), random(2)),
        (vec![0.0; 784], vec![1.0; 784]),
        (own.iter().map(|value| 1.0 - value).collect(), own),
    ];
    let mut largest = 0.0_f64;
    for (left, right) in &pairs {
        let after = 4.0 * distance(&scatter(&transform, left), &scatter(&transform, right));
        let before = distance(&transform.on_torus(left), &transform.on_torus(right));
        assert!(after <= 1.01 * before, "{after} {before}");
        largest = largest.max(after / before);
    }
    assert!(largest > 0.5, "{largest}");
}

/// The image moved to the right.
fn moved(image: &[f32], pixels: usize) -> Vec<f32> {
    let line = |line: &[f32]| -> Vec<f32> {
        (0..28_usize).map(|column| column.checked_sub(pixels).map_or(0.0, |at| line[at])).collect()
    };
    image.chunks_exact(28).flat_map(line).collect()
}

#[test]
fn a_small_translation_changes_little_and_a_large_one_much() {
    // A stroke that stays within the image.
    let image: Vec<f32> = (0..784)
        .map(|place| {
            let (row, column) = ((place / 28) as f32, (place % 28) as f32);
            let near = 2.0 - (row - 14.0 - 0.5 * (column - 10.0)).abs();
            if (5.0..15.0).contains(&column) { near.clamp(0.0, 1.0) } else { 0.0 }
        })
        .collect();
    let transform = Scattering::new(28, 28);
    let norm = |values: &[f32]| distance(values, &vec![0.0; values.len()]);
    let change = |pixels: usize| {
        let other = moved(&image, pixels);
        let (before, after) = (scatter(&transform, &image), scatter(&transform, &other));
        let inside = distance(&image, &other) / norm(&image);
        (distance(&before, &after) / norm(&before), inside)
    };
    let ((one, pixels_of_one), (eight, _)) = (change(1), change(8));
    assert!(one < 0.4 * pixels_of_one, "{one} {pixels_of_one}");
    assert!(eight > 3.0 * one, "{eight}");
}

fn scattering(channels: usize, side: usize, dimension: Option<usize>) -> FeatureMap {
    let input = Shape { channels, height: side, width: side };
    FeatureMap::new(FeatureTransform::Scattering { input, dimension }).unwrap()
}

fn fourier(inputs: usize, dimension: usize) -> FeatureMap {
    FeatureMap::new(FeatureTransform::Fourier { inputs, gamma: 0.5, dimension }).unwrap()
}

fn pixels(count: usize, seed: f64) -> Features {
    Features::Dense((0..count).map(|k| 0.5 + 0.5 * (k as f64 * seed).sin()).collect())
}

#[test]
fn every_map_returns_as_many_features_as_it_says_with_a_norm_just_below_one() {
    for map in [
        scattering(1, 8, None),
        scattering(3, 12, None),
        scattering(3, 8, Some(100)),
        fourier(64, 30),
    ] {
        let inputs = map.transform().inputs();
        for seed in [0.1, 0.7, 2.3] {
            let features = map.apply(&pixels(inputs, seed)).unwrap();
            assert_eq!(features.dimension(), map.transform().outputs());
            assert!(features.norm() <= 1.0 && features.norm() > 0.998, "{}", features.norm());
        }
        // Images without any contrast too.
        for flat in [0.0, 1.0] {
            let features = map.apply(&Features::Dense(vec![flat; inputs].into())).unwrap();
            assert!(features.norm() <= 1.0 && features.is_finite());
        }
    }
}

#[test]
fn sparse_and_dense_images_have_the_same_features() {
    let map = scattering(1, 8, None);
    let dense: Vec<f64> = (0..64).map(|k| if k % 5 == 0 { 0.5 } else { 0.0 }).collect();
    let indices: Vec<u32> = (0..64).step_by(5).collect();
    let values = vec![0.5; indices.len()].into();
    let sparse = Features::Sparse { dimension: 64, indices: indices.into(), values };
    assert!(map.apply(&sparse).unwrap() == map.apply(&Features::Dense(dense.into())).unwrap());
}

#[test]
fn threads_that_share_a_map_get_what_one_thread_gets() {
    let map = scattering(1, 8, Some(20));
    let images: Vec<Features> = (1..33).map(|k| pixels(64, f64::from(k) * 0.1)).collect();
    let expected: Vec<Features> = images.iter().map(|image| map.apply(image).unwrap()).collect();
    std::thread::scope(|scope| {
        let work = || images.iter().map(|image| map.apply(image).unwrap()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == expected));
    });
    assert!(map.lock().len() <= 5, "workspaces are used again");
}

#[test]
fn features_of_another_shape_or_with_other_values_are_refused_without_naming_them() {
    let map = scattering(1, 8, None);
    let with = |value: f64| {
        let mut values = vec![0.5; 64];
        values[17] = value;
        map.apply(&Features::Dense(values.into())).err()
    };
    assert_eq!(with(0.75), None);
    for bad in [-0.01, 1.01, 255.0] {
        assert_eq!(with(bad), Some(RecordError::Pixel));
    }
    for bad in [f64::NAN, f64::INFINITY] {
        assert_eq!(with(bad), Some(RecordError::NotFinite));
    }
    let short = map.apply(&pixels(63, 0.1)).err();
    assert_eq!(short, Some(RecordError::Dimension { found: 63, expected: 64 }));
    let indices = [3, 64].into();
    let bad = Features::Sparse { dimension: 64, indices, values: [0.1, 0.1].into() };
    assert_eq!(map.apply(&bad).err(), Some(RecordError::Indices));
    assert_eq!(RecordError::Pixel.to_string(), "a pixel is outside 0 to 1");
}

#[test]
fn a_transform_that_does_not_exist_is_an_error() {
    let input = Shape { channels: 1, height: 28, width: 27 };
    let map = FeatureMap::new(FeatureTransform::Scattering { input, dimension: None });
    assert_eq!(map.unwrap_err().to_string(), "model: height and width must be multiples of 4");
}

/// What every machine must compute: constants, standardisation, projection and rounding included.
#[test]
fn features_are_golden() {
    let sum = |map: &FeatureMap| {
        let Ok(Features::Compact(values)) = map.apply(&pixels(map.transform().inputs(), 0.37))
        else {
            unreachable!("a map returns numbers of 16 bits")
        };
        values
            .iter()
            .fold(0_u64, |sum, value| sum.rotate_left(5).wrapping_add(u64::from(value.to_bits())))
    };
    let found =
        [sum(&scattering(1, 28, None)), sum(&scattering(3, 8, Some(50))), sum(&fourier(7, 40))];
    assert_eq!(found, [0; 3]);
}
