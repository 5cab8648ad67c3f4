//! TLS credentials: the learner's certificate and key, and the network's own authority as the only trusted root.

use super::super::{Certificates, Identity, certificate_name};
use crate::StartError;
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

/// A learner's credentials, for connections in both directions.
pub(super) struct Credentials {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
    /// When the learner's own certificate or its authority's expires, whichever is first.
    pub(super) expiry: SystemTime,
}

impl Credentials {
    /// Reads the files, and checks that they are this learner's and valid now.
    pub(super) fn read(
        files: &Certificates,
        identity: &Identity,
    ) -> Result<Credentials, StartError> {
        for path in [&files.key, &files.certificate, &files.authority] {
            if !path.is_file() {
                return Err(setting(path, "no such file; `undertone cert` makes it"));
            }
        }
        let authority = one_certificate(&files.authority)?;
        let own = one_certificate(&files.certificate)?;
        let key =
            || PrivateKeyDer::from_pem_file(&files.key).map_err(|error| setting(&files.key, error));
        let (holder, own_expiry) = holder(&own).ok_or_else(|| {
            setting(&files.certificate, "not a certificate with exactly one common name")
        })?;
        if holder != certificate_name(identity.own) {
            let reason = format!("this is the certificate of {holder}");
            return Err(setting(&files.certificate, reason));
        }
        let authority_expiry =
            expiry(&authority).ok_or_else(|| setting(&files.authority, "not a certificate"))?;
        let now = SystemTime::now();
        let expiries = [(&files.authority, authority_expiry), (&files.certificate, own_expiry)];
        for (path, expiry) in expiries {
            if expiry <= now {
                return Err(setting(path, "has expired; `undertone cert` makes a new one"));
            }
        }
        let refused = |error: rustls::Error| setting(&files.certificate, error);
        let mut roots = RootCertStore::empty();
        roots.add(authority).map_err(|error| setting(&files.authority, error))?;
        let roots = Arc::new(roots);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = [&rustls::version::TLS13];
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(refused)?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(vec![own.clone()], key()?)
            .map_err(refused)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| setting(&files.authority, error))?;
        // Otherwise every neighbour would refuse every connection.
        verifier.verify_client_cert(&own, &[], UnixTime::now()).map_err(|error| {
            let authority = files.authority.display();
            setting(&files.certificate, format!("not a certificate of {authority}: {error}"))
        })?;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(refused)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![own], key()?)
            .map_err(refused)?;
        // Every connection checks certificates anew: a resumed session would outlive them.
        client.resumption = Resumption::disabled();
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let expiry = own_expiry.min(authority_expiry);
        Ok(Credentials { client: Arc::new(client), server: Arc::new(server), expiry })
    }
}

/// The neighbour whose name is in a verified certificate, and when the certificate expires.
pub(super) fn certified_neighbour(
    certificate: &CertificateDer<'_>,
    neighbours: &[LearnerId],
) -> Option<(LearnerId, SystemTime)> {
    let (name, expiry) = holder(certificate)?;
    let neighbour = neighbours.iter().find(|&&id| certificate_name(id) == name)?;
    Some((*neighbour, expiry))
}

/// The host of an address, as its certificate names it.
pub(super) fn host_name(address: &str) -> Option<ServerName<'static>> {
    let (host, _) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_string()).ok()
}

/// The only common name in a certificate, and when the certificate expires.
fn holder(certificate: &CertificateDer<'_>) -> Option<(String, SystemTime)> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let mut names = parsed.subject().iter_common_name();
    let name = names.next()?.as_str().ok()?.to_string();
    // With two names the two sides might read different ones.
    if names.next().is_some() {
        return None;
    }
    Some((name, expiry(certificate)?))
}

fn expiry(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let seconds = u64::try_from(parsed.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn one_certificate(path: &Path) -> Result<CertificateDer<'static>, StartError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match all.map_err(|error| setting(path, error))?.as_slice() {
        [one] => Ok(one.clone()),
        several => Err(setting(path, format!("{} certificates instead of one", several.len()))),
    }
}

fn setting(path: &Path, reason: impl Display) -> StartError {
    StartError::Setting { what: path.display().to_string(), reason: reason.to_string() }
}
