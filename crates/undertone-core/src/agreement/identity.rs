//! Which network an agreement describes: a hash of everything that its learners must share.

use super::Agreement;
use crate::encoding::Encoder;
use crate::privacy::UNIT;
use std::fmt;

/// The id of a network: a hash of the agreement that its learners share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkId([u8; 16]);

impl NetworkId {
    /// The id with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> NetworkId {
        NetworkId(bytes)
    }

    /// The sixteen bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 16] {
        self.0
    }
}

impl Agreement {
    /// The id of the network, given the noise scale ρ_0 of each learner.
    ///
    /// Learners whose agreements differ in anything that matters to other learners have different
    /// ids, and ignore each other's messages. An owner's own choices do not enter the id: a
    /// learner's cap, and the number of rounds it runs, which is not part of an agreement.
    #[must_use]
    pub fn network_id(&self, noise_scales: &[f64]) -> NetworkId {
        let Agreement {
            name,
            // Confirms that the authors accept unproven settings; it does not change what is
            // computed.
            unproven: _,
            graph,
            // Follows from the graph.
            spectrum: _,
            records,
            bounds,
            out_of_bounds,
            transform,
            model,
            neural,
            domain,
            start_spread,
            memory,
            schedule,
            noise_kind,
            noise_exponents,
            // Only the scales matter, not how they were found.
            noise_scale: _,
            // Each owner's own choice. If the noise is calibrated to the caps, other caps give
            // other noise scales.
            caps: _,
            delta,
            method,
        } = self;
        let mut encoder = Encoder::new("undertone network 2");
        encoder.text(name);
        encoder.add(graph);
        encoder.add(records);
        encoder.add(bounds);
        encoder.add(out_of_bounds);
        encoder.add(model);
        encoder.optional(neural.as_ref(), |encoder, spec| encoder.add(spec));
        encoder.add(domain);
        encoder.number(*start_spread);
        encoder.add(memory);
        encoder.add(schedule);
        encoder.add(noise_kind);
        encoder.numbers(noise_exponents);
        encoder.numbers(noise_scales);
        encoder.number(*delta);
        encoder.text(UNIT);
        encoder.add(method);
        // Nothing is added without one: ids of networks that transform nothing stay as they are.
        if let Some(transform) = transform {
            encoder.add(transform);
        }
        let digest = encoder.digest().bytes();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        NetworkId(id)
    }
}

impl fmt::Display for NetworkId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for NetworkId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NetworkId({self})")
    }
}
