//! The reference: sensitivities and costs of every record, by the formulas of ADR 0004, 0006, 0011 and 0012.

use super::configs::Dice;

/// The numbers of one learner that its costs follow from.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) method: Method,
    pub(super) memory: Memory,
    pub(super) is_laplace: bool,
    /// n.
    pub(super) dimension: f64,
    /// B.
    pub(super) radius: f64,
    /// L.
    pub(super) smoothness: f64,
    /// μ.
    pub(super) convexity: f64,
    /// C.
    pub(super) spread: f64,
    /// G.
    pub(super) norm: f64,
    /// λ0 and v.
    pub(super) step: (f64, f64),
    /// γ0 and u.
    pub(super) coupling: (f64, f64),
    /// ρ0 and ς.
    pub(super) scale: (f64, f64),
    /// The largest ρ0 and ς in the network.
    pub(super) scale_max: (f64, f64),
    /// e0 and its exponent.
    pub(super) error: (f64, f64),
    pub(super) weight: f64,
    pub(super) weight_min: f64,
    pub(super) warmup: u64,
    pub(super) batch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    Tight,
    Theorem5i,
    Theorem5ii,
    Shielded { interval: u64 },
    Dsgd,
    Dola,
    Pdop { step_ratio: f64, noise_ratio: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Memory {
    Whole,
    Window(usize),
    Decaying { factor: f64, rounds: usize },
}

/// What happened in a round: records that arrived, and the weight of the neighbours heard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happened {
    pub(super) arrived: u64,
    pub(super) heard: f64,
}

/// The most that any record has paid.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    pub(super) pure: f64,
    pub(super) zcdp: f64,
    /// Φ_t/ρ_t of every release, of the record with the largest zCDP.
    pub(super) ratios: Vec<f64>,
}

/// A power law (t+1)^exponent.
fn law((initial, exponent): (f64, f64), t: u64) -> f64 {
    initial * (t as f64 + 1.0).powf(exponent)
}

/// The release that follows a step: its noise, and the machine's charge (ADR 0006, ADR 0012).
struct Sent {
    noise: f64,
    machine: f64,
    /// Whether what does not depend on a record is the same for both histories, bit for bit.
    is_public: bool,
}

/// What is needed of one round.
struct Step {
    /// c_t, and where no record has any weight.
    contraction: f64,
    idle: f64,
    /// What a record moves that has weight 1.
    reach: f64,
    /// What the memory's error moves.
    error: f64,
}

impl Facts {
    pub(super) fn forgets(&self) -> bool {
        self.memory != Memory::Whole
    }

    /// Rounds 0 to `rounds` − 1 as planned, which precede the releases of rounds 1 to `rounds`.
    pub(super) fn planned(&self, rounds: u64) -> Vec<Happened> {
        let arrived = |t| self.batch + if t == 0 { self.warmup } else { 0 };
        (0..rounds).map(|t| Happened { arrived: arrived(t), heard: self.weight }).collect()
    }

    /// Rounds in which neighbours and records are missing at random, never all records of the first.
    pub(super) fn story(&self, rounds: u64, dice: &mut Dice) -> Vec<Happened> {
        let mut story = self.planned(rounds);
        for (t, happened) in story.iter_mut().enumerate() {
            if dice.happens(0.3) {
                happened.heard *= dice.pick(&[0.0, 0.5, 0.25]);
            }
            if dice.happens(0.2) {
                happened.arrived = dice.below(happened.arrived + 1).max(u64::from(t == 0));
            }
        }
        story
    }

    /// The weight of a record of round k in round t, where somebody has any: by definition, from all counts.
    fn weight_of(&self, k: usize, t: usize, total: f64) -> f64 {
        if total > 0.0 { self.raw_weight(t - k) / total } else { 0.0 }
    }

    fn raw_weight(&self, age: usize) -> f64 {
        match self.memory {
            Memory::Whole => 1.0,
            Memory::Window(rounds) => f64::from(u8::from(age < rounds)),
            Memory::Decaying { factor, rounds } if age < rounds => factor.powf(age as f64),
            Memory::Decaying { .. } => 0.0,
        }
    }

    /// The sum of all records' weights in each round.
    fn totals(&self, story: &[Happened]) -> Vec<f64> {
        if self.memory == Memory::Whole {
            let mut sum = 0;
            let add = |happened: &Happened| {
                sum += happened.arrived;
                sum as f64
            };
            return story.iter().map(add).collect();
        }
        let of_round = |t: usize| {
            (0..=t).map(|j| story[j].arrived as f64 * self.raw_weight(t - j)).sum::<f64>()
        };
        (0..story.len()).map(of_round).collect()
    }

