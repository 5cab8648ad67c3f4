//! Axes: which values can be drawn, their positions between 0 and 1, and the ticks.

use super::number::{decimal, magnitude, scientific};

/// Values beyond this cannot be drawn: their differences could overflow.
const DRAWABLE_MAX: f64 = 1e300;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Linear: rounds, accuracies, budgets.
    Linear,
    /// Logarithmic: errors.
    Log,
}

/// The format of tick labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Numbers.
    Plain,
    /// Percentages of values between 0 and 1.
    Percent,
    /// Integers.
    Whole,
}

/// An axis fitted to its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Ticks: position between 0 and 1, and label.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// Whether a value can be drawn on such an axis.
    pub(super) fn can_draw(self, value: f64) -> bool {
        match self {
            Scale::Linear => value.abs() <= DRAWABLE_MAX,
            Scale::Log => (1.0 / DRAWABLE_MAX..=DRAWABLE_MAX).contains(&value),
        }
    }

    fn of(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        }
    }
}

impl Axis {
    /// Fits a horizontal axis of rounds.
    pub(super) fn rounds(values: impl Iterator<Item = f64>, ticks_max: usize) -> Option<Axis> {
        let (low, high) = extent(Scale::Linear, values)?;
        // Some measurements begin a round or two late; their charts still align with the others.
        let low = if low > 0.0 && low < 0.05 * high { 0.0 } else { low };
        let (low, high) = if high > low { (low, high) } else { (low - 0.5, high + 0.5) };
        Some(Axis::marked(Scale::Linear, Unit::Whole, (low, high), ticks_max))
    }

    /// Fits a vertical axis, with a margin above and below. `None` without drawable values.
    pub(super) fn fit(
        scale: Scale,
        unit: Unit,
        values: impl Iterator<Item = f64>,
        ticks_max: usize,
    ) -> Option<Axis> {
        let (low, high) = extent(scale, values)?;
        let (least, most) = (scale.of(low), scale.of(high));
        let narrowest = match scale {
            Scale::Linear => (least.abs().max(most.abs()) * 1e-6).max(1e-9),
            Scale::Log => 1e-3,
        };
        let room = if most - least > narrowest {
            (most - least) * 0.06
        } else {
            match scale {
                Scale::Linear => (most.abs() * 0.1).max(narrowest),
                Scale::Log => 0.3,
            }
        };
        let (mut bottom, mut top) = (least - room, most + room);
        // A linear axis starts at zero where that wastes little space.
        let little = if unit == Unit::Percent { 0.2 } else { 0.5 };
        if scale == Scale::Linear && low >= 0.0 && low < little * high {
            bottom = 0.0;
        }
        if unit == Unit::Percent && low >= 0.0 && high <= 1.0 {
            (bottom, top) = (bottom.max(0.0), top.min(1.0));
        }
        Some(Axis::marked(scale, unit, (bottom, top), ticks_max))
    }

