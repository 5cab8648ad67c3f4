//! The phase of a learner's round, and when the next step is due.

use super::settings::Settings;
use std::time::Duration;
use undertone::privacy::Refusal;
use undertone::{Round, Score};

/// What a round is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Records: this learner has not released yet.
    Gathering,
    /// Neighbours: this learner has released.
    Waiting,
}

/// How many neighbours were heard in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeardCount {
    /// How many neighbours were heard.
    pub(super) heard: usize,
    /// Whether an expected neighbour was not heard.
    pub(super) missing: bool,
    /// How many neighbours could be heard at all.
    pub(super) reachable: usize,
}

/// The current round: its phase, its deadlines, and whether there will be another.
pub(super) struct RoundState {
    settings: Settings,
    phase: Phase,
    /// When the phase began.
    since: Duration,
    /// When the node last checked what it could do.
    checked_at: Duration,
    /// How well the records of this round were predicted.
    score: Score,
    /// Why the accountant refuses another release.
    refusal: Option<Refusal>,
    /// Whether an error has stopped the node.
    halted: bool,
}

impl RoundState {
    /// How many rounds the owner wants to run; `None` runs on for ever.
    pub(super) fn rounds_to_run(&self) -> Option<u64> {
        (self.settings.end < Round::LIMIT).then_some(self.settings.end.0)
    }

    pub(super) fn new(settings: Settings) -> RoundState {
        RoundState {
            settings,
            phase: Phase::Gathering,
            since: Duration::ZERO,
            checked_at: Duration::ZERO,
            score: Score::default(),
            refusal: None,
            halted: false,
        }
    }

    /// How long a round waits for neighbours that are present.
    pub(super) fn deadline(&self) -> Duration {
        self.settings.deadline
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Enters a phase.
    pub(super) fn enter(&mut self, phase: Phase, now: Duration) {
        (self.phase, self.since) = (phase, now);
    }

    pub(super) fn score(&self) -> Score {
        self.score
    }

    pub(super) fn set_score(&mut self, score: Score) {
        self.score = score;
    }

    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Notes that the budget is spent.
    pub(super) fn set_refusal(&mut self, refusal: Refusal) {
        self.refusal = Some(refusal);
    }

    pub(super) fn is_halted(&self) -> bool {
        self.halted
    }

    /// Stops the node. After an error it is not known what was stored, so nothing more may be sent.
    pub(super) fn halt(&mut self) {
        self.halted = true;
    }

    pub(super) fn note_check(&mut self, now: Duration) {
        self.checked_at = now;
    }

    /// Whether a round is after the last.
    pub(super) fn is_past_end(&self, round: Round) -> bool {
        round >= self.settings.end
    }

    /// Whether the round has waited long enough for records.
    pub(super) fn records_overdue(&self, now: Duration) -> bool {
        now >= self.records_due()
    }

    /// When the round stops waiting for records.
    pub(super) fn records_due(&self) -> Duration {
        self.since + self.settings.records_wait
    }

    /// When a round that waits for neighbours is checked next, given when the next requests are due.
    ///
    /// After the deadline only a message or the next request can change anything.
    pub(super) fn neighbours_due(&self, request_at: Duration) -> Duration {
        let deadline = self.since + self.settings.deadline;
        if self.checked_at < deadline { request_at.min(deadline) } else { request_at }
    }

    /// Whether the round can end: enough neighbours were heard, and either all expected ones were
    /// or the deadline is over.
    pub(super) fn can_end(&self, heard: &HeardCount, now: Duration) -> bool {
        let over = now >= self.since + self.settings.deadline;
        self.heard_enough(heard) && (!heard.missing || over)
    }

    /// Whether too few neighbours were heard, two deadlines after the release.
    ///
    /// Neighbours that skipped this round have no release of it and never will.
    pub(super) fn timed_out_waiting(&self, heard: &HeardCount, now: Duration) -> bool {
        !self.heard_enough(heard) && now >= self.since + 2 * self.settings.deadline
    }

    fn heard_enough(&self, heard: &HeardCount) -> bool {
        heard.heard >= self.settings.heard_min.min(heard.reachable)
    }
}
