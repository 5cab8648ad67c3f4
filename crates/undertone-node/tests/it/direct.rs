//! Direct links under stress: large messages both ways, unknown peers, and neighbours that fall silent, do not read, or
//! reconnect.

use crate::peer::{
    PATIENCE, PING, Stream, Victim, connect_tls, hello, is_heard, is_over, release, sender_of,
    wait_until_over,
};
use crate::sockets::{LinkKind, certified, five_learners_by, identity, ports};
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

/// One end of a link, and what arrives there.
struct End {
    link: Link,
    received: Receiver<Incoming>,
}

/// Learner 0 connects to learner 1.
fn open(setup: &Arc<Setup>, id: u32, ports: &[u16], folder: Option<&Path>) -> End {
    let address = |id: usize| format!("127.0.0.1:{}", ports[id]);
    let connect = if id == 0 { vec![(LearnerId(1), address(1))] } else { Vec::new() };
    let addresses = Addresses::Direct { listen: address(id as usize), connect };
    let security = folder.map_or(Security::Loopback, |folder| {
        Security::MutualTls(certificates::files(folder, Holder::Learner(LearnerId(id))))
    });
    let (sender, received) = channel();
    let sender = Mutex::new(sender);
    let deliver = Arc::new(move |incoming| {
        let _ = sender.lock().unwrap().send(incoming);
    });
    let link = Link::open(&identity(setup, id), &addresses, &security, deliver).unwrap();
    End { link, received }
}

/// Sends requests until one arrives: then there is a connection.
fn wait_for_connection(from: &End, to: &End) {
    loop {
        from.link.request(LearnerId(1), Round(7));
        let next = to.received.recv_timeout(Duration::from_millis(50));
        if let Ok(Incoming::Request { from, round, .. }) = next {
            assert_eq!((from, round), (LearnerId(0), Round(7)));
            break;
        }
    }
}

/// The bytes of the next release that arrives.
fn next_release(end: &End) -> Vec<u8> {
    loop {
        match end.received.recv_timeout(PATIENCE).expect("something arrives") {
            Incoming::Release { bytes, .. } => return bytes,
            Incoming::Connected { .. } | Incoming::Request { .. } => {}
            Incoming::Left(_) => panic!("no neighbour has left"),
        }
    }
}

