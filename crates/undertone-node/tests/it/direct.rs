//! Direct links under stress: large messages both ways, strangers, neighbours that fall silent, do not read, or come back.

use crate::peer::{
    PATIENCE, PING, Stream, Victim, call, hello, is_heard, is_over, release, speaker,
    wait_until_over,
};
use crate::sockets::{Way, certified, five_learners_by, identity, ports};
use crate::support::{Fixed, setup, wide_setup};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use undertone::{LearnerId, Round};
use undertone_models::{Features, Record, Setup};
use undertone_node::certificates::{self, Holder};
use undertone_node::link::{Addresses, Certificates, Incoming, Link, Security};
use undertone_node::wire::{OwnRelease, Wire};

/// One end of a link, and what comes in there.
struct End {
    link: Link,
    heard: Receiver<Incoming>,
}

/// Learner 0 calls learner 1.
fn open(setup: &Arc<Setup>, id: u32, ports: &[u16], folder: Option<&Path>) -> End {
    let address = |id: usize| format!("127.0.0.1:{}", ports[id]);
    let calls = if id == 0 { vec![(LearnerId(1), address(1))] } else { Vec::new() };
    let addresses = Addresses::Direct { listen: address(id as usize), calls };
    let security = folder.map_or(Security::Loopback, |folder| {
        Security::MutualTls(certificates::files(folder, Holder::Learner(LearnerId(id))))
    });
    let (sender, heard) = channel();
    let sender = Mutex::new(sender);
    let deliver = Arc::new(move |incoming| {
        let _ = sender.lock().unwrap().send(incoming);
    });
    let link = Link::open(&identity(setup, id), &addresses, &security, deliver).unwrap();
    End { link, heard }
}

/// Asks until somebody is asked: then there is a connection.
fn meet(asking: &End, asked: &End) {
    loop {
        asking.link.ask(LearnerId(1), Round(7));
        let next = asked.heard.recv_timeout(Duration::from_millis(50));
        if let Ok(Incoming::Asked { by, round, .. }) = next {
            assert_eq!((by, round), (LearnerId(0), Round(7)));
            break;
        }
    }
}

/// The bytes that come next from somebody, whatever is asked meanwhile.
fn next_release(end: &End) -> Vec<u8> {
    loop {
        match end.heard.recv_timeout(PATIENCE).expect("something is heard") {
            Incoming::Heard { bytes, .. } => return bytes,
            Incoming::Came { .. } | Incoming::Asked { .. } => {}
            Incoming::Left(_) => panic!("nobody has left"),
        }
    }
}

/// The first releases of a learner.
fn releases(setup: &Arc<Setup>, id: u32, count: usize) -> Vec<OwnRelease> {
    let wire = Wire::new(Arc::clone(setup));
    let mut learner = setup.learner(LearnerId(id)).unwrap();
    let dimension = u32::try_from(setup.agreement.model.features).unwrap();
    (0..count)
        .map(|_| {
            let features =
                Features::Sparse { dimension, indices: [1].into(), values: [0.5].into() };
            learner.observe(&[Record { features, label: 1.0 }]).unwrap();
            let release = learner.release(&mut { Fixed }).unwrap();
            learner.absorb(&[]);
            wire.encode(&release, &[])
        })
        .collect()
}

/// Messages of four megabytes.
fn large() -> Arc<Setup> {
    wide_setup(5, 500_000)
}

#[test]
fn two_who_send_each_other_megabytes_at_once_do_not_wait_for_each_other() {
    let (setup, folder) = (large(), certified());
    for folder in [None, Some(folder.path())] {
        let ports = ports(2);
        let ends = [0, 1].map(|id| open(&setup, id, &ports, folder));
        meet(&ends[0], &ends[1]);
        let said = [0, 1].map(|id| releases(&setup, id, 9));
        thread::scope(|scope| {
            let talks = ends.into_iter().enumerate().map(|(own, end)| {
                let said = &said;
                scope.spawn(move || {
                    for (says, hears) in said[own].chunks(3).zip(said[1 - own].chunks(3)) {
                        // More than the system holds in either direction, before anything is read.
                        says.iter().for_each(|release| end.link.publish(release));
                        for expected in hears {
                            assert!(next_release(&end) == expected.bytes(), "whole and in order");
                        }
                    }
                    // Not closed before the other has heard all.
                    end
                })
            });
            let talks: Vec<_> = talks.collect();
            let ends: Vec<End> = talks.into_iter().map(|talk| talk.join().unwrap()).collect();
            drop(ends);
        });
    }
}

