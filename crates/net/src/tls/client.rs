//! The client's settings, and the context made from them before the loop.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

use super::unverified::Unverified;
use super::{Identity, Pem, SettingsError, Version, provider, versions};

const KEPT_SESSIONS: usize = 256;

/// The way in which the server's certificate is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Against the system's CA certificates, or those in `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    #[default]
    System,
    /// Against these CA certificates.
    Ca(Pem),
    /// No verification: every certificate is accepted.
    Skip,
}

/// The TLS settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    pub verify: Verify,
    /// The name for SNI and certificate verification; if `None`, the host is used.
    pub server_name: Option<String>,
    /// The offered protocols in order of preference, for example `http/1.1`; none if empty.
    pub alpn: Vec<Vec<u8>>,
    pub min: Version,
    pub max: Version,
    /// The certificate that the client sends when the server requests one.
    pub identity: Option<Identity>,
    /// True if later connections may resume the sessions of earlier ones.
    pub resumption: bool,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            verify: Verify::System,
            server_name: None,
            alpn: Vec::new(),
            min: Version::Tls12,
            max: Version::Tls13,
            identity: None,
            resumption: true,
        }
    }
}

/// The TLS configuration of a client's connections to one server. Cloning is cheap. Clones share
/// the sessions that may be resumed, and therefore a lock, which is taken only in handshakes and
/// when a session ticket arrives. [`ClientContext::separate`] makes a context that shares neither.
#[derive(Clone, Debug)]
pub struct ClientContext {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    made_from: Arc<(ClientSettings, String)>,
}

impl ClientContext {
    /// Makes a context for a server at `host`: a DNS name or an IP address, without a port.
    ///
    /// # Errors
    /// No context can be made from these settings; the error states the reason.
    pub fn new(settings: &ClientSettings, host: &str) -> Result<Self, SettingsError> {
        let name = settings.server_name.as_deref().unwrap_or(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| SettingsError::ServerName(name.to_owned()))?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&versions(settings.min, settings.max)?)
            .map_err(|error| SettingsError::Refused(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier(&settings.verify)?);
        let mut config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain.certificates()?, identity.key.key()?)
                .map_err(|error| identity.refused(&error))?,
        };
        config.alpn_protocols.clone_from(&settings.alpn);
        config.resumption = resumption(settings.resumption);
        Ok(Self {
            config: Arc::new(config),
            name,
            made_from: Arc::new((settings.clone(), host.to_owned())),
        })
    }

    pub fn settings(&self) -> &ClientSettings {
        &self.made_from.0
    }

    pub fn host(&self) -> &str {
        &self.made_from.1
    }

    /// Returns a context with the same settings, but without sessions or shared mutable state.
    pub fn separate(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = resumption(self.settings().resumption);
        Self {
            config: Arc::new(config),
            name: self.name.clone(),
            made_from: Arc::clone(&self.made_from),
        }
    }
}

fn resumption(wanted: bool) -> Resumption {
    if wanted {
        Resumption::in_memory_sessions(KEPT_SESSIONS)
    } else {
        Resumption::disabled()
    }
}

fn verifier(verify: &Verify) -> Result<Arc<dyn ServerCertVerifier>, SettingsError> {
    let roots = match verify {
        Verify::Skip => return Ok(Arc::new(Unverified(provider()))),
        Verify::Ca(pem) => pem.roots()?,
        Verify::System => system_roots()?,
    };
    match WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build() {
        Ok(verifier) => Ok(verifier),
        Err(error) => Err(SettingsError::Refused(error.to_string())),
    }
}

fn system_roots() -> Result<RootCertStore, SettingsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some machines have old certificates that cannot be parsed; the rest are used.
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable > 0 {
        return Ok(roots);
    }
    let reason = match found.errors.first() {
        Some(error) => error.to_string(),
        None => "none was found".to_owned(),
    };
    Err(SettingsError::NoSystemRoots(reason))
}
