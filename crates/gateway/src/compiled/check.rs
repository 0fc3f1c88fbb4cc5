//! All mistakes of a configuration at once, what only shows when it is made ready among it; and the
//! TLS that is spoken with clients.

use std::path::Path;

use gatebench_net::tls::{Identity, Pem, ServerContext, ServerSettings};

use super::mistakes;
use crate::config::{ConfigError, ConfigErrors, GatewayConfig, Tls};

/// Looks at all of a configuration.
///
/// # Errors
/// Everything that is wrong with it, each once.
pub(crate) fn check(config: &GatewayConfig) -> Result<(), ConfigErrors> {
    let mut found = config.validate().err().map_or(Vec::new(), |wrong| wrong.0);
    let served = config
        .tls
        .as_ref()
        .map(|tls| server_context(tls, config.http2));
    let unserved = served
        .and_then(Result::err)
        .map_or(Vec::new(), |wrong| wrong.0);
    for mistake in mistakes(config).into_iter().chain(unserved) {
        if !found.contains(&mistake) {
            found.push(mistake);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(ConfigErrors(found))
}

/// What TLS needs, from its files.
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
    made().map_err(|error| ConfigErrors(vec![ConfigError::new("/tls", error.to_string())]))
}
