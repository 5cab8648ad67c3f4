//! Which network an agreement describes: a hash of everything that its learners must share.

use super::Agreement;
use crate::encoding::Encoder;
use crate::privacy::UNIT;
use std::fmt;

/// Tells one network from all others: a hash of the agreement that its learners share.
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
    /// Learners whose agreements differ in anything that matters to the others have different ids, and do
    /// not talk to each other. What is an owner's own choice does not enter: a learner's cap here, and how
    /// many rounds it runs, which no agreement says.
    #[must_use]
    pub fn network_id(&self, noise_scales: &[f64]) -> NetworkId {
        let Agreement {
            name,
            // Says that its authors know what they do; it changes nothing that is computed.
            unproven: _,
            graph,
            // Follows from the graph.
            spectrum: _,
            records,
            bounds,
            out_of_bounds,
            model,
            neural,
            domain,
            start_spread,
            memory,
            schedule,
            noise_kind,
            noise_exponents,
            // How the scales were found does not matter, only what they are.
            noise_scale: _,
            // Each owner's own choice. Where the noise is calibrated to it, the noise scales differ.
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