    /// The position of a drawable value, between 0 and 1.
    pub(super) fn position(&self, value: f64) -> f64 {
        let share = (self.scale.of(value) - self.low) / (self.high - self.low);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The label of the tick nearest to a position.
    pub(super) fn label(&self, position: f64) -> String {
        let distance = |tick: &(f64, String)| (tick.0 - position).abs();
        self.ticks
            .iter()
            .min_by(|left, right| distance(left).total_cmp(&distance(right)))
            .map_or(String::new(), |(_, label)| label.clone())
    }

    fn marked(scale: Scale, unit: Unit, (low, high): (f64, f64), ticks_max: usize) -> Axis {
        let mut axis = Axis { scale, low, high, ticks: Vec::new() };
        let marks = match scale {
            Scale::Linear => linear_marks(low, high, unit, ticks_max),
            Scale::Log => log_marks(low, high, ticks_max),
        };
        axis.ticks = marks
            .into_iter()
            .filter(|&(value, _)| {
                let position = scale.of(value);
                position >= low - (high - low) * 1e-9 && position <= high + (high - low) * 1e-9
            })
            .map(|(value, label)| (axis.position(value), label))
            .collect();
        axis
    }
}

fn extent(scale: Scale, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|&value| scale.can_draw(value)).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// Multiples of 1, 2, 2.5 or 5 times a power of ten.
fn linear_marks(low: f64, high: f64, unit: Unit, ticks_max: usize) -> Vec<(f64, String)> {
    #[expect(clippy::cast_precision_loss, reason = "a handful of ticks")]
    let rough = (high - low) / ticks_max.max(1) as f64;
    if !(rough > 0.0) {
        return Vec::new();
    }
    let power = 10_f64.powi(magnitude(rough));
    let factors: &[f64] =
        if unit == Unit::Whole { &[1.0, 2.0, 5.0] } else { &[1.0, 2.0, 2.5, 5.0] };
    let fitting = factors.iter().find(|&&factor| factor * power >= rough * (1.0 - 1e-9));
    let mut step = fitting.map_or(10.0 * power, |factor| factor * power);
    if unit == Unit::Whole {
        step = step.max(1.0);
    }
    let first = (low / step - 1e-9).ceil();
    (0..=2 * ticks_max)
        .map(|index| {
            #[expect(clippy::cast_precision_loss, reason = "a handful of ticks")]
            let value = (first + index as f64) * step;
            (value, linear_label(value, step, unit))
        })
        .take_while(|(value, _)| *value <= high + step * 1e-9)
        .collect()
}

fn linear_label(value: f64, step: f64, unit: Unit) -> String {
    if unit == Unit::Percent && value.abs() < 1e4 {
        return format!("{}%", decimal(value * 100.0, decimals_of(step * 100.0)));
    }
    if value.abs() < step * 1e-6 {
        return "0".into();
    }
    if value.abs() >= 1e6 || step < 1e-5 {
        let digits = (magnitude(value.abs()) - magnitude(step)).clamp(0, 3) + 1;
        return scientific(value, usize::try_from(digits).unwrap_or(2));
    }
    decimal(value, decimals_of(step))
}

/// Decimals needed to distinguish multiples of a step.
fn decimals_of(step: f64) -> i32 {
    let power = magnitude(step * (1.0 + 1e-9));
    let leading = step / 10_f64.powi(power);
    let half = (leading - 2.5).abs() < 1e-6;
    (-power + i32::from(half)).max(0)
}

/// Powers of ten, then 1-2-5, then linear steps: the first that gives at least three ticks.
fn log_marks(low: f64, high: f64, ticks_max: usize) -> Vec<(f64, String)> {
    #[expect(clippy::cast_possible_truncation, reason = "exponents are within ±301")]
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    let inside = |value: &f64| (low..=high).contains(&value.log10());
    let decades: Vec<f64> = (first..=last).map(|power| 10_f64.powi(power)).filter(inside).collect();
    let labelled =
        |values: Vec<f64>| values.into_iter().map(|value| (value, log_label(value))).collect();
    if decades.len() >= 3 {
        let every = decades.len().div_ceil(ticks_max.max(1));
        return labelled(decades.into_iter().step_by(every).collect());
    }
    let finer: Vec<f64> = (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)))
        .filter(inside)
        .collect();
    if finer.len() >= 3 {
        return labelled(finer);
    }
    linear_marks(10_f64.powf(low), 10_f64.powf(high), Unit::Plain, ticks_max)
}

fn log_label(value: f64) -> String {
    if (0.9e-3..1e5).contains(&value) {
        decimal(value, -magnitude(value * (1.0 + 1e-9)))
    } else {
        scientific(value, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let axis = Axis::rounds([0.0, 799.0].into_iter(), 5).unwrap();
        assert_eq!(labels(&axis), ["0", "200", "400", "600"]);
        let axis = Axis::fit(Scale::Linear, Unit::Percent, [0.5, 0.98].into_iter(), 6).unwrap();
        assert_eq!(labels(&axis), ["50%", "60%", "70%", "80%", "90%", "100%"]);
        let axis = Axis::fit(Scale::Log, Unit::Plain, [1e-3, 20.0].into_iter(), 5).unwrap();
        assert_eq!(labels(&axis), ["0.001", "0.01", "0.1", "1", "10"]);
    }

    #[test]
    fn an_axis_without_drawable_values_is_none() {
        assert!(Axis::fit(Scale::Log, Unit::Plain, [0.0, -1.0, f64::NAN].into_iter(), 5).is_none());
        assert!(Axis::fit(Scale::Linear, Unit::Plain, std::iter::empty(), 5).is_none());
    }

    #[test]
    fn every_position_is_between_zero_and_one() {
        let hard = [1e-300, 1e300, 1.0, 1.0 + 1e-12, 3.4e38, 5e-324, 0.0, -1e300];
        for &left in &hard {
            for &right in &hard {
                for scale in [Scale::Linear, Scale::Log] {
                    let values = [left, right];
                    let Some(axis) = Axis::fit(scale, Unit::Plain, values.into_iter(), 5) else {
                        continue;
                    };
                    for value in values.into_iter().filter(|&value| scale.can_draw(value)) {
                        assert!((0.0..=1.0).contains(&axis.position(value)), "{left} {right}");
                    }
                    assert!(axis.ticks.len() <= 12, "{left} {right}: {:?}", axis.ticks);
                }
            }
        }
    }
}
