//! Errors in settings and in a session.

use std::io;
use std::path::PathBuf;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};

use super::Version;

/// The reason why a context cannot be made. The machine causes [`SettingsError::NoSystemRoots`];
/// the user's settings usually cause the others.
#[derive(Debug, thiserror::Error)]
#[error("{}; {}", self.what_and_place(), self.remedy())]
pub enum SettingsError {
    Unreadable {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The PEM text with this name, usually the path of its file, cannot be used.
    Unusable {
        name: String,
        reason: String,
        remedy: &'static str,
    },
    /// The machine has no usable CA certificates, for this reason.
    NoSystemRoots(String),
    /// The server name is neither a DNS name nor an IP address.
    ServerName(String),
    /// The minimum version is above the maximum.
    Versions { min: Version, max: Version },
    /// rustls refuses the combination of settings, or rcgen refuses a name.
    Refused(String),
}

/// The reason why a session ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", self.what(), self.remedy())]
pub enum SessionError {
    /// The peer sent a fatal alert, named as in RFC 8446 6.2, for example `handshake_failure`.
    Alert { name: String },
    Certificate {
        fault: CertificateFault,
        reason: String,
    },
    /// A record has an invalid content type, usually because the peer does not speak TLS.
    NotTls,
    /// The two sides do not share a necessary feature, for example a version, a cipher or an ALPN
    /// protocol.
    Incompatible(String),
    /// The peer violated the protocol, or its bytes were altered in transit.
    Protocol(String),
    /// The keys have protected as many records as they may. This happens only under TLS 1.2, where
    /// keys cannot be renewed and AES-GCM allows 2^24 records.
    KeysUsedUp,
    /// The connection ended before the handshake was complete.
    ClosedInHandshake,
    /// The connection ended without close_notify: the received data may be cut off.
    Truncated,
}

/// The kind of mistake in a certificate, which determines the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateFault {
    Missing,
    /// No trusted CA has signed the certificate.
    UnknownIssuer,
    OtherName,
    Expired,
    NotYetValid,
    /// The peer presented a CA certificate.
    OfAuthority,
    Other,
}

impl SettingsError {
    /// The file, or the name of the PEM text, that contains the mistake; `None` if the mistake is
    /// elsewhere.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Unreadable { path, .. } => Some(path.display().to_string()),
            Self::Unusable { name, .. } => Some(name.clone()),
            _ => None,
        }
    }

    /// Returns the place, if there is one, and the description of the mistake.
    pub fn what_and_place(&self) -> String {
        let place = self.place().map_or(String::new(), |it| format!("{it}: "));
        place + &self.what()
    }

    /// Returns the description of the mistake without the place and the remedy.
    pub fn what(&self) -> String {
        match self {
            Self::Unreadable { error, .. } => error.to_string(),
            Self::Unusable { reason, .. } => reason.clone(),
            Self::NoSystemRoots(reason) => {
                format!("cannot load this machine's CA certificates ({reason})")
            }
            Self::ServerName(name) => {
                format!("the server name '{name}' is neither a DNS name nor an IP address")
            }
            Self::Versions { min, max } => {
                format!("no TLS version is at least {min} and at most {max}")
            }
            Self::Refused(reason) => format!("these TLS settings cannot be used: {reason}"),
        }
    }

    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "give the path of a readable PEM file",
            Self::Unusable { remedy, .. } => remedy,
            Self::NoSystemRoots(_) => {
                "install the package ca-certificates, set SSL_CERT_FILE, or give the CA certificate"
            }
            Self::ServerName(_) => "give the name in the server's certificate",
            Self::Versions { .. } => "choose a minimum version that does not exceed the maximum",
            Self::Refused(_) => "change one of these settings",
        }
    }
}

impl SessionError {
    /// Returns the description of the error without the remedy.
    pub fn what(&self) -> String {
        match self {
            Self::Alert { name } => format!("the peer ended TLS with the alert {name}"),
            Self::Certificate { reason, .. } => {
                format!("the peer's certificate is not accepted: {reason}")
            }
            Self::NotTls => "the peer does not speak TLS".into(),
            Self::Incompatible(reason) => {
                format!("the peer supports nothing that this side offers: {reason}")
            }
            Self::Protocol(reason) => format!("the peer violated the TLS protocol: {reason}"),
            Self::KeysUsedUp => {
                "the TLS 1.2 keys of the connection have reached their record limit".into()
            }
            Self::ClosedInHandshake => {
                "the peer closed the connection during the TLS handshake".into()
            }
            Self::Truncated => {
                "the peer closed the connection without close_notify, so its data may be truncated"
                    .into()
            }
        }
    }

    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Alert { name } => alert_remedy(name),
            Self::Certificate { fault, .. } => fault.remedy(),
            Self::NotTls => "use a port that speaks TLS, or do not use TLS",
            Self::Incompatible(_) => "allow more versions or protocols",
            Self::Protocol(_) => "examine the peer with `openssl s_client`",
            Self::KeysUsedUp => "use TLS 1.3, which renews its keys, or renew connections earlier",
            Self::ClosedInHandshake | Self::Truncated => "check the peer's log",
        }
    }
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        match error {
            Error::AlertReceived(alert) => Self::Alert {
                name: alert_name(alert),
            },
            Error::InvalidCertificate(error) => {
                let (fault, reason) = mistake(&error);
                Self::Certificate { fault, reason }
            }
            Error::NoCertificatesPresented => Self::Certificate {
                fault: CertificateFault::Missing,
                reason: "the peer sent none".to_owned(),
            },
            Error::PeerIncompatible(_) | Error::NoApplicationProtocol => {
                Self::Incompatible(error.to_string())
            }
            Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => Self::NotTls,
            error => Self::Protocol(error.to_string()),
        }
    }
}

