//! A network's own certificates: one authority, and one certificate for each learner or router.
//!
//! | file | content | needed by |
//! |---|---|---|
//! | `authority.pem` | the authority's certificate | all learners and the router |
//! | `authority.key` | its private key, which can admit any learner | the person who admits learners; keep it offline |
//! | `learner-2.pem`, `learner-2.key` | certificate and private key of learner 2 | learner 2 only |
//! | `router.pem`, `router.key` | certificate and private key of a router | the router only |

use crate::link::{Certificates, certificate_name};
use crate::private_file;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thiserror::Error;
use undertone::LearnerId;

/// The holder of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A learner.
    Learner(LearnerId),
    /// A router between learners.
    Router,
}

impl Holder {
    /// The name in the certificate. It decides what the holder may do.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Holder::Learner(id) => certificate_name(id),
            Holder::Router => crate::link::ROUTER.into(),
        }
    }
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug)]
pub struct Validity {
    /// From when.
    pub from: SystemTime,
    /// For how many days.
    pub days: u32,
}

impl Validity {
    /// A hundred years, the longest that is allowed.
    const DAYS_MAX: u32 = 36_525;

    /// Valid for `days` days, from an hour ago: other machines' clocks may be behind.
    #[must_use]
    pub fn days(days: u32) -> Validity {
        let now = SystemTime::now();
        Validity { from: now.checked_sub(Duration::from_secs(3600)).unwrap_or(now), days }
    }

    fn set(self, params: &mut CertificateParams) -> Result<(), CertificateError> {
        if self.days > Validity::DAYS_MAX {
            return Err(CertificateError::Validity);
        }
        let length = Duration::from_secs(u64::from(self.days) * 24 * 3600);
        params.not_before = self.from.into();
        params.not_after = (self.from + length).into();
        Ok(())
    }
}

/// Why a certificate cannot be made.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// A file of the authority is not valid.
    #[error("{}: {error}", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: rcgen::Error,
    },
    /// Not a host name or an address.
    #[error("{host}: not a host name or an address")]
    Host {
        /// What was given.
        host: String,
    },
    /// The validity is too long.
    #[error("a certificate is valid for at most {} days", Validity::DAYS_MAX)]
    Validity,
    /// The certificate cannot be made.
    #[error("the certificate cannot be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// The paths of a holder's files in a folder.
#[must_use]
pub fn files(folder: &Path, holder: Holder) -> Certificates {
    let name = holder.name();
    Certificates {
        authority: folder.join("authority.pem"),
        certificate: folder.join(format!("{name}.pem")),
        key: folder.join(format!("{name}.key")),
    }
}

/// Makes the authority of a new network.
///
/// # Errors
/// When the folder has an authority already, or its files cannot be written.
pub fn new_network(folder: &Path, validity: Validity) -> Result<(), CertificateError> {
    std::fs::create_dir_all(folder)
        .map_err(|error| CertificateError::File { path: folder.into(), error })?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = name("undertone authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    validity.set(&mut params)?;
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    write_private(&folder.join("authority.key"), &key.serialize_pem())?;
    write_new(&folder.join("authority.pem"), &certificate.pem())
}

/// Makes the certificate of a learner or a router, valid for these host names and addresses.
///
/// # Errors
/// When the folder has no authority, the holder has a certificate already, or a host name is not valid.
pub fn add(
    folder: &Path,
    holder: Holder,
    hosts: &[String],
    validity: Validity,
) -> Result<Certificates, CertificateError> {
    let files = files(folder, holder);
    let issuer = authority(folder)?;
    for host in hosts {
        check_host(host)?;
    }
    let mut params = CertificateParams::new(hosts.to_vec())?;
    params.distinguished_name = name(&holder.name());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    validity.set(&mut params)?;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    write_private(&files.key, &key.serialize_pem())?;
    write_new(&files.certificate, &certificate.pem())?;
    Ok(files)
}

fn authority(folder: &Path) -> Result<Issuer<'static, KeyPair>, CertificateError> {
    let read = |file: &str| {
        let path = folder.join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok((path, text)),
            Err(error) => Err(CertificateError::File { path, error }),
        }
    };
    let (path, text) = read("authority.key")?;
    let key =
        KeyPair::from_pem(&text).map_err(|error| CertificateError::Authority { path, error })?;
    let (path, text) = read("authority.pem")?;
    Issuer::from_ca_cert_pem(&text, key)
        .map_err(|error| CertificateError::Authority { path, error })
}

/// Checks that TLS can compare a host name: letters, digits, hyphens and dots, or an address.
fn check_host(host: &str) -> Result<(), CertificateError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let named = !host.is_empty() && host.len() <= 253 && host.chars().all(plain);
    if named || host.parse::<std::net::IpAddr>().is_ok() {
        return Ok(());
    }
    Err(CertificateError::Host { host: host.into() })
}

fn name(text: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, text);
    name
}

/// Writes a private key, which only its owner may read.
fn write_private(path: &Path, text: &str) -> Result<(), CertificateError> {
    let written = private_file::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CertificateError::File { path: path.into(), error })
}

fn write_new(path: &Path, text: &str) -> Result<(), CertificateError> {
    let written =
        std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CertificateError::File { path: path.into(), error })
}
