//! Any input from a peer, a disk, a file or an owner is at worst an error, never a panic.
//!
//! Valid inputs are changed at random, in ways that keep them nearly valid. `UNDERTONE_FUZZ=1000000` sets how
//! many times; a failure prints its seed.

use crate::peer;
use crate::sockets::identity;
use crate::support::{record, settings, setup};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use undertone::agreement::RawAgreement;
use undertone::load::{Source, Strictness, load};
use undertone::{LearnerId, Memory as _, Round};
use undertone_node::intake::{Intake, objects};
use undertone_node::link::direct::frame::{Decoder, Frame};
use undertone_node::protocol::Node;
use undertone_node::store::Stored;
use undertone_node::wire::Wire;
use undertone_simulation::{Dice, Disk, MemoryStore, RepeatableEntropy};

fn executions() -> u64 {
    std::env::var("UNDERTONE_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000)
}

/// Runs a check on many inputs, each from its own seed.
fn fuzz(share: u64, check: impl Fn(&mut Dice)) {
    for seed in 0..(executions() / share).max(100) {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&mut Dice::new(seed))));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

/// Changes bytes here and there.
fn mutated(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let pick = |dice: &mut Dice, length: usize| -> usize {
        usize::try_from(dice.below(length.max(1) as u64)).unwrap()
    };
    let mut bytes = seeds[pick(dice, seeds.len())].clone();
    for _ in 0..=dice.below(6) {
        let place = pick(dice, bytes.len());
        match dice.below(9) {
            0 if !bytes.is_empty() => bytes[place] ^= 1 << dice.below(8),
            1 if !bytes.is_empty() => bytes[place] = dice.bits().to_le_bytes()[0],
            2 => bytes.truncate(place),
            3 => bytes.insert(place.min(bytes.len()), dice.bits().to_le_bytes()[0]),
            4 if !bytes.is_empty() => drop(bytes.remove(place)),
            5 => {
                // Extreme numbers.
                let extreme = [0, 1, u64::MAX, u64::MAX / 2, 1 << 53, 1 << 32, 0x7ff0 << 48];
                let number = extreme[pick(dice, extreme.len())].to_le_bytes();
                let end = (place + 8).min(bytes.len());
                bytes[place..end].copy_from_slice(&number[..end - place]);
            }
            6 => {
                let other = &seeds[pick(dice, seeds.len())];
                let cut = pick(dice, other.len());
                bytes.truncate(place);
                bytes.extend_from_slice(&other[cut..]);
            }
            7 => {
                let end = (place + 1 + pick(dice, 32)).min(bytes.len());
                let part = bytes[place.min(end)..end].to_vec();
                bytes.splice(place..place, part);
            }
            _ => {
                let words: [&[u8]; 9] = [
                    b"null",
                    b"[",
                    b"{",
                    b"-",
                    b"1e400",
                    b"\"",
                    b"NaN",
                    b"99999999999999999999",
                    b"\xff\xfe",
                ];
                let word = words[pick(dice, words.len())];
                bytes.splice(place..place, word.iter().copied());
            }
        }
    }
    bytes
}

/// Runs some rounds of three learners. Returns the store of the first, and everything that was sent.
fn some_rounds(method: &str) -> (Arc<undertone_models::Setup>, Stored, Vec<Vec<u8>>) {
    let setup = setup(3, method, "");
    let entropy = || RepeatableEntropy::counting(9);
    let stores: Vec<MemoryStore> = (0..3).map(|_| MemoryStore::default()).collect();
    let mut nodes: Vec<_> = (0..3)
        .map(|id| {
            let store = stores[id as usize].clone();
            Node::open(Arc::clone(&setup), LearnerId(id), settings(1000), entropy(), store).unwrap()
        })
        .collect();
    let mut dice = Dice::new(77);
    let (mut sent, mut open) = (Vec::new(), Vec::new());
    for round in 0..12_u64 {
        let now = Duration::from_secs(round);
        for (place, node) in nodes.iter_mut().enumerate() {
            node.accept_records((0..5).map(|_| record(&mut dice)).collect(), None).unwrap();
            for action in node.tick(now).unwrap() {
                if let undertone_node::protocol::Action::Publish(release) = action {
                    open.push((place, release));
                }
            }
        }
        for (from, release) in std::mem::take(&mut open) {
            sent.push(release.bytes().to_vec());
            for (place, node) in nodes.iter_mut().enumerate().filter(|(place, _)| *place != from) {
                let from = LearnerId(u32::try_from(from).unwrap());
                for action in node.receive(from, release.bytes(), now).unwrap() {
                    if let undertone_node::protocol::Action::Publish(release) = action {
                        open.push((place, release));
                    }
                }
            }
        }
    }
    let stored = stores[0].0.borrow().stored.clone();
    assert!(stored.snapshot.is_some() && nodes[0].learner().memory().records() > 20);
    (setup, stored, sent)
}

