//! What a learner shows and whom it trusts: its certificate, its key, and the network's own authority alone.

use super::super::{Certificates, Identity, LinkError, certificate_name};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use undertone::LearnerId;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

/// A learner's keys, ready for connections in both directions.
pub(super) struct Keys {
    pub(super) caller: Arc<ClientConfig>,
    pub(super) called: Arc<ServerConfig>,
    /// When the learner's own certificate ends, or its authority's.
    pub(super) end: SystemTime,
}

impl Keys {
    /// Reads the files, and makes sure that they are this learner's.
    pub(super) fn read(files: &Certificates, identity: &Identity) -> Result<Keys, LinkError> {
        for path in [&files.key, &files.certificate, &files.authority] {
            if !path.is_file() {
                return Err(setting(path, "there is no such file; `undertone cert` makes it"));
            }
        }
        let authority = one_certificate(&files.authority)?;
        let own = one_certificate(&files.certificate)?;
        let key =
            || PrivateKeyDer::from_pem_file(&files.key).map_err(|error| setting(&files.key, error));
        let (holder, own_end) = holder(&own)
            .ok_or_else(|| setting(&files.certificate, "not a certificate with one name"))?;
        if holder != certificate_name(identity.own) {
            let reason = format!("this is the certificate of {holder}");
            return Err(setting(&files.certificate, reason));
        }
        let authority_end =
            end_of(&authority).ok_or_else(|| setting(&files.authority, "not a certificate"))?;
        let now = SystemTime::now();
        for (path, end) in [(&files.authority, authority_end), (&files.certificate, own_end)] {
            if end <= now {
                return Err(setting(path, "has expired; `undertone cert` makes another"));
            }
        }
        let refused = |error: rustls::Error| setting(&files.certificate, error);
        let mut roots = RootCertStore::empty();
        roots.add(authority).map_err(|error| setting(&files.authority, error))?;
        let roots = Arc::new(roots);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let newest = [&rustls::version::TLS13];
        let mut caller = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&newest)
            .map_err(refused)?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(vec![own.clone()], key()?)
            .map_err(refused)?;
        let neighbours = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| setting(&files.authority, error))?;
        // Neighbours would refuse it, one by one and for ever.
        neighbours.verify_client_cert(&own, &[], UnixTime::now()).map_err(|error| {
            let authority = files.authority.display();
            setting(&files.certificate, format!("not a certificate of {authority}: {error}"))
        })?;
        let mut called = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&newest)
            .map_err(refused)?
            .with_client_cert_verifier(neighbours)
            .with_single_cert(vec![own], key()?)
            .map_err(refused)?;
        // Every connection shows and checks certificates anew: a resumed one would outlive them.
        caller.resumption = Resumption::disabled();
        called.session_storage = Arc::new(NoServerSessionStorage {});
        called.send_tls13_tickets = 0;
        let end = own_end.min(authority_end);
        Ok(Keys { caller: Arc::new(caller), called: Arc::new(called), end })
    }
}

/// The neighbour whose name is in a certificate that was verified, and when it ends.
pub(super) fn neighbour_in(
    certificate: &CertificateDer<'_>,
    neighbours: &[LearnerId],
) -> Option<(LearnerId, SystemTime)> {
    let (name, end) = holder(certificate)?;
    let neighbour = neighbours.iter().find(|&&one| certificate_name(one) == name)?;
    Some((*neighbour, end))
}

/// The name by which the host of an address is to be found in its certificate.
pub(super) fn host_name(address: &str) -> Option<ServerName<'static>> {
    let (host, _) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_string()).ok()
}

/// The one common name in a certificate, and when it ends.
fn holder(certificate: &CertificateDer<'_>) -> Option<(String, SystemTime)> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let mut names = parsed.subject().iter_common_name();
    let name = names.next()?.as_str().ok()?.to_string();
    // Of two names each side might read another.
    if names.next().is_some() {
        return None;
    }
    Some((name, end_of(certificate)?))
}

fn end_of(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let seconds = u64::try_from(parsed.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn one_certificate(path: &Path) -> Result<CertificateDer<'static>, LinkError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match all.map_err(|error| setting(path, error))?.as_slice() {
        [one] => Ok(one.clone()),
        several => Err(setting(path, format!("{} certificates instead of one", several.len()))),
    }
}

fn setting(path: &Path, reason: impl Display) -> LinkError {
    LinkError::Setting { what: path.display().to_string(), reason: reason.to_string() }
}
