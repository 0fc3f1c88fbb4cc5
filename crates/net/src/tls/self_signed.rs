//! A certificate for users who have none.

use super::{Identity, Pem, SettingsError};

/// Generates a key (ECDSA P-256) and a self-signed certificate for DNS names and IP addresses. A
/// client that trusts the certificate as an authority accepts it.
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
