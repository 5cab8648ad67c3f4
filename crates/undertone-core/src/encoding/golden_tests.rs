//! The hash of each variant of every enum that enters an id. A change of any is a changelog entry.

use super::{Encode, Encoder};
use crate::neural::{LayerSpec, Shape};
use crate::noise::NoiseKind;
use crate::{DeclaredCurvature, Domain, FeatureTransform, Forgetting, Loss, MemoryKind, PowerLaw};

fn hash(value: &impl Encode) -> String {
    let mut encoder = Encoder::new("golden");
    encoder.add(value);
    encoder.digest().to_string()[..16].to_string()
}

/// One row for each variant: its pattern, a value and the value's hash. A variant that is added does not compile until it
/// has a row. Values listed after them differ in one field from one of those, and no two hashes are equal.
macro_rules! goldens {
    ($test:ident, $type:ty, [$($pattern:pat = $value:expr => $golden:literal),+ $(,)?],
     [$($other:expr),* $(,)?]) => {
        #[test]
        fn $test() {
            let row = |value: &$type| match value { $($pattern => $golden),+ };
            let variants: Vec<$type> = vec![$($value),+];
            let mut hashes: Vec<String> = Vec::new();
            for value in &variants {
                assert_eq!(hash(value), row(value), "{value:?}");
                hashes.push(hash(value));
            }
            let others: Vec<$type> = vec![$($other),*];
            hashes.extend(others.iter().map(hash));
            let count = hashes.len();
            hashes.sort_unstable();
            hashes.dedup();
            assert_eq!(hashes.len(), count, "two values have one hash");
        }
    };
}

goldens!(
    noise_kinds_have_golden_hashes,
    NoiseKind,
    [NoiseKind::Laplace = NoiseKind::Laplace => "adcc06568b423517", NoiseKind::Gaussian = NoiseKind::Gaussian => "eea44858be425358"],
    []
);

goldens!(
    domains_have_golden_hashes,
    Domain,
    [
        Domain::Ball { .. } = Domain::Ball { radius: 1.0 } => "7701e6baeead883c",
        Domain::Box { .. } = Domain::Box { lower: -1.0, upper: 1.0 } => "293da698620ca441",
        Domain::Simplex { .. } = Domain::Simplex { total: 1.0 } => "5cd14d266ec1c2f5",
    ],
    [
        Domain::Ball { radius: 2.0 },
        Domain::Box { lower: -2.0, upper: 1.0 },
        Domain::Box { lower: -1.0, upper: 2.0 },
        Domain::Simplex { total: 2.0 },
    ]
);

goldens!(
    forgetting_has_golden_hashes,
    Forgetting,
    [
        Forgetting::Never = Forgetting::Never => "50d752c17d6645a0",
        Forgetting::Window { .. } = Forgetting::Window { rounds: 3 } => "ccadf08a7904c286",
        Forgetting::Decaying { .. } = Forgetting::Decaying { factor: 0.5, rounds: None } => "a90c757a7661cb27",
    ],
    [
        Forgetting::Window { rounds: 4 },
        Forgetting::Decaying { factor: 0.25, rounds: None },
        Forgetting::Decaying { factor: 0.5, rounds: Some(0) },
        Forgetting::Decaying { factor: 0.5, rounds: Some(3) },
    ]
);

const TOLERANCE: PowerLaw = PowerLaw { initial: 0.5, exponent: -0.25 };

goldens!(
    memory_kinds_have_golden_hashes,
    MemoryKind,
    [
        MemoryKind::Exact = MemoryKind::Exact => "fcd161ff99c5485e",
        MemoryKind::Moments = MemoryKind::Moments => "b62c1247b8bfc441",
        MemoryKind::Recursive = MemoryKind::Recursive => "a317831836807e83",
        MemoryKind::Polynomial { .. } = MemoryKind::Polynomial { degree: 2 } => "a08f6796db9de157",
        MemoryKind::Arrival = MemoryKind::Arrival => "89ccfe4969b3bf2d",
        MemoryKind::Anchored { .. } = MemoryKind::Anchored { tolerance: TOLERANCE } => "d4631a78959dd8c2",
        MemoryKind::Window { .. } = MemoryKind::Window { rounds: 3 } => "ccadf08a7904c286",
        MemoryKind::Decaying { .. } = MemoryKind::Decaying { factor: 0.5, rounds: None } => "a90c757a7661cb27",
    ],
    [
        MemoryKind::Polynomial { degree: 4 },
        MemoryKind::Anchored { tolerance: PowerLaw { initial: 0.25, ..TOLERANCE } },
        MemoryKind::Anchored { tolerance: PowerLaw { exponent: 0.0, ..TOLERANCE } },
        MemoryKind::Window { rounds: 4 },
        MemoryKind::Decaying { factor: 0.25, rounds: None },
        MemoryKind::Decaying { factor: 0.5, rounds: Some(3) },
    ]
);

