//! A set of recent rounds.

use undertone::Round;
use undertone::persist::{Fields, Persist};

/// A set of rounds among the last 64 before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundSet {
    /// All rounds in the set are before this one.
    end: Round,
    /// Bit k stands for round end − 1 − k.
    mask: u64,
}

impl RoundSet {
    /// No round.
    pub(super) const EMPTY: RoundSet = RoundSet { end: Round::ZERO, mask: 0 };

    /// From a mask whose bit k stands for round end − 1 − k.
    pub(super) fn new(end: Round, mask: u64) -> RoundSet {
        RoundSet { end, mask: if end.0 < 64 { mask & ((1 << end.0) - 1) } else { mask } }
    }

    /// Adds a round. A round more than 64 before the newest is ignored.
    pub(super) fn insert(&mut self, round: Round) {
        if round >= self.end {
            self.mask = self.mask_before(round.next());
            self.end = round.next();
        }
        let age = self.end.0 - 1 - round.0;
        if age < 64 {
            self.mask |= 1 << age;
        }
    }

    /// The newest round that was ever added.
    pub(super) fn newest(self) -> Option<Round> {
        self.end.0.checked_sub(1).map(Round)
    }

    /// Whether a round is in the set. Rounds that are too old to be held are not.
    pub(super) fn contains(self, round: Round) -> bool {
        round < self.end && {
            let age = self.end.0 - 1 - round.0;
            age < 64 && self.mask >> age & 1 == 1
        }
    }

    /// The mask whose bit k stands for round end − 1 − k, for another end.
    pub(super) fn mask_before(self, end: Round) -> u64 {
        let shifted = |by: u64, left: bool| match u32::try_from(by) {
            Ok(by) if left => self.mask.checked_shl(by).unwrap_or(0),
            Ok(by) => self.mask.checked_shr(by).unwrap_or(0),
            Err(_) => 0,
        };
        if end >= self.end {
            shifted(end.0 - self.end.0, true)
        } else {
            shifted(self.end.0 - end.0, false)
        }
    }

    /// The rounds of the set from `first` on and before `end`.
    pub(super) fn between(self, first: Round, end: Round) -> impl Iterator<Item = Round> {
        (first.0..end.0).map(Round).filter(move |&round| self.contains(round))
    }
}

impl Persist for RoundSet {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.end.0);
        fields.count(&mut self.mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_a_set_of_the_last_64_rounds() {
        let mut rounds = RoundSet::EMPTY;
        let mut set = BTreeSet::new();
        for step in [0_u64, 1, 5, 4, 63, 2, 64, 130, 70, 300, 299, 240, 230] {
            rounds.insert(Round(step));
            set.insert(step);
            let newest = *set.last().unwrap();
            for round in 0..400 {
                let known = set.contains(&round) && round + 64 > newest;
                assert_eq!(rounds.contains(Round(round)), known, "{round} after {step}");
            }
            for end in [Round(newest + 1), Round(newest + 9), Round(newest.saturating_sub(2))] {
                let same = RoundSet::new(end, rounds.mask_before(end));
                for round in 0..end.0 {
                    let known = rounds.contains(Round(round)) && round + 64 >= end.0;
                    assert_eq!(same.contains(Round(round)), known, "{round} before {end}");
                }
            }
        }
        assert_eq!(rounds.between(Round(230), Round(300)).count(), 2);
    }
}
