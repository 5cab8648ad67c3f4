//! One TLS connection that two threads share: rustls without a socket and without buffers of its own.
//!
//! Nobody waits for a socket in here, so whoever holds a connection's lock gives it back soon.

use super::buffers::{Inbox, Outbox};
use super::frame::Garbage;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;
use thiserror::Error;

/// The largest piece that becomes one record.
pub(super) const RECORD: usize = 16_384;

/// Why a connection cannot go on.
#[derive(Debug, Error)]
pub(super) enum TlsFault {
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Garbage(#[from] Garbage),
    #[error("the other side has ended the connection")]
    Closed,
    #[error("no room for what TLS has to say")]
    Room,
}

/// One end of a connection.
pub(super) struct Tls {
    end: End,
    /// The beginning of a record whose rest has not come.
    partial: Vec<u8>,
    /// A fault was found and said, and there is nothing more to say: TLS complains once.
    ended: bool,
}

enum End {
    Caller(UnbufferedClientConnection),
    Called(UnbufferedServerConnection),
}

impl Tls {
    pub(super) fn caller(
        config: &Arc<ClientConfig>,
        host: ServerName<'static>,
    ) -> Result<Tls, TlsFault> {
        let end = UnbufferedClientConnection::new(Arc::clone(config), host)?;
        Ok(Tls { end: End::Caller(end), partial: Vec::new(), ended: false })
    }

    pub(super) fn called(config: &Arc<ServerConfig>) -> Result<Tls, TlsFault> {
        let end = UnbufferedServerConnection::new(Arc::clone(config))?;
        Ok(Tls { end: End::Called(end), partial: Vec::new(), ended: false })
    }

    /// Whether certificates are still being exchanged.
    pub(super) fn is_handshaking(&self) -> bool {
        match &self.end {
            End::Caller(end) => end.is_handshaking(),
            End::Called(end) => end.is_handshaking(),
        }
    }

    /// The certificate that the other side has shown, and proved to be its own.
    pub(super) fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        let shown = match &self.end {
            End::Caller(end) => end.peer_certificates(),
            End::Called(end) => end.peer_certificates(),
        };
        shown?.first()
    }

    /// Works through what was read; `plain` gets what was in it, and `out` what has to be answered.
    pub(super) fn receive(
        &mut self,
        inbox: &mut Inbox,
        out: &mut Outbox,
        plain: &mut dyn FnMut(&[u8]) -> Result<(), Garbage>,
    ) -> Result<(), TlsFault> {
        self.check_that_it_goes_on()?;
        let incoming = inbox.after(&self.partial).ok_or(TlsFault::Room)?;
        self.partial.clear();
        let mut done = 0;
        let worked = match &mut self.end {
            End::Caller(end) => work_through(end, incoming, &mut done, out, plain),
            End::Called(end) => work_through(end, incoming, &mut done, out, plain),
        };
        self.partial.extend_from_slice(incoming.get(done..).unwrap_or_default());
        self.ended = worked.is_err();
        worked
    }

    /// Adds the records of a piece to what is sent.
    pub(super) fn encrypt(&mut self, piece: &[u8], out: &mut Outbox) -> Result<(), TlsFault> {
        self.check_that_it_goes_on()?;
        let encrypted = match &mut self.end {
            End::Caller(end) => encrypt(end, piece, &mut self.partial, out),
            End::Called(end) => encrypt(end, piece, &mut self.partial, out),
        };
        self.ended = encrypted.is_err();
        encrypted
    }

    fn check_that_it_goes_on(&self) -> Result<(), TlsFault> {
        if self.ended { Err(TlsFault::Closed) } else { Ok(()) }
    }
}

/// What both ends can do.
trait Records {
    type Data;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// Whether records of its own are ready to be sent.
    fn has_something_to_say(&self) -> bool;
}

impl Records for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process_tls_records(incoming)
    }

    fn has_something_to_say(&self) -> bool {
        self.wants_write()
    }
}

impl Records for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process_tls_records(incoming)
    }

    fn has_something_to_say(&self) -> bool {
        self.wants_write()
    }
}

/// `done` counts the bytes that are not needed any more.
fn work_through<E: Records>(
    end: &mut E,
    incoming: &mut [u8],
    done: &mut usize,
    out: &mut Outbox,
    plain: &mut dyn FnMut(&[u8]) -> Result<(), Garbage>,
) -> Result<(), TlsFault> {
    loop {
        let UnbufferedStatus { mut discard, state, .. } =
            end.process(incoming.get_mut(*done..).unwrap_or_default());
        let waits = match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                while let Some(record) = traffic.next_record() {
                    let record = record?;
                    discard += record.discard;
                    plain(record.payload)?;
                }
                false
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                out.add(|room| data.encode(room).map_err(missing_to_encode))?;
                false
            }
            // It is sent in the order in which it was made, with all else.
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                false
            }
            Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_)) => true,
            Ok(_) => return Err(TlsFault::Closed),
            Err(error) => {
                // The other side is told why, if that can be said. Only what is ready is taken: what came after the
                // fault must not be worked through, for TLS complains once.
                *done += discard;
                while end.has_something_to_say() {
                    let rest = incoming.get_mut(*done..).unwrap_or_default();
                    let Ok(ConnectionState::EncodeTlsData(mut data)) = end.process(rest).state
                    else {
                        break;
                    };
                    out.add(|room| data.encode(room).map_err(missing_to_encode))?;
                }
                return Err(error.into());
            }
        };
        *done += discard;
        if waits {
            return Ok(());
        }
    }
}

fn encrypt<E: Records>(
    end: &mut E,
    piece: &[u8],
    partial: &mut Vec<u8>,
    out: &mut Outbox,
) -> Result<(), TlsFault> {
    loop {
        let UnbufferedStatus { discard, state, .. } = end.process(partial);
        let encrypted = match state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                out.add(|room| traffic.encrypt(piece, room).map_err(missing_to_encrypt))?;
                true
            }
            ConnectionState::EncodeTlsData(mut data) => {
                out.add(|room| data.encode(room).map_err(missing_to_encode))?;
                false
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                false
            }
            _ => return Err(TlsFault::Closed),
        };
        partial.drain(..discard.min(partial.len()));
        if encrypted {
            return Ok(());
        }
    }
}

/// How much room is needed, if that is what is missing.
fn missing_to_encode(error: EncodeError) -> Option<usize> {
    match error {
        EncodeError::InsufficientSize(InsufficientSizeError { required_size }) => {
            Some(required_size)
        }
        EncodeError::AlreadyEncoded => None,
    }
}

fn missing_to_encrypt(error: EncryptError) -> Option<usize> {
    match error {
        EncryptError::InsufficientSize(InsufficientSizeError { required_size }) => {
            Some(required_size)
        }
        EncryptError::EncryptExhausted => None,
    }
}