const CURVATURE: DeclaredCurvature = DeclaredCurvature { smoothness: 2.0, strong_convexity: 0.5 };

fn declared(
    parameters: usize,
    curvature: Option<DeclaredCurvature>,
    gradient_spread: Option<f64>,
) -> Loss {
    Loss::Declared { parameters, curvature, gradient_spread }
}

goldens!(
    losses_have_golden_hashes,
    Loss,
    [
        Loss::Squared = Loss::Squared => "06c07f8dc5edc45c",
        Loss::Power { .. } = Loss::Power { degree: 4 } => "c3debccb199d70ce",
        Loss::Huber { .. } = Loss::Huber { threshold: 0.5 } => "d84132fec77c529d",
        Loss::Logistic = Loss::Logistic => "739e9cb8959aee33",
        Loss::Softmax { .. } = Loss::Softmax { classes: 3 } => "d8952a242198a267",
        Loss::Neural { .. } = Loss::Neural { classes: 3, parameters: 7 } => "be5f7b3b1ba1ac02",
        Loss::Declared { .. } = declared(7, Some(CURVATURE), Some(1.0)) => "d17e4ba10bd5a9c9",
    ],
    [
        Loss::Power { degree: 6 },
        Loss::Huber { threshold: 0.25 },
        Loss::Softmax { classes: 4 },
        Loss::Neural { classes: 7, parameters: 3 },
        declared(8, Some(CURVATURE), Some(1.0)),
        declared(7, None, Some(1.0)),
        declared(7, Some(CURVATURE), None),
        declared(7, Some(CURVATURE), Some(2.0)),
        declared(7, Some(DeclaredCurvature { smoothness: 3.0, ..CURVATURE }), Some(1.0)),
        declared(7, Some(DeclaredCurvature { strong_convexity: 0.0, ..CURVATURE }), Some(1.0)),
    ]
);

fn conv(channels: usize, kernel: usize, stride: usize, padding: usize) -> LayerSpec {
    LayerSpec::Conv { channels, kernel, stride, padding }
}

goldens!(
    layers_have_golden_hashes,
    LayerSpec,
    [
        LayerSpec::Conv { .. } = conv(1, 2, 3, 4) => "ce1c92f11ec09ea4",
        LayerSpec::Relu {} = LayerSpec::Relu {} => "5a72a8d4ff618516",
        LayerSpec::Tanh {} = LayerSpec::Tanh {} => "376a5898101673c7",
        LayerSpec::Sigmoid {} = LayerSpec::Sigmoid {} => "7f9b56bed8547e88",
        LayerSpec::MaxPool { .. } = LayerSpec::MaxPool { size: 2, stride: None } => "c308769fc28364a6",
        LayerSpec::AveragePool { .. } = LayerSpec::AveragePool { size: 2, stride: None } => "01661cb52191dd9a",
        LayerSpec::Dense { .. } = LayerSpec::Dense { outputs: 3 } => "aa796ca3f62052bb",
    ],
    [
        conv(2, 1, 3, 4),
        conv(1, 3, 2, 4),
        conv(1, 2, 4, 3),
        conv(1, 2, 3, 5),
        LayerSpec::MaxPool { size: 3, stride: None },
        LayerSpec::MaxPool { size: 2, stride: Some(1) },
        LayerSpec::AveragePool { size: 3, stride: None },
        LayerSpec::AveragePool { size: 2, stride: Some(1) },
        LayerSpec::Dense { outputs: 4 },
    ]
);

fn scattering(input: [usize; 3], dimension: Option<usize>) -> FeatureTransform {
    let [channels, height, width] = input;
    FeatureTransform::Scattering { input: Shape { channels, height, width }, dimension }
}

fn fourier(inputs: usize, gamma: f64, dimension: usize) -> FeatureTransform {
    FeatureTransform::Fourier { inputs, gamma, dimension }
}

goldens!(
    feature_transforms_have_golden_hashes,
    FeatureTransform,
    [
        FeatureTransform::Scattering { .. } = scattering([1, 8, 4], None) => "4a53296c6f67efa5",
        FeatureTransform::Fourier { .. } = fourier(3, 0.5, 8) => "be36c483bd9b062c",
    ],
    [
        scattering([4, 8, 1], None),
        scattering([1, 4, 8], None),
        scattering([1, 8, 4], Some(8)),
        scattering([1, 8, 4], Some(9)),
        fourier(8, 0.5, 3),
        fourier(3, 0.25, 8),
        fourier(3, 0.5, 10),
    ]
);
