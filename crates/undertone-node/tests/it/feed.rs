//! Records from readers and files: none is lost, none is accepted twice, and bad ones are reported.

use crate::support::{record, settings, setup};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use undertone::LearnerId;
use undertone_models::BoundedRecord;
use undertone_node::daemon::{Accepted, Event};
use undertone_node::feed::Feeder;
use undertone_node::intake::Intake;
use undertone_node::mailbox::mailbox;
use undertone_node::protocol::{AcceptError, Node};
use undertone_node::store::Position;
use undertone_simulation::{Dice, MemoryStore, RepeatableEntropy};

type AcceptedBatch = (Vec<BoundedRecord>, Option<Position>);

/// Lines that were refused, with the reasons.
type RefusedLines = Arc<Mutex<Vec<(u64, String)>>>;

/// A learner that reports to be full at every third batch, and the batches it accepted.
fn accepting_learner() -> (Feeder, Receiver<AcceptedBatch>, RefusedLines) {
    let (learner, events) = mailbox(10);
    let (sender, accepted_batches): (Sender<AcceptedBatch>, _) = channel();
    thread::spawn(move || {
        let mut batches = 0;
        while let Ok(event) = events.recv() {
            let Event::Records { records, position, answer } = event else { continue };
            batches += 1;
            if batches % 3 == 0 {
                let _ = answer.send(Err(AcceptError::Full { waiting: 9, room: 0 }));
                continue;
            }
            let count = records.len();
            if sender.send((records, position)).is_err() {
                return; // Drops the queue: the learner has stopped.
            }
            let _ = answer.send(Ok(Accepted { count, waiting: 0 }));
        }
    });
    let refused = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&refused);
    let feeder = Feeder::new(
        learner,
        Box::new(move |one| note.lock().unwrap().push((one.line, one.reason.clone()))),
    );
    (feeder, accepted_batches, refused)
}

fn lines(from: u32, count: u32) -> String {
    let mut text = String::new();
    for number in from..from + count {
        let value = f64::from(number) / 1e6;
        text += &format!("{{\"features\": [{value}, 0, 0, 0, 0], \"label\": 1}}\n");
    }
    text
}

fn numbers(records: &[BoundedRecord]) -> Vec<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
    records.iter().map(|one| (one.features().norm() * 1e6).round() as u64).collect()
}

fn intake() -> Intake {
    Intake::new(setup(5, "algorithm1", ""))
}

#[test]
fn all_good_lines_of_a_reader_are_accepted_once_and_bad_ones_are_reported() {
    let (feeder, accepted, refused) = accepting_learner();
    let mut text = lines(1, 150);
    text += "{\"features\": [1], \"label\": 1}\n\nnothing\n";
    text += &"x".repeat(17 << 20);
    text.push('\n');
    text += lines(151, 50).trim_end(); // The end of the last line is missing.
    feeder.lines("stdin", text.as_bytes(), &intake()).unwrap();
    drop(feeder);
    let all: Vec<BoundedRecord> = accepted.iter().flat_map(|(records, _)| records).collect();
    assert_eq!(numbers(&all), (1..=200).collect::<Vec<u64>>());
    let refused = refused.lock().unwrap();
    let reported: Vec<u64> = refused.iter().map(|(line, _)| *line).collect();
    assert_eq!(reported, [151, 153, 154], "{refused:?}");
    assert!(refused[0].1.contains("1 features") && refused[2].1.contains("longer"));
}

/// Follows a file until `wanted` records were accepted. Returns them and the last position.
fn follow(
    path: &std::path::Path,
    positions: &BTreeMap<String, u64>,
    wanted: usize,
    mut meanwhile: impl FnMut(usize),
) -> (Vec<u64>, Position) {
    let (feeder, accepted, _) = accepting_learner();
    let (path, positions) = (path.to_path_buf(), positions.clone());
    thread::spawn(move || feeder.follow(&path, &intake(), &positions));
    let (mut all, mut last) = (Vec::new(), None);
    let begin = Instant::now();
    while all.len() < wanted {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} records", all.len());
        if let Ok((records, position)) = accepted.recv_timeout(Duration::from_millis(100)) {
            all.extend(numbers(&records));
            last = position.or(last);
        }
        meanwhile(all.len());
    }
    (all, last.unwrap())
}

#[test]
fn a_file_is_followed_as_it_grows_is_replaced_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.ndjson");
    fs::write(&path, lines(1, 10)).unwrap();
    let mut step = 0;
    let (all, last) = follow(&path, &BTreeMap::new(), 30, |count| {
        let append = |text: &str| {
            File::options().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        };
        match (step, count) {
            (0, 10) => {
                // A line is read once its end is written.
                let whole = lines(11, 10);
                append(&whole[..whole.len() - 5]);
                thread::sleep(Duration::from_millis(200));
                append(&whole[whole.len() - 5..]);
                step = 1;
            }
            (1, 20) => {
                // As in log rotation: the last lines are in the old file, without a final line end.
                append(lines(21, 3).trim_end());
                fs::rename(&path, folder.path().join("old")).unwrap();
                fs::write(&path, lines(24, 7)).unwrap();
                step = 2;
            }
            _ => {}
        }
    });
    assert_eq!(all, (1..=30).collect::<Vec<u64>>());
    assert_eq!(last.reached, fs::metadata(&path).unwrap().len());
    // After a restart reading continues there.
    File::options().append(true).open(&path).unwrap().write_all(lines(31, 5).as_bytes()).unwrap();
    let positions = BTreeMap::from([(last.source, last.reached)]);
    let (all, _) = follow(&path, &positions, 5, |_| ());
    assert_eq!(all, [31, 32, 33, 34, 35]);
    // A file that became shorter is read from its beginning.
    fs::write(&path, lines(36, 2)).unwrap();
    let (all, _) = follow(&path, &positions, 2, |_| ());
    assert_eq!(all, [36, 37]);
}

#[test]
fn a_replay_continues_at_its_position_and_keeps_to_the_rate() {
    let (feeder, accepted, _) = accepting_learner();
    let mut dice = Dice::new(4);
    let begin = Instant::now();
    feeder.replay("replay", 100, Some(100.0), (0..30).map(|_| record(&mut dice)));
    assert!(begin.elapsed() >= Duration::from_millis(290), "thirty records at 100 a second");
    drop(feeder);
    let all: Vec<AcceptedBatch> = accepted.iter().collect();
    assert_eq!(all.iter().map(|(records, _)| records.len()).sum::<usize>(), 30);
    let last = all.last().and_then(|(_, position)| position.clone()).unwrap();
    assert_eq!(last, Position { source: "replay".into(), reached: 130 });
}

#[test]
fn the_position_of_a_source_is_stored_with_its_records() {
    let (setup, store) = (setup(5, "algorithm1", ""), MemoryStore::default());
    let entropy = RepeatableEntropy::counting(1);
    let open = |store: &MemoryStore| {
        let (entropy, store) = (entropy.clone(), store.clone());
        Node::open(Arc::clone(&setup), LearnerId(0), settings(10), entropy, store).unwrap()
    };
    let mut node = open(&store);
    let mut dice = Dice::new(5);
    let position = |reached| Some(Position { source: "file".into(), reached });
    node.accept_records(vec![record(&mut dice)], position(1)).unwrap();
    store.0.borrow_mut().fails_after = Some((0, false));
    assert!(node.accept_records(vec![record(&mut dice)], position(2)).is_err());
    let node = open(&store);
    assert_eq!((node.waiting_records(), node.positions()["file"]), (1, 1), "both or neither");
}