#[test]
fn a_neighbour_that_does_not_read_stops_nobody_and_gets_the_newest_when_it_does() {
    let setup = large();
    let port = ports(2);
    let end = open(&setup, 1, &port, None);
    let mut deaf = TcpStream::connect(("127.0.0.1", port[1])).unwrap();
    deaf.write_all(&hello(&identity(&setup, 0), 0)).unwrap();
    deaf.write_all(&release(b"here")).unwrap();
    assert_eq!(next_release(&end), b"here");
    let said = releases(&setup, 1, 24);
    let (sender, published) = channel();
    let link = Arc::new(end.link);
    thread::spawn({
        let (link, said) = (Arc::clone(&link), said.clone());
        move || {
            said.iter().for_each(|release| link.publish(release));
            let _ = sender.send(());
        }
    });
    published.recv_timeout(PATIENCE).expect("nobody waits for one that does not read");
    deaf.write_all(&PING).unwrap();
    // It reads at last: whole messages, newer and newer, and the newest.
    let mut places = Vec::new();
    while places.last() != Some(&(said.len() - 1)) {
        let body = read_frame(&mut deaf, 1);
        places.push(said.iter().position(|one| one.bytes() == body).expect("one that was sent"));
        deaf.write_all(&PING).unwrap();
    }
    assert!(places.is_sorted_by(|a, b| a < b), "in order: {places:?}");
    assert!(places.len() < said.len(), "old ones made room: {places:?}");
}

/// The body of the next frame of a kind.
fn read_frame(socket: &mut TcpStream, kind: u8) -> Vec<u8> {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    loop {
        let mut header = [0; 5];
        socket.read_exact(&mut header).unwrap();
        let [found, length @ ..] = header;
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        socket.read_exact(&mut body).unwrap();
        if found == kind {
            return body;
        }
    }
}

/// Connects as a neighbour, with certificates if there are any.
fn connect(victim: &Victim, folder: Option<&Path>, id: u32) -> Box<dyn Stream> {
    match folder {
        Some(folder) => {
            let files: Certificates = certificates::files(folder, Holder::Learner(LearnerId(id)));
            call(&victim.address, &files, true)
        }
        None => Box::new(TcpStream::connect(&victim.address).unwrap()),
    }
}

#[test]
fn strangers_who_say_nothing_or_nonsense_hurt_nobody() {
    let folder = certified();
    for folder in [None, Some(folder.path())] {
        let victim = Victim::listening(folder);
        let mut neighbour = connect(&victim, folder, 1);
        assert!(is_heard(&victim, &mut *neighbour, 1), "a neighbour is there");

        // More than may be at the door: they make room for each other, and for neighbours.
        let mut silent: Vec<_> =
            (0..200).map(|_| TcpStream::connect(&victim.address).unwrap()).collect();
        wait_until_over(&mut silent[0]);
        let nonsense: [&[u8]; 4] = [&[0; 64], &[255; 4096], b"GET / HTTP/1.1\r\n\r\n", &[22, 3, 1]];
        for bytes in nonsense {
            let mut stranger = TcpStream::connect(&victim.address).unwrap();
            let _ = stranger.write_all(bytes);
            let _ = stranger.shutdown(Shutdown::Write);
            wait_until_over(&mut stranger);
        }
        // A neighbour may talk nonsense too, once it is let in.
        let size = u32::try_from(victim.identity.message_bytes).unwrap();
        for (kind, length) in [(1, size + 1), (1, u32::MAX), (2, 9), (3, 1), (0, 28), (9, 0)] {
            let mut liar = connect(&victim, folder, 4);
            let mut said = hello(&victim.identity, 4);
            said.push(kind);
            said.extend_from_slice(&length.to_le_bytes());
            liar.write_all(&said).unwrap();
            wait_until_over(&mut *liar);
        }
        let mut half = connect(&victim, folder, 4);
        half.write_all(&hello(&victim.identity, 4)).unwrap();
        half.write_all(&release(b"this is cut short")[..10]).unwrap();
        half.flush().unwrap();

        neighbour.write_all(&release(b"still here")).unwrap();
        neighbour.flush().unwrap();
        assert_eq!(victim.hears_next(), LearnerId(1), "who was there goes on");
        // One connection of a neighbour takes the place of another, and of its half a message.
        let mut again = connect(&victim, folder, 4);
        assert!(is_heard(&victim, &mut *again, 4), "and who comes is let in");
        wait_until_over(&mut *half);
        drop(silent);
    }
}

