//! Finds all mistakes of a configuration at once, including those that only its preparation shows;
//! also prepares TLS for clients.

use std::path::Path;

use gatebench_net::tls::{Identity, Pem, ServerContext, ServerSettings};

use super::mistakes;
use crate::config::{ConfigError, ConfigErrors, GatewayConfig, Tls};

/// Checks a whole configuration.
///
/// # Errors
/// All mistakes, without duplicates.
pub(crate) fn check(config: &GatewayConfig) -> Result<(), ConfigErrors> {
    let mut found = config.validate().err().map_or(Vec::new(), |wrong| wrong.0);
    let tls = config.tls.as_ref();
    let unserved = tls.and_then(|tls| server_context(tls, config.http2).err());
    let unserved = unserved.into_iter().flat_map(|wrong| wrong.0);
    for mistake in mistakes(config).into_iter().chain(unserved) {
        if !found.contains(&mistake) {
            found.push(mistake);
        }
    }
    ConfigError::unless(found, ()).map_err(ConfigErrors)
}

/// Reads the files that TLS needs.
pub(crate) fn server_context(tls: &Tls, has_http2: bool) -> Result<ServerContext, ConfigErrors> {
    let read = |path: &str| Pem::read(Path::new(path));
    let made = || {
        let identity = Identity {
            chain: read(&tls.certificate)?,
            key: read(&tls.key)?,
        };
        let mut settings = ServerSettings::new(identity);
        settings.alpn = vec![b"http/1.1".to_vec()];
        if has_http2 {
            settings.alpn.insert(0, b"h2".to_vec());
        }
        ServerContext::new(&settings)
    };
    made().map_err(|error| ConfigErrors(vec![ConfigError::from(error).below("/tls")]))
}
