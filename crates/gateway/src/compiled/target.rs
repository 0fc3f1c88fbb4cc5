//! The targets of upstreams with their resolved addresses, and the TLS contexts for connections to
//! targets and from clients.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use gatebench_net::tls::{
    ClientContext, ClientSettings, Identity, Pem, ServerContext, ServerSettings, SettingsError,
    Verify,
};

use crate::config::{ConfigError, ConfigErrors, Tls, Upstream, UpstreamTls};

/// One address of an upstream, ready for connecting.
#[derive(Clone, Debug)]
pub(crate) struct CompiledTarget {
    pub(crate) address: SocketAddr,
    /// The value of `Host` in requests from HTTP/1.0 clients that send none.
    pub(crate) authority: String,
    /// The maximum number of idle connections to the target that each worker keeps.
    pub(crate) keepalive: usize,
    /// The time for which the target is avoided after a failed connection.
    pub(crate) rest_ns: u64,
    pub(crate) tls: Option<ClientContext>,
}

impl CompiledTarget {
    /// Reports whether connections to one of the targets can be used for the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same_tls = match (&self.tls, &other.tls) {
            // A context's settings contain the CA certificates, whose file may have changed since.
            (Some(tls), Some(other)) => {
                tls.settings() == other.settings() && tls.host() == other.host()
            }
            (tls, other) => tls.is_none() && other.is_none(),
        };
        self.address == other.address && is_same_tls
    }

    /// Returns a copy for one worker, which shares no mutable state with the other workers' copies.
    pub(crate) fn separate(&self) -> Self {
        let mut target = self.clone();
        if let Some(tls) = &mut target.tls {
            *tls = tls.separate();
        }
        target
    }
}

/// Looks up the address of each target and prepares its TLS context. A target with a mistake yields
/// an error.
pub(crate) fn ready(
    upstream: &Upstream,
) -> impl Iterator<Item = Result<CompiledTarget, ConfigError>> {
    upstream.targets.iter().enumerate().map(|(at, target)| {
        let wrong_address = |wrong: ConfigError| wrong.below(format!("/targets/{at}/address"));
        let address = look_up(&target.address, target.port).map_err(wrong_address)?;
        let tls = upstream.tls.as_ref();
        let tls = tls.map(|settings| target_tls(settings, &target.address));
        Ok(CompiledTarget {
            address,
            authority: address.to_string(),
            keepalive: upstream.keepalive as usize,
            rest_ns: u64::from(upstream.rest_after_failure_ms) * 1_000_000,
            tls: tls
                .transpose()
                .map_err(|error| ConfigError::from(error).below("/tls"))?,
        })
    })
}

fn target_tls(settings: &UpstreamTls, host: &str) -> Result<ClientContext, SettingsError> {
    let verify = match &settings.ca {
        _ if settings.skip_verify => Verify::Skip,
        Some(path) => Verify::Ca(Pem::read(Path::new(path))?),
        None => Verify::System,
    };
    let wanted = ClientSettings {
        verify,
        server_name: settings.server_name.clone(),
        alpn: vec![b"http/1.1".to_vec()],
        ..ClientSettings::default()
    };
    ClientContext::new(&wanted, host)
}

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

fn look_up(address: &str, port: u16) -> Result<SocketAddr, ConfigError> {
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    let found = match (bare, port).to_socket_addrs() {
        Ok(mut found) => found.next().ok_or("has no address".to_owned()),
        Err(error) => Err(format!("cannot be looked up: {error}")),
    };
    found.map_err(|why| {
        ConfigError::new(
            format!("the host \"{address}\" {why}"),
            "write an IP address",
        )
    })
}
