//! The log of a learner: one JSON object a line, without values of records, losses or parameters.

use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// One line.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Line {
    /// The learner runs.
    Started { learner: u32, network: String, round: u64, http: Option<String> },
    /// A round has ended.
    Round { learner: u32, round: u64, heard: usize, missing: usize, records: u64, epsilon: f64 },
    /// Neighbours were not heard for a while after the start.
    Unheard { learner: u32, neighbours: Vec<u32>, hint: String },
    /// A neighbour sent two different releases of one round and is ignored from now on.
    CutOff { learner: u32, neighbour: u32 },
    /// A neighbour says that it is far ahead. No other neighbour confirms it, so it is not followed yet.
    NotFollowed { learner: u32, neighbour: u32, round: u64, claimed: u64, hint: String },
    /// A record was not taken.
    Refused { source: String, line: u64, reason: String },
    /// A source of records has ended.
    SourceEnded { source: String, error: Option<String> },
    /// The learner has ended.
    Ended { learner: u32, how: String, round: u64, records: u64, epsilon: f64 },
}

#[derive(Serialize)]
struct Timed<'a> {
    /// Seconds since 1970.
    time: f64,
    #[serde(flatten)]
    line: &'a Line,
}

/// Writes a line. A failed write is ignored: the learner continues.
pub(crate) fn log(line: &Line) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = (time.as_secs_f64() * 1e3).round() / 1e3;
    let mut out = io::stdout().lock();
    if let Ok(text) = serde_json::to_string(&Timed { time, line }) {
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }
}