#[test]
fn what_a_peer_sends() {
    for method in ["algorithm1", "shielded"] {
        let (setup, _, sent) = some_rounds(method);
        let wire = Wire::new(setup);
        fuzz(1, |dice| {
            let mut bytes = mutated(dice, &sent);
            if dice.below(4) > 0 && bytes.len() > 4 {
                // Only with a correct checksum is the rest checked.
                let end = bytes.len() - 4;
                let checksum = crc32fast::hash(&bytes[..end]).to_le_bytes();
                bytes[end..].copy_from_slice(&checksum);
            }
            for from in 0..3 {
                if let Ok(release) = wire.decode(LearnerId(from), &bytes[..]) {
                    assert_eq!(release.learner(), LearnerId(from));
                    assert!(release.round() < Round::LIMIT);
                    assert!(release.values().iter().all(|value| value.is_finite()));
                }
            }
        });
    }
}

#[test]
fn what_a_connection_brings() {
    let identity = identity(&setup(5, "algorithm1", ""), 0);
    let size = identity.message_bytes;
    let mut sent = peer::hello(&identity, 1);
    sent.extend_from_slice(&peer::release(&vec![7; size]));
    sent.extend_from_slice(&[2, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    sent.extend_from_slice(&[4, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
    let decode = |bytes: &[u8], piece: usize| {
        let (mut decoder, mut frames) = (Decoder::new(size), Vec::new());
        let error =
            bytes.chunks(piece.max(1)).find_map(|part| decoder.take(part, &mut frames).err());
        (frames, error.map(|error| error.to_string()))
    };
    assert_eq!(decode(&sent, 1000).0.len(), 5, "all frames are decoded");
    fuzz(1, |dice| {
        let bytes = mutated(dice, std::slice::from_ref(&sent));
        let (frames, error) = decode(&bytes, bytes.len());
        for (index, frame) in frames.iter().enumerate() {
            assert_eq!(
                matches!(frame, Frame::Hello(_)),
                index == 0,
                "the first frame is a hello, and no other is"
            );
            if let Frame::Release(body) = frame {
                // No more memory is allocated than for one message.
                assert!(body.len() <= size && body.capacity() <= size);
            }
        }
        // The pieces it arrives in make no difference.
        let piece = usize::try_from(1 + dice.below(40)).unwrap();
        assert_eq!(decode(&bytes, piece), (frames, error));
    });
}

#[test]
fn what_a_store_holds() {
    for method in ["algorithm1", "shielded"] {
        let (setup, stored, _) = some_rounds(method);
        let snapshots = vec![stored.snapshot.clone().unwrap()];
        fuzz(20, |dice| {
            let mut changed = stored.clone();
            let entries = changed.entries.len() as u64;
            if entries == 0 || dice.below(2) == 0 {
                changed.snapshot = Some(mutated(dice, &snapshots));
            } else {
                let place = usize::try_from(dice.below(entries)).unwrap();
                changed.entries[place] = mutated(dice, &stored.entries);
            }
            let disk = Disk { stored: changed, ..Disk::default() };
            let store = MemoryStore(Rc::new(RefCell::new(disk)));
            let entropy = RepeatableEntropy::counting(9);
            let _ = Node::open(Arc::clone(&setup), LearnerId(0), settings(1000), entropy, store);
        });
    }
}

#[test]
fn what_an_owner_posts() {
    let intake = Intake::new(setup(5, "algorithm1", ""));
    let seeds: Vec<Vec<u8>> = [
        "{\"features\": [0.1, 0, 0.25, -1e-3, 0], \"label\": 1}",
        "[{\"features\": {\"indices\": [0, 4], \"values\": [0.5, 1e-9]}, \"label\": \"a\"}, {}]",
        "{\"features\": [0.1, 0, 0, 0, 0], \"label\": 0}\n{\"label\": 1, \"features\": []}\n\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    fuzz(1, |dice| {
        let bytes = mutated(dice, &seeds);
        let Ok(text) = std::str::from_utf8(&bytes) else { return };
        for record in intake.lines(text).into_iter().flatten() {
            assert!(record.features().is_finite() && record.features().norm() <= 1.0);
        }
        for object in objects(text).into_iter().flatten() {
            let _ = intake.unlabelled(object);
            let _ = intake.record(object);
        }
    });
}

#[test]
fn what_a_config_says() {
    let starters = ["mushrooms", "shielded-mushrooms", "shielded-mnist"];
    let seeds: Vec<Vec<u8>> = starters
        .map(|name| {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../undertone-lab/presets");
            std::fs::read(format!("{folder}/{name}.toml")).unwrap()
        })
        .to_vec();
    fuzz(10, |dice| {
        let bytes = mutated(dice, &seeds);
        let Ok(text) = std::str::from_utf8(&bytes) else { return };
        let source = Source::Text { origin: "the test".into(), text: text.into() };
        let _ = load(&source, |_: &mut RawAgreement| (), Strictness::Run);
    });
}
