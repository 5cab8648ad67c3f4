//! Peers that speak a direct link's protocol by hand, well or badly.

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

/// However busy the machine is, what is to come has come by then.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Learner 0 of a ring of five, with its neighbours 1 and 4, and what it hears.
pub(crate) struct Victim {
    _link: Link,
    pub(crate) identity: Identity,
    pub(crate) address: String,
    pub(crate) heard: Receiver<Incoming>,
}

impl Victim {
    /// One that is called.
    pub(crate) fn listening(folder: Option<&Path>) -> Victim {
        Victim::new(folder, Vec::new())
    }

    /// One that calls learner 1 at an address.
    pub(crate) fn calling(folder: Option<&Path>, address: &str) -> Victim {
        Victim::new(folder, vec![(LearnerId(1), address.to_string())])
    }

    fn new(folder: Option<&Path>, calls: Vec<(LearnerId, String)>) -> Victim {
        let address = format!("127.0.0.1:{}", ports(1)[0]);
        let addresses = Addresses::Direct { listen: address.clone(), calls };
        let security = folder.map_or(Security::Loopback, |folder| {
            Security::MutualTls(certificates::files(folder, Holder::Learner(LearnerId(0))))
        });
        let identity = identity(&setup(5, "algorithm1", ""), 0);
        let (sender, heard) = channel();
        let sender = Mutex::new(sender);
        let deliver = Arc::new(move |incoming| {
            if matches!(incoming, Incoming::Came { .. }) {
                return;
            }
            let _ = sender.lock().unwrap().send(incoming);
        });
        let link = Link::open(&identity, &addresses, &security, deliver).unwrap();
        Victim { _link: link, identity, address, heard }
    }

    /// Who is heard next.
    pub(crate) fn hears_next(&self) -> LearnerId {
        speaker(&self.heard.recv_timeout(PATIENCE).expect("somebody is heard"))
    }
}

pub(crate) fn speaker(incoming: &Incoming) -> LearnerId {
    incoming.neighbour()
}

/// A hello as it is on the wire.
pub(crate) fn hello(identity: &Identity, sender: u32) -> Vec<u8> {
    let mut bytes = vec![0, 28, 0, 0, 0];
    bytes.extend_from_slice(b"UNDL");
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    bytes.extend_from_slice(&identity.network.bytes());
    bytes.extend_from_slice(&sender.to_le_bytes());
    bytes
}

/// A release as it is on the wire, whatever is in it.
pub(crate) fn release(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// A ping as it is on the wire.
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

fn trusted(files: &Certificates) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.authority).unwrap()).unwrap();
    Arc::new(roots)
}

fn shown(files: &Certificates) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let certificate = CertificateDer::from_pem_file(&files.certificate).unwrap();
    (vec![certificate], PrivateKeyDer::from_pem_file(&files.key).unwrap())
}

/// Calls, with certificates or without any.
pub(crate) fn call(address: &str, files: &Certificates, with_own: bool) -> Box<dyn Stream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted(files));
    let config = if with_own {
        let (certificate, key) = shown(files);
        config.with_client_auth_cert(certificate, key).unwrap()
    } else {
        config.with_no_client_auth()
    };
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    Box::new(StreamOwned::new(connection, TcpStream::connect(address).unwrap()))
}

/// Waits to be called, and answers with a certificate. Whoever calls may see through it.
pub(crate) fn answer(listener: &TcpListener, files: &Certificates) -> Box<dyn Stream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (certificate, key) = shown(files);
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificate, key)
        .unwrap();
    let connection = ServerConnection::new(Arc::new(config)).unwrap();
    Box::new(StreamOwned::new(connection, listener.accept().unwrap().0))
}

/// Whether a learner hears `claimed`, who says hello and sends a release, before it ends the connection.
pub(crate) fn is_heard(victim: &Victim, stream: &mut dyn Stream, claimed: u32) -> bool {
    stream.socket().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut said = hello(&victim.identity, claimed);
    said.extend_from_slice(&release(b"anything"));
    let mut refused = stream.write_all(&said).and_then(|()| stream.flush()).is_err();
    loop {
        if let Ok(incoming) = victim.heard.try_recv() {
            assert_eq!(speaker(&incoming), LearnerId(claimed));
            return true;
        }
        if refused {
            return false;
        }
        // Whoever is heard is not sent away, and the other way round.
        refused = is_over(stream);
    }
}

/// Whether the connection was ended, as far as can be seen now.
pub(crate) fn is_over(stream: &mut dyn Stream) -> bool {
    match stream.read(&mut [0; 4096]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}

/// Waits until the other side ends the connection.
pub(crate) fn wait_until_over(stream: &mut dyn Stream) {
    stream.socket().set_read_timeout(Some(PATIENCE)).unwrap();
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                let kind = error.kind();
                let late = matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                assert!(!late, "the connection is not ended");
                return;
            }
        }
    }
}
