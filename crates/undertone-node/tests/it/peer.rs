//! Peers that speak the protocol of a direct link by hand, correctly or not.

use crate::sockets::{identity, ports};
use crate::support::setup;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use undertone::LearnerId;
use undertone_node::certificates::{self, Holder};
use undertone_node::link::{Addresses, Certificates, Identity, Incoming, Link, Security};

/// Long enough for anything that should happen, on a busy machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Learner 0 of a ring of five, with its neighbours 1 and 4, and what it receives.
pub(crate) struct Victim {
    _link: Link,
    pub(crate) identity: Identity,
    pub(crate) address: String,
    pub(crate) received: Receiver<Incoming>,
}

impl Victim {
    /// A learner that only listens.
    pub(crate) fn listening(folder: Option<&Path>) -> Victim {
        Victim::new(folder, Vec::new())
    }

    /// A learner that connects to learner 1 at an address.
    pub(crate) fn connecting(folder: Option<&Path>, address: &str) -> Victim {
        Victim::new(folder, vec![(LearnerId(1), address.to_string())])
    }

    fn new(folder: Option<&Path>, connect: Vec<(LearnerId, String)>) -> Victim {
        let address = format!("127.0.0.1:{}", ports(1)[0]);
        let addresses = Addresses::Direct { listen: address.clone(), connect };
        let security = folder.map_or(Security::Loopback, |folder| {
            Security::MutualTls(certificates::files(folder, Holder::Learner(LearnerId(0))))
        });
        let identity = identity(&setup(5, "algorithm1", ""), 0);
        let (sender, received) = channel();
        let sender = Mutex::new(sender);
        let deliver = Arc::new(move |incoming| {
            if matches!(incoming, Incoming::Connected { .. }) {
                return;
            }
            let _ = sender.lock().unwrap().send(incoming);
        });
        let link = Link::open(&identity, &addresses, &security, deliver).unwrap();
        Victim { _link: link, identity, address, received }
    }

    /// The sender of what arrives next.
    pub(crate) fn next_sender(&self) -> LearnerId {
        sender_of(&self.received.recv_timeout(PATIENCE).expect("something arrives"))
    }
}

pub(crate) fn sender_of(incoming: &Incoming) -> LearnerId {
    incoming.neighbour()
}

/// A hello frame.
pub(crate) fn hello(identity: &Identity, sender: u32) -> Vec<u8> {
    let mut bytes = vec![0, 28, 0, 0, 0];
    bytes.extend_from_slice(b"UNDL");
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    bytes.extend_from_slice(&identity.network.bytes());
    bytes.extend_from_slice(&sender.to_le_bytes());
    bytes
}

/// A release frame with any body.
pub(crate) fn release(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// A ping frame.
pub(crate) const PING: [u8; 5] = [4, 0, 0, 0, 0];

pub(crate) trait Stream: Read + Write {
    fn socket(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

impl Stream for StreamOwned<ServerConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

fn trusted_roots(files: &Certificates) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.authority).unwrap()).unwrap();
    Arc::new(roots)
}

fn own_certificate(files: &Certificates) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let certificate = CertificateDer::from_pem_file(&files.certificate).unwrap();
    (vec![certificate], PrivateKeyDer::from_pem_file(&files.key).unwrap())
}

/// Connects by TLS, with a client certificate or without.
pub(crate) fn connect_tls(address: &str, files: &Certificates, with_own: bool) -> Box<dyn Stream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted_roots(files));
    let config = if with_own {
        let (certificate, key) = own_certificate(files);
        config.with_client_auth_cert(certificate, key).unwrap()
    } else {
        config.with_no_client_auth()
    };
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    Box::new(StreamOwned::new(connection, TcpStream::connect(address).unwrap()))
}

/// Accepts a connection by TLS, with a server certificate that the client may refuse.
pub(crate) fn accept_tls(listener: &TcpListener, files: &Certificates) -> Box<dyn Stream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (certificate, key) = own_certificate(files);
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificate, key)
        .unwrap();
    let connection = ServerConnection::new(Arc::new(config)).unwrap();
    Box::new(StreamOwned::new(connection, listener.accept().unwrap().0))
}

/// Whether a peer that sends a hello as `claimed` and a release is heard. Otherwise the connection is closed.
pub(crate) fn is_heard(victim: &Victim, stream: &mut dyn Stream, claimed: u32) -> bool {
    stream.socket().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut bytes = hello(&victim.identity, claimed);
    bytes.extend_from_slice(&release(b"anything"));
    let mut refused = stream.write_all(&bytes).and_then(|()| stream.flush()).is_err();
    loop {
        if let Ok(incoming) = victim.received.try_recv() {
            assert_eq!(sender_of(&incoming), LearnerId(claimed));
            return true;
        }
        if refused {
            return false;
        }
        // Either the release arrives or the connection is closed.
        refused = is_over(stream);
    }
}

/// Whether the connection was closed, as far as is known now.
pub(crate) fn is_over(stream: &mut dyn Stream) -> bool {
    match stream.read(&mut [0; 4096]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}

/// Waits until the other side closes the connection.
pub(crate) fn wait_until_over(stream: &mut dyn Stream) {
    stream.socket().set_read_timeout(Some(PATIENCE)).unwrap();
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                let kind = error.kind();
                let late = matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                assert!(!late, "the connection was not closed");
                return;
            }
        }
    }
}
