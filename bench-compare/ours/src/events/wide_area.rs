//! The network between learners: how long a message takes, and whether it arrives.

use super::Scenario;
use std::time::Duration;
use undertone::LearnerId;
use undertone_simulation::Dice;

/// Round trips between six regions in milliseconds, averages: Virginia, Oregon, Ireland, Tokyo, Singapore, São Paulo.
///
/// Source: "Latency Between AWS Global Regions", as tabulated at
/// acomputerscientistlearnsaws.blogspot.com/2017/04/aws-regions.html. Within a region: an assumption.
const ROUND_TRIP_MS: [[f64; 6]; 6] = [
    [10.0, 87.0, 80.6, 145.3, 216.7, 119.5],
    [87.0, 10.0, 137.0, 89.1, 161.4, 182.7],
    [80.6, 137.0, 10.0, 212.4, 239.0, 191.3],
    [145.3, 89.1, 212.4, 10.0, 73.8, 256.8],
    [216.7, 161.4, 239.0, 73.8, 10.0, 328.1],
    [119.5, 182.7, 191.3, 256.8, 328.1, 10.0],
];

/// From a learner's machine to its region and from there to the other: an assumption.
const ACCESS_MS: f64 = 10.0;

/// The overhead of every packet of a message, an assumption: the link's header (14), IP's (20),
/// TCP's with time stamps (32), and a TLS record (22). Acknowledgements are not counted.
pub(super) const PACKET_OVERHEAD_BYTES: usize = 88;
/// The payload of an Ethernet packet of 1500 bytes.
pub(super) const PACKET_BYTES: usize = 1426;

/// The size of a request without the overhead, an assumption.
pub(super) const REQUEST_BYTES: usize = 32;

/// All links and uplinks.
pub(super) struct WideArea {
    dice: Dice,
    jitter: f64,
    nanoseconds_per_byte: f64,
    region: Vec<u8>,
    /// When the uplink of each learner is free again.
    free_at: Vec<Duration>,
    /// Bytes that each learner has sent, in all.
    pub(super) bytes_sent: u64,
}

impl WideArea {
    pub(super) fn new(scenario: &Scenario) -> WideArea {
        let mut dice = Dice::new(scenario.seed ^ 0x1a7e);
        let regions = ROUND_TRIP_MS.len() as u64;
        let region = (0..scenario.learners).map(|_| (dice.bits() % regions) as u8).collect();
        WideArea {
            jitter: scenario.jitter,
            nanoseconds_per_byte: 8e9 / scenario.uplink_bits,
            region,
            free_at: vec![Duration::ZERO; scenario.learners],
            dice,
            bytes_sent: 0,
        }
    }

    /// Sends a message of this many bytes. Returns after how long it arrives, if it does. Lost messages take time on the
    /// uplink too, because they are lost after it.
    pub(super) fn send(
        &mut self,
        from: LearnerId,
        to: LearnerId,
        bytes: usize,
        loss: f64,
        now: Duration,
    ) -> Option<Duration> {
        let bytes = bytes + bytes.div_ceil(PACKET_BYTES) * PACKET_OVERHEAD_BYTES;
        self.bytes_sent += bytes as u64;
        let base = self.round_trip(from, to).as_nanos() as f64 / 2.0;
        let free_at = &mut self.free_at[from.0 as usize];
        let busy = (*free_at).max(now);
        let sent = busy + Duration::from_nanos((bytes as f64 * self.nanoseconds_per_byte) as u64);
        *free_at = sent;
        let on_the_way = Duration::from_nanos((base * (self.jitter * self.dice.normal()).exp()) as u64);
        (loss <= 0.0 || self.dice.positive_unit() > loss).then(|| sent + on_the_way - now)
    }

    /// The round trip, without jitter.
    pub(super) fn round_trip(&self, from: LearnerId, to: LearnerId) -> Duration {
        let [from, to] = [from, to].map(|learner| self.region[learner.0 as usize] as usize);
        Duration::from_nanos((1e6 * (ROUND_TRIP_MS[from][to] + 2.0 * ACCESS_MS)) as u64)
    }

    /// Forgets what the machine still had to send.
    pub(super) fn forget(&mut self, learner: LearnerId) {
        self.free_at[learner.0 as usize] = Duration::ZERO;
    }
}