#[test]
fn without_certificates_only_neighbours_of_the_network_are_heard() {
    let victim = Victim::listening(None);
    let mut stream = TcpStream::connect(&victim.address).unwrap();
    assert!(is_heard(&victim, &mut stream, 4), "a neighbour is heard");
    for stranger in [0, 2, 7, u32::MAX] {
        let mut stream = TcpStream::connect(&victim.address).unwrap();
        assert!(!is_heard(&victim, &mut stream, stranger), "{stranger} is none");
    }
    // The same ring with other rules is another network.
    let other = identity(&setup(5, "shielded", ""), 0);
    let mut stream = TcpStream::connect(&victim.address).unwrap();
    stream.write_all(&hello(&other, 1)).unwrap();
    wait_until_over(&mut stream);
}

#[test]
fn a_neighbour_that_falls_silent_is_given_up_and_one_that_pings_is_not() {
    let victim = Victim::listening(None);
    let [mut silent, mut there] = [(); 2].map(|()| TcpStream::connect(&victim.address).unwrap());
    assert!(is_heard(&victim, &mut silent, 1) && is_heard(&victim, &mut there, 4));
    while !is_over(&mut silent) {
        there.write_all(&PING).unwrap();
    }
    assert!(
        is_heard(&victim, &mut TcpStream::connect(&victim.address).unwrap(), 1),
        "it may return"
    );
    there.write_all(&release(b"still here")).unwrap();
    assert_eq!(victim.hears_next(), LearnerId(4));
}

#[test]
fn a_learner_that_is_started_again_is_found_again() {
    let (setup, folder, ports) = (setup(5, "algorithm1", ""), certified(), ports(2));
    let folder = Some(folder.path());
    let mut ends = [0, 1].map(|id| open(&setup, id, &ports, folder));
    meet(&ends[0], &ends[1]);
    for again in [1, 0, 1] {
        let [caller, called] = ends;
        ends = if again == 0 {
            // Its port is free as soon as it is closed.
            caller.link.close();
            [open(&setup, 0, &ports, folder), called]
        } else {
            called.link.close();
            [caller, open(&setup, 1, &ports, folder)]
        };
        meet(&ends[0], &ends[1]);
    }
}

#[test]
fn a_neighbour_that_connects_again_and_again_has_one_reader() {
    let (setup, port) = (setup(5, "algorithm1", ""), ports(2));
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(Mutex::new(()));
    let (sender, heard) = channel();
    let sender = Mutex::new(sender);
    let deliver = {
        let (inside, most, gate) = (Arc::clone(&inside), Arc::clone(&most), Arc::clone(&gate));
        Arc::new(move |incoming| {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            drop(gate.lock().unwrap());
            inside.fetch_sub(1, Ordering::SeqCst);
            let _ = sender.lock().unwrap().send(incoming);
        })
    };
    let listen = format!("127.0.0.1:{}", port[1]);
    let addresses = Addresses::Direct { listen: listen.clone(), calls: Vec::new() };
    let own = identity(&setup, 1);
    let _link = Link::open(&own, &addresses, &Security::Loopback, deliver).unwrap();
    // The learner computes, and takes nothing.
    let computing = gate.lock().unwrap();
    let mut said = hello(&identity(&setup, 0), 0);
    for round in 0..1000_u64 {
        said.extend_from_slice(&[2, 8, 0, 0, 0]);
        said.extend_from_slice(&round.to_le_bytes());
    }
    let mut before: Option<TcpStream> = None;
    for _ in 0..200 {
        let mut socket = TcpStream::connect(&listen).unwrap();
        socket.write_all(&said).unwrap();
        read_frame(&mut socket, 0);
        if let Some(mut before) = before.replace(socket) {
            wait_until_over(&mut before);
        }
    }
    let mut last = before.unwrap();
    last.write_all(&release(b"last")).unwrap();
    drop(computing);
    // Of those that were sent away at most what was on its way is delivered.
    let (mut asked, mut came) = (0, 0);
    loop {
        match heard.recv_timeout(PATIENCE).unwrap() {
            Incoming::Asked { .. } => asked += 1,
            Incoming::Came { .. } => came += 1,
            Incoming::Heard { bytes, .. } => break assert_eq!(bytes, b"last"),
            Incoming::Left(_) => panic!("nobody has left"),
        }
    }
    assert_eq!(most.load(Ordering::SeqCst), 1, "one reader at a time");
    assert!(came <= 2 && asked <= 1001, "{came} connections and {asked} questions");
}

