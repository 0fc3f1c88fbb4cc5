//! The server's settings, and the context made from them before the loop.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring::Ticketer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};

use super::{Identity, Pem, SettingsError, Version, provider, versions};

/// The TLS settings of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    pub identity: Identity,
    /// The supported protocols in order of preference; if empty, none is negotiated.
    pub alpn: Vec<Vec<u8>>,
    pub min: Version,
    pub max: Version,
    /// If set, every client must send a certificate signed by one of these CAs.
    pub client_ca: Option<Pem>,
    /// True if clients may resume sessions (by tickets, which cost the server no memory).
    pub resumption: bool,
}

impl ServerSettings {
    /// Settings with both versions and resumption, but without ALPN or client certificates.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            alpn: Vec::new(),
            min: Version::Tls12,
            max: Version::Tls13,
            client_ca: None,
            resumption: true,
        }
    }
}

/// The configuration of new connections. Clones share it: replacing it in one replaces it in all.
#[derive(Clone, Debug)]
pub struct ServerContext {
    current: Arc<RwLock<Arc<ServerConfig>>>,
}

impl ServerContext {
    /// # Errors
    /// No context can be made from these settings; the error states the reason.
    pub fn new(settings: &ServerSettings) -> Result<Self, SettingsError> {
        let identity = &settings.identity;
        let refused = |error: rustls::Error| SettingsError::Refused(error.to_string());
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&versions(settings.min, settings.max)?)
            .map_err(refused)?
            .with_client_cert_verifier(client_verifier(settings.client_ca.as_ref())?)
            .with_single_cert(identity.chain.certificates()?, identity.key.key()?)
            .map_err(|error| identity.refused(&error))?;
        config.alpn_protocols.clone_from(&settings.alpn);
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if settings.resumption {
            config.ticketer = Ticketer::new().map_err(refused)?;
        } else {
            config.send_tls13_tickets = 0;
        }
        Ok(Self {
            current: Arc::new(RwLock::new(Arc::new(config))),
        })
    }

    /// Handles new connections with the settings of `other` from now on; existing connections do
    /// not change. Earlier sessions are not resumed.
    pub fn replace(&self, other: &Self) {
        let config = other.config();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }
}

fn client_verifier(ca: Option<&Pem>) -> Result<Arc<dyn ClientCertVerifier>, SettingsError> {
    let Some(ca) = ca else {
        return Ok(WebPkiClientVerifier::no_client_auth());
    };
    let roots = Arc::new(ca.roots()?);
    WebPkiClientVerifier::builder_with_provider(roots, provider())
        .build()
        .map_err(|error| SettingsError::Refused(error.to_string()))
}
