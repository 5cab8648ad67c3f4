//! A TLS connection that two threads share: rustls without a socket and without buffers of its own.
//!
//! Nothing here waits for a socket, so the connection's lock is never held for long.

use super::buffers::{ReadBuffer, WriteBuffer};
use super::error::ConnectionError;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// The largest plaintext of one TLS record.
pub(super) const RECORD: usize = 16_384;

/// One side of a connection.
pub(super) struct Tls {
    side: Side,
    /// The beginning of an incomplete record.
    partial: Vec<u8>,
    /// Whether an error has ended the connection. TLS sends one alert, and nothing after it.
    failed: bool,
}

enum Side {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

impl Tls {
    pub(super) fn client(
        config: &Arc<ClientConfig>,
        host: ServerName<'static>,
    ) -> Result<Tls, ConnectionError> {
        let side = UnbufferedClientConnection::new(Arc::clone(config), host)?;
        Ok(Tls { side: Side::Client(side), partial: Vec::new(), failed: false })
    }

    pub(super) fn server(config: &Arc<ServerConfig>) -> Result<Tls, ConnectionError> {
        let side = UnbufferedServerConnection::new(Arc::clone(config))?;
        Ok(Tls { side: Side::Server(side), partial: Vec::new(), failed: false })
    }

    /// Whether the handshake is still under way.
    pub(super) fn is_handshaking(&self) -> bool {
        match &self.side {
            Side::Client(side) => side.is_handshaking(),
            Side::Server(side) => side.is_handshaking(),
        }
    }

    /// The peer's verified certificate.
    pub(super) fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        let certificates = match &self.side {
            Side::Client(side) => side.peer_certificates(),
            Side::Server(side) => side.peer_certificates(),
        };
        certificates?.first()
    }

    /// Processes what was read. `plain` gets the plaintext, and `out` what TLS itself has to send.
    pub(super) fn receive(
        &mut self,
        buffer: &mut ReadBuffer,
        out: &mut WriteBuffer,
        plain: &mut dyn FnMut(&[u8]) -> Result<(), ConnectionError>,
    ) -> Result<(), ConnectionError> {
        self.check_open()?;
        let incoming = buffer.after(&self.partial).ok_or(ConnectionError::BufferTooSmall)?;
        self.partial.clear();
        let mut done = 0;
        let processed = match &mut self.side {
            Side::Client(side) => process_records(side, incoming, &mut done, out, plain),
            Side::Server(side) => process_records(side, incoming, &mut done, out, plain),
        };
        self.partial.extend_from_slice(incoming.get(done..).unwrap_or_default());
        self.failed = processed.is_err();
        processed
    }

    /// Encrypts a piece and adds it to `out`.
    pub(super) fn encrypt(
        &mut self,
        piece: &[u8],
        out: &mut WriteBuffer,
    ) -> Result<(), ConnectionError> {
        self.check_open()?;
        let encrypted = match &mut self.side {
            Side::Client(side) => encrypt(side, piece, &mut self.partial, out),
            Side::Server(side) => encrypt(side, piece, &mut self.partial, out),
        };
        self.failed = encrypted.is_err();
        encrypted
    }

    fn check_open(&self) -> Result<(), ConnectionError> {
        if self.failed { Err(ConnectionError::Closed) } else { Ok(()) }
    }
}

/// What both sides of a connection have in common.
trait RecordLayer {
    type Data;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// Whether TLS itself has records to send.
    fn has_output(&self) -> bool;
}

impl RecordLayer for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process_tls_records(incoming)
    }

    fn has_output(&self) -> bool {
        self.wants_write()
    }
}

impl RecordLayer for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process_tls_records(incoming)
    }

    fn has_output(&self) -> bool {
        self.wants_write()
    }
}

/// Processes records. `done` counts the bytes that were consumed.
fn process_records<S: RecordLayer>(
    side: &mut S,
    incoming: &mut [u8],
    done: &mut usize,
    out: &mut WriteBuffer,
    plain: &mut dyn FnMut(&[u8]) -> Result<(), ConnectionError>,
) -> Result<(), ConnectionError> {
    loop {
        let UnbufferedStatus { mut discard, state, .. } =
            side.process(incoming.get_mut(*done..).unwrap_or_default());
        let is_blocked = match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                while let Some(record) = traffic.next_record() {
                    let record = record?;
                    discard += record.discard;
                    plain(record.payload)?;
                }
                false
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                out.add(|slice| data.encode(slice).map_err(needed_to_encode))?;
                false
            }
            // `out` is sent in order, so nothing has to be done here.
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                false
            }
            Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_)) => true,
            Ok(_) => return Err(ConnectionError::Closed),
            Err(error) => {
                // The alert for the peer is added to `out`. Records after the error must not be processed: TLS reports
                // an error once.
                *done += discard;
                while side.has_output() {
                    let rest = incoming.get_mut(*done..).unwrap_or_default();
                    let Ok(ConnectionState::EncodeTlsData(mut data)) = side.process(rest).state
                    else {
                        break;
                    };
                    out.add(|slice| data.encode(slice).map_err(needed_to_encode))?;
                }
                return Err(error.into());
            }
        };
        *done += discard;
        if is_blocked {
            return Ok(());
        }
    }
}

fn encrypt<S: RecordLayer>(
    side: &mut S,
    piece: &[u8],
    partial: &mut Vec<u8>,
    out: &mut WriteBuffer,
) -> Result<(), ConnectionError> {
    loop {
        let UnbufferedStatus { discard, state, .. } = side.process(partial);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the states of rustls, which may become more"
        )]
        let encrypted = match state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                out.add(|slice| traffic.encrypt(piece, slice).map_err(needed_to_encrypt))?;
                true
            }
            ConnectionState::EncodeTlsData(mut data) => {
                out.add(|slice| data.encode(slice).map_err(needed_to_encode))?;
                false
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                false
            }
            _ => return Err(ConnectionError::Closed),
        };
        partial.drain(..discard.min(partial.len()));
        if encrypted {
            return Ok(());
        }
    }
}

/// The length that is needed, if the slice is too short.
fn needed_to_encode(error: EncodeError) -> Option<usize> {
    match error {
        EncodeError::InsufficientSize(InsufficientSizeError { required_size }) => {
            Some(required_size)
        }
        EncodeError::AlreadyEncoded => None,
    }
}

fn needed_to_encrypt(error: EncryptError) -> Option<usize> {
    match error {
        EncryptError::InsufficientSize(InsufficientSizeError { required_size }) => {
            Some(required_size)
        }
        EncryptError::EncryptExhausted => None,
    }
}
