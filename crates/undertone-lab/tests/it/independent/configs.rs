//! Random agreements as text, and the facts that follow from the numbers in it.

use super::reference::{Facts, Memory, Method};
use std::f64::consts::SQRT_2;
use std::fmt::Write;
use undertone::LearnerId;
use undertone::agreement::RawAgreement;
use undertone::load::{Source, Strictness, load};
use undertone::noise::NoiseKind;
use undertone_lab::Setup;

/// Random numbers (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn from(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// With an even distribution of its logarithm.
    fn power(&mut self, low: f64, high: f64) -> f64 {
        self.from(low.ln(), high.ln()).exp()
    }

    pub(super) fn below(&mut self, count: u64) -> u64 {
        self.word() % count
    }

    pub(super) fn happens(&mut self, chance: f64) -> bool {
        self.from(0.0, 1.0) < chance
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A loss, by the word in a config.
#[derive(Clone, Copy, Debug)]
enum LossKind {
    Logistic,
    Ridge,
    Huber { threshold: f64 },
    Softmax,
}

/// A config and the choices behind it.
pub(super) struct Config {
    pub(super) text: String,
    pub(super) noise: NoiseKind,
    pub(super) delta: f64,
    pub(super) rounds: u64,
    /// The ε that the noise was calibrated to, over the rounds.
    pub(super) calibrated_for_rounds: Option<f64>,
    topology: &'static str,
    weight: f64,
    loss: LossKind,
    features: u64,
    ridge: f64,
    clip: Option<f64>,
    norm: f64,
    label: f64,
    radius: f64,
    method: Method,
    memory: Memory,
    tolerance: Option<(f64, f64)>,
    warmup: u64,
    batch: u64,
    step: (f64, f64),
    coupling: (f64, f64),
    /// ρ0 and ς of each learner.
    scales: [(f64, f64); LEARNERS],
}

const LEARNERS: usize = 5;

impl Config {
    /// A config whose budget is neither next to nothing nor next to infinite.
    pub(super) fn random(dice: &mut Dice) -> Config {
        let mut config = Config::without_noise(dice);
        let (base, growth) = (1.0, config.noise_exponent(dice));
        let differ = dice.happens(0.2);
        for scale in &mut config.scales {
            let factor = if differ { dice.from(0.5, 2.0) } else { 1.0 };
            let more = if differ { dice.from(0.0, 0.1) } else { 0.0 };
            *scale = (base * factor, growth + more);
        }
        let facts = config.facts(&config.scales, LearnerId(0));
        let cost = facts.spent(&facts.planned(config.rounds)).zcdp;
        let target = dice.power(1e-3, 30.0);
        let least = config.radius * 2f64.powi(-30);
        let factor = (cost / target).sqrt();
        let factor =
            if factor.is_finite() && factor > 0.0 { factor.clamp(least, 1e11) } else { 1.0 };
        config.scales.iter_mut().for_each(|scale| scale.0 *= factor);
        config.write();
        if dice.happens(0.25) && cost > 0.0 && cost < 1e20 {
            config.calibrated_for_rounds = Some(dice.power(0.1, 10.0));
            config.scales.iter_mut().for_each(|scale| scale.1 = growth);
            config.write();
        }
        config
    }

    fn without_noise(dice: &mut Dice) -> Config {
        let loss = match dice.below(4) {
            0 => LossKind::Logistic,
            1 => LossKind::Ridge,
            2 => LossKind::Huber { threshold: dice.power(0.1, 3.0) },
            _ => LossKind::Softmax,
        };
        let method = match dice.below(10) {
            0..4 => Method::Tight,
            4 => Method::Theorem5i,
            5 => Method::Theorem5ii,
            6 | 7 => Method::Shielded { interval: 1 + dice.below(6) },
            8 => dice.pick(&[Method::Dsgd, Method::Dola]),
            _ => {
                Method::Pdop { step_ratio: dice.from(0.9, 1.0), noise_ratio: dice.from(0.95, 1.0) }
            }
        };
        let of_history = !matches!(method, Method::Dsgd | Method::Dola | Method::Pdop { .. });
        let memory = match dice.below(6) {
            _ if !of_history => Memory::Window(1),
            0 => Memory::Window(1 + dice.below(30) as usize),
            1 => Memory::Decaying { factor: dice.from(0.5, 0.98), rounds: usize::MAX },
            _ => Memory::Whole,
        };
        let may_clip = !matches!(memory, Memory::Decaying { .. });
        let (norm, radius) = (dice.power(0.3, 3.0), dice.power(0.1, 30.0));
        let curvature = norm * norm * if matches!(loss, LossKind::Logistic) { 0.25 } else { 1.0 };
        let constant = of_history && memory != Memory::Whole && dice.happens(0.7);
        let exponent =
            |dice: &mut Dice, low, high| if constant { 0.0 } else { dice.from(low, high) };
        let tolerance =
            (matches!(loss, LossKind::Logistic) && memory == Memory::Whole && dice.happens(0.3))
                .then(|| (dice.power(1e-4, 1e-1), dice.from(0.0, 1.2)));
        Config {
            text: String::new(),
            noise: dice.pick(&[NoiseKind::Laplace, NoiseKind::Gaussian]),
            delta: 10f64.powf(dice.from(-12.0, -2.0)),
            rounds: 1 + dice.below(150),
            calibrated_for_rounds: None,
            topology: dice.pick(&["ring", "path", "complete", "star"]),
            weight: dice.from(0.05, 0.24),
            loss,
            features: 1 + dice.below(40),
            ridge: if dice.happens(0.5) { dice.power(1e-4, 0.5) } else { 0.0 },
            clip: (may_clip && tolerance.is_none() && dice.happens(0.3))
                .then(|| dice.power(0.05, 5.0)),
            norm,
            label: dice.power(0.1, 5.0),
            radius,
            method,
            memory,
            tolerance,
            warmup: if dice.happens(0.7) { dice.below(300) } else { 0 },
            batch: 1 + dice.below(4),
            step: (dice.power(0.02, 1.5) / curvature, -exponent(dice, 0.3, 1.0)),
            coupling: (dice.power(0.1, 2.5), -exponent(dice, 0.2, 0.9)),
            scales: [(1.0, 0.0); LEARNERS],
        }
    }

    fn noise_exponent(&self, dice: &mut Dice) -> f64 {
        match self.method {
            Method::Dsgd | Method::Dola | Method::Pdop { .. } => dice.from(-0.5, 0.3),
            _ if self.step.1 >= 0.0 => 0.0,
            Method::Tight | Method::Theorem5i | Method::Theorem5ii | Method::Shielded { .. } => {
                dice.from(0.0, 0.35)
            }
        }
    }

    pub(super) fn setup(&self) -> Setup {
        let source = Source::Text { origin: "random".into(), text: self.text.clone() };
        let loaded = load::<RawAgreement>(&source, |_| (), Strictness::Run);
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}\n{}", self.text));
        Setup::new(loaded.checked).unwrap_or_else(|error| panic!("{error}\n{}", self.text))
    }

    fn write(&mut self) {
        let mut text = String::from("unproven = true\n");
        let c = &*self;
        let word = match c.method {
            Method::Tight | Method::Theorem5i | Method::Theorem5ii => "algorithm1",
            Method::Shielded { .. } => "shielded",
            Method::Dsgd => "dsgd",
            Method::Dola => "dola",
            Method::Pdop { .. } => "pdop",
        };
        let Config { topology, weight, norm, radius, features, warmup, batch, ridge, .. } = c;
        write!(
            text,
            "method = \"{word}\"\n[network]\nlearners = {LEARNERS}\ntopology = \"{topology}\"\nweight = {weight:?}\n\
             [records]\nwarmup = {warmup}\nbatch = {batch}\n[parameters]\nset = \"ball\"\nradius = {radius:?}\n\
             [bounds]\nfeature_norm = {norm:?}\nout_of_bounds = \"scale\"\n"
        )
        .unwrap();
        let loss = match c.loss {
            LossKind::Logistic => "loss = \"logistic\"".to_string(),
            LossKind::Ridge => "loss = \"ridge\"".into(),
            LossKind::Huber { threshold } => format!("loss = \"huber\"\nthreshold = {threshold:?}"),
            LossKind::Softmax => "loss = \"softmax\"\nclasses = 2".into(),
        };
        if matches!(c.loss, LossKind::Ridge | LossKind::Huber { .. }) {
            writeln!(text, "label = {:?}", c.label).unwrap();
        }
        writeln!(text, "[model]\n{loss}\nfeatures = {features}\nridge = {ridge:?}").unwrap();
        if let Some(clip) = c.clip {
            writeln!(text, "clip = {clip:?}").unwrap();
        }
        text.push_str(&c.memory_text());
        text.push_str(&c.schedule_text());
        text.push_str(&c.noise_text());
        self.text = text;
    }

    fn memory_text(&self) -> String {
        match (self.memory, self.tolerance) {
            (Memory::Whole, Some((error, decay))) => format!(
                "[memory]\nkind = \"anchored\"\ntolerance = {error:?}\ntolerance_exponent = {decay:?}\n"
            ),
            (Memory::Window(rounds), _) if self.of_history() => {
                format!("[memory]\nkind = \"window\"\nwindow = {rounds}\n")
            }
            (Memory::Decaying { factor, .. }, _) => {
                format!("[memory]\nkind = \"decaying\"\nfactor = {factor:?}\n")
            }
            (Memory::Whole | Memory::Window(_), _) => String::new(),
        }
    }

    fn of_history(&self) -> bool {
        !matches!(self.method, Method::Dsgd | Method::Dola | Method::Pdop { .. })
    }

    fn schedule_text(&self) -> String {
        let ((step, v), (coupling, u)) = (self.step, self.coupling);
        let more = match self.method {
            Method::Shielded { interval } => format!("interval = {interval}\n"),
            Method::Pdop { step_ratio, .. } => format!("step_ratio = {step_ratio:?}\n"),
            Method::Tight
            | Method::Theorem5i
            | Method::Theorem5ii
            | Method::Dsgd
            | Method::Dola => String::new(),
        };
        format!(
            "[schedule]\nstep = {step:?}\nstep_exponent = {:?}\ncoupling = {coupling:?}\n\
             coupling_exponent = {:?}\n{more}",
            -v, -u
        )
    }

    fn noise_text(&self) -> String {
        let kind = match self.noise {
            NoiseKind::Laplace => "laplace",
            NoiseKind::Gaussian => "gaussian",
        };
        let mut text = format!("[noise]\nkind = \"{kind}\"\n");
        let each =
            |value: fn(&(f64, f64)) -> f64| self.scales.iter().map(value).collect::<Vec<_>>();
        writeln!(text, "exponent = {:?}", each(|scale| scale.1)).unwrap();
        match self.calibrated_for_rounds {
            Some(_) => writeln!(text, "calibrate = \"rounds\"\nrounds = {}", self.rounds).unwrap(),
            None => writeln!(text, "scale = {:?}", each(|scale| scale.0)).unwrap(),
        }
        if let Method::Pdop { noise_ratio, .. } = self.method {
            writeln!(text, "ratio = {noise_ratio:?}").unwrap();
        }
        writeln!(text, "[privacy]\ndelta = {:?}", self.delta).unwrap();
        if let Some(epsilon) = self.calibrated_for_rounds {
            writeln!(text, "epsilon = {epsilon:?}").unwrap();
        }
        match self.method {
            Method::Theorem5i => text.push_str("bound = \"theorem5i\"\n"),
            Method::Theorem5ii => text.push_str("bound = \"theorem5ii\"\n"),
            Method::Tight
            | Method::Shielded { .. }
            | Method::Dsgd
            | Method::Dola
            | Method::Pdop { .. } => {}
        }
        text
    }

    /// ρ0 and ς of each learner. Only calibrated noise is taken from the setup.
    pub(super) fn noise_of(&self, setup: &Setup) -> [(f64, f64); LEARNERS] {
        let mut scales = self.scales;
        if self.calibrated_for_rounds.is_some() {
            for (scale, mechanism) in scales.iter_mut().zip(&setup.mechanisms) {
                scale.0 = mechanism.noise.scale.initial;
            }
        }
        scales
    }

    /// The facts of a learner, from the numbers of the config.
    pub(super) fn facts(&self, scales: &[(f64, f64); LEARNERS], id: LearnerId) -> Facts {
        let index = id.0 as usize;
        let largest =
            |of: fn(&(f64, f64)) -> f64| scales.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (smoothness, norm, spread) = self.constants();
        let cut =
            matches!(self.loss, LossKind::Softmax) && self.clip.is_some_and(|clip| clip < SQRT_2);
        let weights = self.weights();
        let classes = if matches!(self.loss, LossKind::Softmax) { 2 } else { 1 };
        Facts {
            method: self.method,
            memory: match (self.memory, self.loss) {
                // Records that weigh less than a thousandth of a new one are dropped, where records are kept.
                (
                    Memory::Decaying { factor, .. },
                    LossKind::Logistic | LossKind::Huber { .. } | LossKind::Softmax,
                ) => {
                    let kept = (0..).take_while(|&age| factor.powi(age) >= 0.001);
                    Memory::Decaying { factor, rounds: kept.count() }
                }
                (memory, _) => memory,
            },
            is_laplace: self.noise == NoiseKind::Laplace,
            dimension: (self.features * classes) as f64,
            radius: self.radius,
            smoothness,
            convexity: if cut { -smoothness } else { self.ridge },
            spread,
            norm,
            step: self.step,
            coupling: self.coupling,
            scale: scales[index],
            scale_max: (largest(|scale| scale.0), largest(|scale| scale.1)),
            error: self.tolerance.map_or((0.0, 0.0), |(error, decay)| (error, -decay)),
            weight: weights[index],
            weight_min: weights.iter().copied().fold(f64::INFINITY, f64::min),
            warmup: self.warmup,
            batch: self.batch,
        }
    }

    /// |w_ii| of each learner.
    fn weights(&self) -> [f64; LEARNERS] {
        let w = self.weight;
        match self.topology {
            "ring" => [2.0 * w; LEARNERS],
            "path" => [w, 2.0 * w, 2.0 * w, 2.0 * w, w],
            "complete" => [4.0 * w; LEARNERS],
            _ => [4.0 * w, w, w, w, w],
        }
    }

    /// L, G and C, from the losses themselves (ADR 0024 for C).
    fn constants(&self) -> (f64, f64, f64) {
        let (r, reach) = (self.norm, self.norm * self.radius);
        let residual = reach + self.label;
        let clip = self.clip.unwrap_or(f64::INFINITY);
        let sigma = |z: f64| 1.0 / (1.0 + (-z).exp());
        let (curvature, slope, spread) = match self.loss {
            LossKind::Logistic => (0.25, 1.0, 2.0 * r * highest(|c| sigma(reach * c))),
            LossKind::Softmax => {
                (0.5, SQRT_2, 2.0 * SQRT_2 * r * highest(|c| sigma(SQRT_2 * reach * c)))
            }
            LossKind::Ridge => (1.0, residual, 2.0 * r * highest(|c| self.label + reach * c)),
            LossKind::Huber { threshold } => {
                (1.0, threshold.min(residual), 2.0 * r * highest(|c| self.label + reach * c))
            }
        };
        let norm = slope.min(clip) * r;
        (curvature * r * r + self.ridge, norm, spread.min(2.0 * norm))
    }
}

/// The largest √(1 − c²)·slope(c), by thirds.
fn highest(slope: impl Fn(f64) -> f64) -> f64 {
    let height = |c: f64| (1.0 - c * c).sqrt() * slope(c);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        if height(low + third) < height(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    height(low)
}
