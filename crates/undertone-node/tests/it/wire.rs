//! The wire format: decoding inverts encoding, and everything else is rejected.

use crate::support::{FEATURES, setup};
use std::sync::Arc;
use undertone::{LearnerId, Release, Round};
use undertone_models::Setup;
use undertone_node::wire::{Rejection, Wire};
use undertone_simulation::{Dice, RepeatableEntropy};

/// A release of a learner that has no records, in the given round.
fn release(setup: &Setup, learner: u32, round: u64) -> Release {
    let mut learner = setup.learner(LearnerId(learner)).unwrap();
    learner.skip_to(Round(round));
    learner.release(&mut RepeatableEntropy::counting(3)).unwrap()
}

/// The bytes with a correct checksum.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..end]).to_le_bytes();
    bytes[end..].copy_from_slice(&checksum);
    bytes
}

#[test]
fn decoding_inverts_encoding_bit_for_bit() {
    for method in ["algorithm1", "shielded"] {
        let setup = setup(5, method, "");
        let wire = Wire::new(Arc::clone(&setup));
        for round in [0, 1, 77, 1_000_000] {
            let release = release(&setup, 2, round);
            let encoded = wire.encode(&release, &[5, u64::MAX]);
            assert_eq!(encoded.bytes().len(), wire.message_bytes());
            let received = wire.decode(LearnerId(2), encoded.bytes()).unwrap();
            assert_eq!((received.learner(), received.round()), (LearnerId(2), Round(round)));
            assert_eq!(received.used(), [5, u64::MAX]);
            let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let expected: Vec<f64> = release.values().iter().map(|x| x + 0.0).collect();
            assert_eq!(bits(received.values()), bits(&expected), "{method}, round {round}");
        }
    }
}

#[test]
fn every_changed_byte_is_noticed() {
    let setup = setup(5, "algorithm1", "");
    let wire = Wire::new(Arc::clone(&setup));
    let bytes = wire.encode(&release(&setup, 2, 3), &[1, 2]).bytes().to_vec();
    for index in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[index] ^= flip;
            assert!(wire.decode(LearnerId(2), &changed[..]).is_err(), "byte {index}");
        }
    }
    for length in 0..2 * bytes.len() {
        let mut changed = bytes.clone();
        changed.resize(length, 0);
        let found = wire.decode(LearnerId(2), &changed[..]);
        assert_eq!(found.is_ok(), length == bytes.len(), "{length} bytes");
    }
}

#[test]
fn each_rejection_names_its_reason() {
    let ours = setup(5, "algorithm1", "");
    let wire = Wire::new(Arc::clone(&ours));
    let bytes = wire.encode(&release(&ours, 2, 3), &[1, 2]).bytes().to_vec();
    let reject = |from, bytes: &[u8]| wire.decode(LearnerId(from), bytes).unwrap_err();
    assert_eq!(reject(1, &bytes), Rejection::Sender);
    assert_eq!(reject(77, &bytes), Rejection::Sender);
    let change = |place: usize, with: &[u8]| {
        let mut changed = bytes.clone();
        changed[place..place + with.len()].copy_from_slice(with);
        with_checksum(changed)
    };
    assert_eq!(reject(2, &change(4, &[2])), Rejection::Format);
    assert_eq!(reject(2, &change(28, &[4])), Rejection::Dimension);
    assert_eq!(reject(2, &change(32, &[0xff; 8])), Rejection::Round);
    let values = bytes.len() - 4 - 8 * FEATURES;
    for steps in [i64::MAX, i64::MIN, 1 << 53, -(1 << 40)] {
        assert_eq!(reject(2, &change(values, &steps.to_le_bytes())), Rejection::Value);
    }
    let other = setup(5, "algorithm1", "unproven = true");
    let theirs = Wire::new(Arc::clone(&other));
    assert_eq!(
        theirs.network(),
        wire.network(),
        "settings that do not matter to others are not part of the id"
    );
    let other = setup(6, "algorithm1", "");
    let theirs = Wire::new(Arc::clone(&other)).encode(&release(&other, 2, 3), &[1, 2]);
    assert_eq!(reject(2, theirs.bytes()), Rejection::Network);
}

#[test]
fn random_bytes_of_the_right_size_are_never_accepted() {
    let setup = setup(5, "algorithm1", "");
    let wire = Wire::new(Arc::clone(&setup));
    let header = wire.encode(&release(&setup, 2, 3), &[0, 0]).bytes()[..32].to_vec();
    let mut dice = Dice::new(5);
    let mut found = std::collections::BTreeMap::<String, u32>::new();
    for _ in 0..100_000 {
        // A valid header and checksum, and sometimes a valid round: only the values are random.
        let mut bytes: Vec<u8> = (0..wire.message_bytes()).map(|_| dice.bits() as u8).collect();
        bytes[..32].copy_from_slice(&header);
        if dice.below(2) == 0 {
            bytes[36..40].fill(0);
        }
        assert_eq!(wire.decode(LearnerId(2), &bytes[..]), Err(Rejection::Checksum));
        let rejection = wire.decode(LearnerId(2), with_checksum(bytes)).unwrap_err();
        *found.entry(format!("{rejection:?}")).or_default() += 1;
    }
    assert!(found["Round"] > 40_000 && found["Value"] > 40_000, "{found:?}");
}
