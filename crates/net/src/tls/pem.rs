//! Certificates and keys, from users or self-signed.

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::SettingsError;

const BEGIN: &[u8] = b"-----BEGIN";

/// PEM text (RFC 7468) and its name in errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pem {
    /// Usually the path of the file.
    pub name: String,
    /// The text; a single certificate may also be in DER.
    pub bytes: Vec<u8>,
}

impl Pem {
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            bytes: bytes.into(),
        }
    }

    /// Reads PEM text from a file and names it after the path.
    ///
    /// # Errors
    /// The file cannot be read. Its contents are checked when a context is made.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self::new(path.display().to_string(), bytes)),
            Err(error) => Err(SettingsError::Unreadable {
                path: path.to_owned(),
                error,
            }),
        }
    }

    fn unusable(&self, reason: impl Into<String>, remedy: &'static str) -> SettingsError {
        SettingsError::Unusable {
            name: self.name.clone(),
            reason: reason.into(),
            remedy,
        }
    }

    /// Returns all certificates in the text; it is an error if there are none.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
        const REMEDY: &str = "give certificates in PEM format, each with its BEGIN and END lines";
        if !self.is_text() && self.bytes.first() == Some(&DER_SEQUENCE) {
            return Ok(vec![CertificateDer::from(self.bytes.clone())]);
        }
        let found: Result<Vec<_>, PemError> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        match found {
            Ok(found) if found.is_empty() => Err(self.unusable("no certificate found", REMEDY)),
            Ok(found) => Ok(found),
            Err(error) => Err(self.unusable(error.to_string(), REMEDY)),
        }
    }

    /// Returns the first private key in the text.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, SettingsError> {
        const REMEDY: &str =
            "give an unencrypted private key in PEM format, as `openssl pkey -in FILE` writes it";
        PrivateKeyDer::from_pem_slice(&self.bytes).map_err(|error| match error {
            PemError::NoItemsFound => self.unusable("no private key found", REMEDY),
            error => self.unusable(error.to_string(), REMEDY),
        })
    }

    pub(super) fn roots(&self) -> Result<RootCertStore, SettingsError> {
        const REMEDY: &str = "give an X.509 CA certificate";
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            roots
                .add(certificate)
                .map_err(|error| self.unusable(error.to_string(), REMEDY))?;
        }
        Ok(roots)
    }

    fn is_text(&self) -> bool {
        self.bytes.windows(BEGIN.len()).any(|it| it == BEGIN)
    }
}

/// The first byte of every DER certificate.
const DER_SEQUENCE: u8 = 0x30;

/// A certificate with its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, followed by those that lead to its CA.
    pub chain: Pem,
    pub key: Pem,
}

impl Identity {
    /// Describes, in the user's terms, a rustls error about a chain and a key.
    pub(super) fn refused(&self, error: &rustls::Error) -> SettingsError {
        match error {
            rustls::Error::InconsistentKeys(_) => self.chain.unusable(
                format!(
                    "the first certificate does not match the key in {}",
                    self.key.name
                ),
                "give the key of that certificate, or a chain that begins with the certificate of that key",
            ),
            rustls::Error::InvalidCertificate(error) => self.chain.unusable(
                error.to_string(),
                "give an X.509 certificate with a subject alternative name",
            ),
            error => self.key.unusable(
                error.to_string(),
                "give a key for ECDSA P-256 or P-384, Ed25519, or RSA with at least 2048 bits",
            ),
        }
    }
}

/// Generates a key (ECDSA P-256) and a self-signed certificate for DNS names and IP addresses. A
/// client that trusts the certificate as a CA accepts it.
///
/// # Errors
/// A name is not allowed in a certificate.
pub fn self_signed(names: &[&str]) -> Result<Identity, SettingsError> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let made = rcgen::generate_simple_self_signed(names.clone())
        .map_err(|error| SettingsError::Refused(format!("{error} in {}", names.join(", "))))?;
    Ok(Identity {
        chain: Pem::new("the self-signed certificate", made.cert.pem()),
        key: Pem::new(
            "the key of the self-signed certificate",
            made.signing_key.serialize_pem(),
        ),
    })
}