    fn step(&self, t: u64, heard: f64) -> Step {
        let ratio = match self.method {
            Method::Pdop { step_ratio, .. } => step_ratio.powf(t as f64),
            Method::Tight
            | Method::Theorem5i
            | Method::Theorem5ii
            | Method::Shielded { .. }
            | Method::Dsgd
            | Method::Dola => 1.0,
        };
        let (step, coupling) = (law(self.step, t) * ratio, law(self.coupling, t));
        let (a, bend) = (coupling * heard, step * self.smoothness);
        let idle = (1.0 - a).abs();
        let moved = |length: f64| (length * self.spread, 2.0 * length * law(self.error, t));
        let ((reach, error), contraction, idle) = match self.method {
            Method::Tight => {
                let slow = (1.0 - a - step * self.convexity).abs();
                (moved(step), (1.0 - a - bend).abs().max(slow), idle)
            }
            Method::Theorem5i | Method::Theorem5ii => {
                let assumed = (1.0 - a.min(coupling * self.weight_min)).abs();
                (moved(step), assumed.max(idle) + bend, idle)
            }
            Method::Shielded { interval } => {
                let length = if (t + 1).is_multiple_of(interval) { 1.0 } else { 0.0 };
                (moved(length), 0.0, 0.0)
            }
            Method::Dsgd => (moved(step), bend, 0.0),
            Method::Dola | Method::Pdop { .. } => (moved(step), 0.0, 0.0),
        };
        Step { contraction, idle, reach, error }
    }

    fn sent(&self, t: u64) -> Sent {
        let root = self.dimension.sqrt();
        let messages = 128.0 * self.weight * law(self.coupling, t) * law(self.scale_max, t);
        let state = root / 2f64.powi(50) * (self.radius + messages);
        let lanes = (self.dimension / 4.0 + 4.0) * self.smoothness * self.radius;
        let gradient = (lanes + 40.0 * self.norm) / 2f64.powi(51);
        let noise = law(self.scale, t);
        match self.method {
            Method::Shielded { .. } => Sent { noise, machine: gradient, is_public: true },
            Method::Dola => Sent { noise, machine: state, is_public: true },
            Method::Pdop { noise_ratio, .. } => {
                let noise = noise * noise_ratio.powf(t as f64);
                Sent { noise, machine: state, is_public: true }
            }
            Method::Tight | Method::Theorem5i | Method::Theorem5ii | Method::Dsgd => {
                Sent { noise, machine: state, is_public: false }
            }
        }
    }

    fn rounds(&self, story: &[Happened]) -> Vec<(Step, Sent)> {
        let of = |(t, happened): (u64, &Happened)| (self.step(t, happened.heard), self.sent(t + 1));
        (0..).zip(story).map(of).collect()
    }

    /// What a record of round k has paid after the last release.
    fn spent_by(&self, k: usize, rounds: &[(Step, Sent)], totals: &[f64]) -> Spent {
        let mut distance = 0.0;
        let mut spent = Spent::default();
        for (t, (step, sent)) in rounds.iter().enumerate().skip(k) {
            let weight = self.weight_of(k, t, totals[t]);
            let is_idle = self.forgets() && !(totals[t] > 0.0);
            let contraction =
                if is_idle { step.contraction.max(step.idle) } else { step.contraction };
            let is_whole = matches!(self.method, Method::Theorem5i) && weight > 0.0;
            let drive = if is_whole { step.reach } else { step.reach * weight };
            distance = contraction * distance + drive + step.error;
            spent.pay(self, sent, distance);
        }
        spent
    }

    /// What the record has paid that has paid most, in each currency.
    pub(super) fn spent(&self, story: &[Happened]) -> Spent {
        let (rounds, totals) = (self.rounds(story), self.totals(story));
        let mut most = Spent::default();
        for k in (0..story.len()).filter(|&k| story[k].arrived > 0) {
            let spent = self.spent_by(k, &rounds, &totals);
            let pure = most.pure.max(spent.pure);
            if spent.zcdp > most.zcdp {
                most = spent;
            }
            most.pure = pure;
        }
        most
    }

    /// The same of a record of round 0, or of all if any may pay most.
    pub(super) fn spent_by_first(&self, story: &[Happened]) -> Spent {
        if self.forgets() {
            return self.spent(story);
        }
        self.spent_by(0, &self.rounds(story), &self.totals(story))
    }

    /// What is paid if all records may be replaced.
    pub(super) fn user(&self, rounds: u64) -> Spent {
        let mut distance = 0.0;
        let mut spent = Spent::default();
        for (step, sent) in self.rounds(&self.planned(rounds)) {
            distance = step.contraction * distance + step.reach + step.error;
            spent.pay(self, &sent, distance);
        }
        spent
    }
}

impl Spent {
    fn pay(&mut self, facts: &Facts, sent: &Sent, distance: f64) {
        if sent.is_public && distance <= 0.0 {
            return;
        }
        let ratio = (distance + sent.machine) / sent.noise;
        self.pure += if facts.is_laplace { facts.dimension.sqrt() * ratio } else { f64::INFINITY };
        self.zcdp += 0.5 * ratio * ratio;
        self.ratios.push(ratio);
    }
}