/// The name in the IANA registry of TLS alerts: `UnknownCA` becomes `unknown_ca`. An unknown alert
/// becomes its number.
pub(super) fn alert_name(alert: AlertDescription) -> String {
    let name = match alert {
        AlertDescription::EncryptedClientHelloRequired => return "ech_required".to_owned(),
        AlertDescription::UnrecognisedName => return "unrecognized_name".to_owned(),
        AlertDescription::Unknown(code) => return code.to_string(),
        known => format!("{known:?}"),
    };
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_lower = at > 0 && letters[at - 1].is_lowercase();
        let before_lower = at > 0 && letters.get(at + 1).is_some_and(|it| it.is_lowercase());
        if letter.is_uppercase() && (after_lower || before_lower) {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn alert_remedy(name: &str) -> &'static str {
    match name {
        "certificate_required" => "give a client certificate and its key",
        "unknown_ca" => {
            "use a certificate signed by a CA that the peer trusts, or make the peer trust its CA"
        }
        "protocol_version" => "allow a TLS version that the peer speaks",
        "no_application_protocol" => "offer an ALPN protocol that the peer speaks",
        "unrecognized_name" => "request a server name that the peer serves",
        _ => "check the peer's log for the reason",
    }
}

/// Returns the kind of mistake in a certificate, and a description, which includes names or the
/// time since expiry (or until validity) if rustls reports them.
fn mistake(error: &CertificateError) -> (CertificateFault, String) {
    use CertificateError as E;
    use CertificateFault as Fault;
    let span = |later: UnixTime, earlier: UnixTime| {
        let seconds = later.as_secs().saturating_sub(earlier.as_secs());
        match seconds / SECONDS_OF_A_DAY {
            0 => format!("{seconds} s"),
            1 => "1 day".to_owned(),
            days => format!("{days} days"),
        }
    };
    match error {
        E::BadEncoding => (Fault::Other, "it cannot be parsed".into()),
        E::BadSignature => (Fault::Other, "its signature is invalid".into()),
        E::Revoked => (Fault::Other, "it was revoked".into()),
        E::UnknownIssuer => {
            let reason = "it is not signed by a trusted CA (UnknownIssuer)";
            (Fault::UnknownIssuer, reason.into())
        }
        E::NotValidForName => {
            let reason = "it is not valid for the requested name";
            (Fault::OtherName, reason.into())
        }
        E::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = match names.as_slice() {
                [] => "nor for any other name".to_owned(),
                names => format!("but for {}", names.join(", ")),
            };
            let reason = format!("it is not valid for {}, {names}", expected.to_str());
            (Fault::OtherName, reason)
        }
        E::Expired => (Fault::Expired, "it has expired".into()),
        E::ExpiredContext { time, not_after } => {
            let reason = format!("it expired {} ago", span(*time, *not_after));
            (Fault::Expired, reason)
        }
        E::NotValidYet => (Fault::NotYetValid, "it is not valid yet".into()),
        E::NotValidYetContext { time, not_before } => {
            let reason = format!("it becomes valid in {}", span(*not_before, *time));
            (Fault::NotYetValid, reason)
        }
        // webpki has a separate name for this error, which rustls passes on unchanged.
        E::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
            let reason =
                "it is a CA certificate (CA:TRUE), which a server must not present as its own";
            (Fault::OfAuthority, reason.into())
        }
        E::Other(other) => (Fault::Other, other.to_string()),
        error => (Fault::Other, error.to_string()),
    }
}

const SECONDS_OF_A_DAY: u64 = 24 * 3600;

/// A name from a rustls message: `localhost` from `DnsName("localhost")`.
fn bare(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

impl CertificateFault {
    fn remedy(self) -> &'static str {
        match self {
            Self::Missing => "give the client a certificate and its key",
            Self::UnknownIssuer => {
                "give the certificate of the CA that signed the peer's certificate"
            }
            Self::OtherName => "give a server name that the certificate is valid for",
            Self::Expired => "renew the certificate, or correct this machine's clock",
            Self::NotYetValid => "wait, or correct this machine's clock",
            Self::OfAuthority => {
                "give the peer a certificate that a CA signed, or skip the verification"
            }
            Self::Other => "give the peer a valid certificate, or skip the verification",
        }
    }
}

#[cfg(test)]
mod tests {
    use rustls::AlertDescription as Alert;

    use super::*;

    #[test]
    fn alerts_have_the_names_of_the_rfc() {
        for (alert, name) in [
            (Alert::CloseNotify, "close_notify"),
            (Alert::BadRecordMac, "bad_record_mac"),
            (Alert::UnknownCA, "unknown_ca"),
            (Alert::UnknownPSKIdentity, "unknown_psk_identity"),
            (Alert::UnrecognisedName, "unrecognized_name"),
            (Alert::EncryptedClientHelloRequired, "ech_required"),
            (Alert::Unknown(200), "200"),
        ] {
            assert_eq!(alert_name(alert), name);
        }
    }
}
