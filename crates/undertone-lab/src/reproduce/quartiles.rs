//! The spread of one number over seeds.

use serde::Serialize;

/// Median and quartiles. Infinite values, of runs that never converge, are kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter of the values is below.
    pub low: f64,
    /// Half of the values are below.
    pub median: f64,
    /// Three quarters of the values are below.
    pub high: f64,
}

impl Quartiles {
    /// Of at least one value, none of them NaN; `None` otherwise.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Quartiles> {
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = share * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[index.floor() as usize], sorted[index.ceil() as usize]);
            // Equal values need no interpolation, which would make NaN of infinite ones.
            if below >= above { below } else { below + index.fract() * (above - below) }
        };
        Some(Quartiles { low: at(0.25), median: at(0.5), high: at(0.75) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_of_the_textbook() {
        let found = Quartiles::of(&[4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!(found, Quartiles { low: 2.0, median: 3.0, high: 4.0 });
        let between = Quartiles::of(&[1.0, 2.0]).unwrap();
        assert_eq!(between, Quartiles { low: 1.25, median: 1.5, high: 1.75 });
    }

    #[test]
    fn infinite_values_stay_infinite() {
        let never = f64::INFINITY;
        let found = Quartiles::of(&[1.0, 2.0, never, never]).unwrap();
        assert_eq!((found.low, found.median, found.high), (1.75, never, never));
        assert_eq!(Quartiles::of(&[]), None);
        assert_eq!(Quartiles::of(&[f64::NAN]), None);
    }
}