#[test]
fn both_are_told_when_a_connection_comes_up_and_can_answer_it() {
    let (setup, folder, ports) = (setup(5, "algorithm1", ""), certified(), ports(2));
    let ends = [0, 1].map(|id| open(&setup, id, &ports, Some(folder.path())));
    let said = [0, 1].map(|id| releases(&setup, id, 1).remove(0));
    for (own, end) in ends.iter().enumerate() {
        match end.heard.recv_timeout(PATIENCE).unwrap() {
            Incoming::Came { who, answer } => {
                assert_eq!(who.0 as usize, 1 - own);
                answer.send(&said[own]);
            }
            _ => panic!("nothing is said before"),
        }
    }
    for (own, end) in ends.iter().enumerate() {
        assert!(next_release(end) == said[1 - own].bytes());
    }
}

#[test]
fn a_farewell_and_an_answer_arrive() {
    let (setup, folder, ports) = (setup(5, "algorithm1", ""), certified(), ports(2));
    let ends = [0, 1].map(|id| open(&setup, id, &ports, Some(folder.path())));
    meet(&ends[0], &ends[1]);
    let wanted = releases(&setup, 1, 1).remove(0);
    ends[0].link.ask(LearnerId(1), Round(3));
    loop {
        if let Incoming::Asked { round: Round(3), answer, .. } =
            ends[1].heard.recv_timeout(PATIENCE).unwrap()
        {
            answer.send(&wanted);
            break;
        }
    }
    assert!(next_release(&ends[0]) == wanted.bytes());
    ends[1].link.say_farewell();
    let last = ends[0].heard.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(last, Incoming::Left(_)) && speaker(&last) == LearnerId(1));
}

/// Passes on what comes for a port, and cuts each connection after so many bytes of one direction.
fn cutter(target: u16, bytes: usize, cuts: &Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cuts = Arc::clone(cuts);
    thread::spawn(move || {
        for caller in listener.incoming().map_while(Result::ok) {
            let Ok(called) = TcpStream::connect(("127.0.0.1", target)) else { continue };
            for (from, to) in [(&caller, &called), (&called, &caller)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let cuts = Arc::clone(&cuts);
                thread::spawn(move || {
                    let (mut left, mut buffer) = (bytes, [0; 512]);
                    while let Ok(count @ 1..) = from.read(&mut buffer) {
                        let part = count.min(left);
                        left -= part;
                        if to.write_all(&buffer[..part]).is_err() || left == 0 {
                            break;
                        }
                    }
                    cuts.fetch_add(usize::from(left == 0), Ordering::Relaxed);
                    let _ = from.shutdown(Shutdown::Both);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    port
}

#[test]
fn connections_that_are_cut_again_and_again_change_nothing_in_what_is_learnt() {
    let (ports, folder, cuts) = (ports(5), certified(), Arc::new(AtomicUsize::new(0)));
    let behind: Vec<u16> = ports.iter().map(|&port| cutter(port, 7_001, &cuts)).collect();
    five_learners_by(100, &ports, &behind, Way::Tls(folder.path()));
    // Releases alone are some thirteen kilobytes each way.
    assert!(cuts.load(Ordering::Relaxed) >= 5, "every pair was cut");
}