/// The first releases of a learner.
fn releases(setup: &Arc<Setup>, id: u32, count: usize) -> Vec<OwnRelease> {
    let wire = Wire::new(Arc::clone(setup));
    let mut learner = setup.learner(LearnerId(id)).unwrap();
    let dimension = u32::try_from(setup.agreement.model.features).unwrap();
    let checker = setup.record_checker();
    (0..count)
        .map(|_| {
            let features =
                Features::Sparse { dimension, indices: [1].into(), values: [0.5].into() };
            learner.observe(&[checker.check(Record::new(features, 1.0)).unwrap()]);
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
fn neighbours_that_send_each_other_megabytes_at_once_do_not_block_each_other() {
    let (setup, folder) = (large(), certified());
    for folder in [None, Some(folder.path())] {
        let ports = ports(2);
        let ends = [0, 1].map(|id| open(&setup, id, &ports, folder));
        wait_for_connection(&ends[0], &ends[1]);
        let sent = [0, 1].map(|id| releases(&setup, id, 9));
        thread::scope(|scope| {
            let threads = ends.into_iter().enumerate().map(|(own, end)| {
                let sent = &sent;
                scope.spawn(move || {
                    for (own, theirs) in sent[own].chunks(3).zip(sent[1 - own].chunks(3)) {
                        // More than the system buffers in either direction, before anything is read.
                        own.iter().for_each(|release| end.link.publish(release));
                        for expected in theirs {
                            assert!(
                                next_release(&end) == expected.bytes(),
                                "complete and in order"
                            );
                        }
                    }
                    // Stays open until the other end has received everything.
                    end
                })
            });
            let threads: Vec<_> = threads.collect();
            let ends: Vec<End> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            drop(ends);
        });
    }
}

#[test]
fn a_neighbour_that_does_not_read_blocks_nobody_and_gets_the_newest_release_when_it_does() {
    let setup = large();
    let port = ports(2);
    let end = open(&setup, 1, &port, None);
    let mut slow = TcpStream::connect(("127.0.0.1", port[1])).unwrap();
    slow.write_all(&hello(&identity(&setup, 0), 0)).unwrap();
    slow.write_all(&release(b"here")).unwrap();
    assert_eq!(next_release(&end), b"here");
    let sent = releases(&setup, 1, 24);
    let (sender, published) = channel();
    let link = Arc::new(end.link);
    thread::spawn({
        let (link, sent) = (Arc::clone(&link), sent.clone());
        move || {
            sent.iter().for_each(|release| link.publish(release));
            let _ = sender.send(());
        }
    });
    published
        .recv_timeout(PATIENCE)
        .expect("publishing does not wait for a neighbour that does not read");
    slow.write_all(&PING).unwrap();
    // When it reads it gets complete messages in order, and the newest.
    let mut read = Vec::new();
    while read.last() != Some(&(sent.len() - 1)) {
        let body = read_frame(&mut slow, 1);
        read.push(sent.iter().position(|one| one.bytes() == body).expect("one that was sent"));
        slow.write_all(&PING).unwrap();
    }
    assert!(read.is_sorted_by(|a, b| a < b), "in order: {read:?}");
    assert!(read.len() < sent.len(), "old ones were dropped: {read:?}");
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
            connect_tls(&victim.address, &files, true)
        }
        None => Box::new(TcpStream::connect(&victim.address).unwrap()),
    }
}

#[test]
fn peers_that_send_nothing_or_nonsense_do_no_harm() {
    let folder = certified();
    for folder in [None, Some(folder.path())] {
        let victim = Victim::listening(folder);
        let mut neighbour = connect(&victim, folder, 1);
        assert!(is_heard(&victim, &mut *neighbour, 1), "a neighbour is connected");

        // More than may be pending: the oldest are closed, and neighbours can still connect.
        let mut silent: Vec<_> =
            (0..200).map(|_| TcpStream::connect(&victim.address).unwrap()).collect();
        wait_until_over(&mut silent[0]);
        let nonsense: [&[u8]; 4] = [&[0; 64], &[255; 4096], b"GET / HTTP/1.1\r\n\r\n", &[22, 3, 1]];
        for bytes in nonsense {
            let mut unknown = TcpStream::connect(&victim.address).unwrap();
            let _ = unknown.write_all(bytes);
            let _ = unknown.shutdown(Shutdown::Write);
            wait_until_over(&mut unknown);
        }
        // A neighbour may send invalid frames after its hello.
        let size = u32::try_from(victim.identity.message_bytes).unwrap();
        for (kind, length) in [(1, size + 1), (1, u32::MAX), (2, 9), (3, 1), (0, 28), (9, 0)] {
            let mut faulty = connect(&victim, folder, 4);
            let mut bytes = hello(&victim.identity, 4);
            bytes.push(kind);
            bytes.extend_from_slice(&length.to_le_bytes());
            faulty.write_all(&bytes).unwrap();
            wait_until_over(&mut *faulty);
        }
        let mut half = connect(&victim, folder, 4);
        half.write_all(&hello(&victim.identity, 4)).unwrap();
        half.write_all(&release(b"this is cut short")[..10]).unwrap();
        half.flush().unwrap();

        neighbour.write_all(&release(b"still here")).unwrap();
        neighbour.flush().unwrap();
        assert_eq!(victim.next_sender(), LearnerId(1), "the neighbour's connection still works");
        // A new connection of a neighbour replaces the old one, with its incomplete message.
        let mut again = connect(&victim, folder, 4);
        assert!(is_heard(&victim, &mut *again, 4), "a new connection is accepted");
        wait_until_over(&mut *half);
        drop(silent);
    }
}

#[test]
fn without_certificates_only_neighbours_of_the_network_are_heard() {
    let victim = Victim::listening(None);
    let mut stream = TcpStream::connect(&victim.address).unwrap();
    assert!(is_heard(&victim, &mut stream, 4), "a neighbour is heard");
    for other in [0, 2, 7, u32::MAX] {
        let mut stream = TcpStream::connect(&victim.address).unwrap();
        assert!(!is_heard(&victim, &mut stream, other), "{other} is not a neighbour");
    }
    // The same ring with another method is another network.
    let other = identity(&setup(5, "shielded", ""), 0);
    let mut stream = TcpStream::connect(&victim.address).unwrap();
    stream.write_all(&hello(&other, 1)).unwrap();
    wait_until_over(&mut stream);
}

#[test]
fn a_silent_connection_times_out_and_one_with_pings_does_not() {
    let victim = Victim::listening(None);
    let [mut silent, mut alive] = [(); 2].map(|()| TcpStream::connect(&victim.address).unwrap());
    assert!(is_heard(&victim, &mut silent, 1) && is_heard(&victim, &mut alive, 4));
    while !is_over(&mut silent) {
        alive.write_all(&PING).unwrap();
    }
    assert!(
        is_heard(&victim, &mut TcpStream::connect(&victim.address).unwrap(), 1),
        "it may reconnect"
    );
    alive.write_all(&release(b"still here")).unwrap();
    assert_eq!(victim.next_sender(), LearnerId(4));
}

#[test]
fn a_restarted_learner_is_connected_again() {
    let (setup, folder, ports) = (setup(5, "algorithm1", ""), certified(), ports(2));
    let folder = Some(folder.path());
    let mut ends = [0, 1].map(|id| open(&setup, id, &ports, folder));
    wait_for_connection(&ends[0], &ends[1]);
    for restarted in [1, 0, 1] {
        let [client, server] = ends;
        ends = if restarted == 0 {
            // Its port is free as soon as it is closed.
            client.link.close();
            [open(&setup, 0, &ports, folder), server]
        } else {
            server.link.close();
            [client, open(&setup, 1, &ports, folder)]
        };
        wait_for_connection(&ends[0], &ends[1]);
    }
}

#[test]
fn a_neighbour_that_reconnects_again_and_again_has_one_reader() {
    let (setup, port) = (setup(5, "algorithm1", ""), ports(2));
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(Mutex::new(()));
    let (sender, received) = channel();
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
    let addresses = Addresses::Direct { listen: listen.clone(), connect: Vec::new() };
    let own = identity(&setup, 1);
    let _link = Link::open(&own, &addresses, &Security::Loopback, deliver).unwrap();
    // The learner is computing, and handles no events.
    let computing = gate.lock().unwrap();
    let mut bytes = hello(&identity(&setup, 0), 0);
    for round in 0..1000_u64 {
        bytes.extend_from_slice(&[2, 8, 0, 0, 0]);
        bytes.extend_from_slice(&round.to_le_bytes());
    }
    let mut before: Option<TcpStream> = None;
    for _ in 0..200 {
        let mut socket = TcpStream::connect(&listen).unwrap();
        socket.write_all(&bytes).unwrap();
        read_frame(&mut socket, 0);
        if let Some(mut before) = before.replace(socket) {
            wait_until_over(&mut before);
        }
    }
    let mut last = before.unwrap();
    last.write_all(&release(b"last")).unwrap();
    drop(computing);
    // Of a closed connection at most the frame in delivery arrives.
    let (mut requests, mut connections) = (0, 0);
    loop {
        match received.recv_timeout(PATIENCE).unwrap() {
            Incoming::Request { .. } => requests += 1,
            Incoming::Connected { .. } => connections += 1,
            Incoming::Release { bytes, .. } => break assert_eq!(bytes, b"last"),
            Incoming::Left(_) => panic!("no neighbour has left"),
        }
    }
    assert_eq!(most.load(Ordering::SeqCst), 1, "one reader at a time");
    assert!(
        connections <= 2 && requests <= 1001,
        "{connections} connections and {requests} requests"
    );
}

#[test]
fn both_ends_are_told_of_a_connection_and_can_reply_on_it() {
    let (setup, folder, ports) = (setup(5, "algorithm1", ""), certified(), ports(2));
    let ends = [0, 1].map(|id| open(&setup, id, &ports, Some(folder.path())));
    let sent = [0, 1].map(|id| releases(&setup, id, 1).remove(0));
    for (own, end) in ends.iter().enumerate() {
        match end.received.recv_timeout(PATIENCE).unwrap() {
            Incoming::Connected { neighbour, reply } => {
                assert_eq!(neighbour.0 as usize, 1 - own);
                reply.send(&sent[own]);
            }
            Incoming::Release { .. } | Incoming::Request { .. } | Incoming::Left(_) => {
                panic!("nothing arrives before")
            }
        }
    }
    for (own, end) in ends.iter().enumerate() {
        assert!(next_release(end) == sent[1 - own].bytes());
    }
}

#[test]
fn a_farewell_and_a_reply_arrive() {
    let (setup, folder, ports) = (setup(5, "algorithm1", ""), certified(), ports(2));
    let ends = [0, 1].map(|id| open(&setup, id, &ports, Some(folder.path())));
    wait_for_connection(&ends[0], &ends[1]);
    let wanted = releases(&setup, 1, 1).remove(0);
    ends[0].link.request(LearnerId(1), Round(3));
    loop {
        if let Incoming::Request { round: Round(3), reply, .. } =
            ends[1].received.recv_timeout(PATIENCE).unwrap()
        {
            reply.send(&wanted);
            break;
        }
    }
    assert!(next_release(&ends[0]) == wanted.bytes());
    ends[1].link.send_farewell();
    let last = ends[0].received.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(last, Incoming::Left(_)) && sender_of(&last) == LearnerId(1));
}

/// A proxy for a port that closes each connection after `bytes` bytes in one direction.
fn cutting_proxy(target: u16, bytes: usize, cuts: &Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cuts = Arc::clone(cuts);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
            for (from, to) in [(&client, &server), (&server, &client)] {
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
fn connections_that_are_cut_again_and_again_do_not_change_the_result() {
    let (ports, folder, cuts) = (ports(5), certified(), Arc::new(AtomicUsize::new(0)));
    let proxies: Vec<u16> = ports.iter().map(|&port| cutting_proxy(port, 7_001, &cuts)).collect();
    five_learners_by(100, &ports, &proxies, LinkKind::Tls(folder.path()));
    // Releases alone are about thirteen kilobytes in each direction.
    assert!(cuts.load(Ordering::Relaxed) >= 5, "every pair was cut");
}
