//! The targets of upstreams with their resolved addresses, and the TLS contexts for connections to
//! targets and from clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

use gatebench_net::tls::{
    ClientContext, ClientSettings, Identity, Pem, ServerContext, ServerSettings, SettingsError,
    Verify,
};

use crate::config::{ConfigError, ConfigErrors, Target, Tls, Upstream, UpstreamTls};

/// One address of an upstream, ready for connecting.
#[derive(Clone, Debug)]
pub(crate) struct CompiledTarget {
    pub(crate) address: SocketAddr,
    /// The value of `Host` in requests from HTTP/1.0 clients that send none.
    pub(crate) authority: String,
    /// The maximum number of idle connections that each worker keeps open to the target.
    pub(crate) keepalive: usize,
    /// The time for which the target is avoided after connecting to it has failed.
    pub(crate) rest_ns: u64,
    pub(crate) tls: Option<ClientContext>,
}

impl CompiledTarget {
    /// Reports whether connections to one of the targets can be used for the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same_tls = match (&self.tls, &other.tls) {
            // The settings contain the CA certificates themselves, so they differ if the file with
            // the certificates has changed.
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

type Weighted = (u32, CompiledTarget);

/// Looks up the addresses of each target and prepares its TLS context.
pub(crate) fn ready(
    upstream: &Upstream,
) -> impl Iterator<Item = Result<Vec<Weighted>, ConfigError>> {
    let targets = upstream.targets.iter().enumerate();
    targets.map(move |(at, target)| {
        let wrong_address = |wrong: ConfigError| wrong.below(format!("/targets/{at}/address"));
        let addresses = look_up(&target.address, target.port).map_err(wrong_address)?;
        let tls = upstream.tls.as_ref();
        let tls = tls.map(|settings| target_tls(settings, &target.address));
        let tls = tls
            .transpose()
            .map_err(|error| ConfigError::from(error).below("/tls"))?;
        Ok(of_each(&addresses, target, upstream, tls.as_ref()))
    })
}

/// Returns a target for each address of a host. All of them have the weight of the configured
/// target, as in nginx, so that one is left if the gateway cannot connect to another.
fn of_each(
    addresses: &[SocketAddr],
    target: &Target,
    upstream: &Upstream,
    tls: Option<&ClientContext>,
) -> Vec<Weighted> {
    let mut made: Vec<Weighted> = Vec::new();
    for address in addresses {
        // The hosts file may list an address twice.
        if made.iter().any(|(_, known)| known.address == *address) {
            continue;
        }
        let compiled = CompiledTarget {
            address: *address,
            authority: address.to_string(),
            keepalive: upstream.keepalive as usize,
            rest_ns: u64::from(upstream.rest_after_failure_ms) * 1_000_000,
            tls: tls.cloned(),
        };
        made.push((target.weight, compiled));
    }
    made
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

/// Returns the addresses of a host, of which there is at least one.
fn look_up(address: &str, port: u16) -> Result<Vec<SocketAddr>, ConfigError> {
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    let found = (bare, port).to_socket_addrs();
    let why = match found.map(Iterator::collect::<Vec<_>>) {
        Ok(found) if !found.is_empty() => return Ok(usable(found, has_route)),
        Ok(_) => "has no address".to_owned(),
        Err(error) => format!("cannot be looked up: {error}"),
    };
    let message = format!("the host \"{address}\" {why}");
    Err(ConfigError::new(message, "write an IP address"))
}

/// Removes the addresses to which this machine has no route, because every turn of such an address
/// would fail; IPv6, for example, may be disabled. If there is a route to none of them, returns
/// all.
fn usable(found: Vec<SocketAddr>, has_route: impl Fn(&SocketAddr) -> bool) -> Vec<SocketAddr> {
    let (usable, others): (Vec<_>, Vec<_>) = found.into_iter().partition(has_route);
    if usable.is_empty() { others } else { usable }
}

/// Reports whether this machine has a route to an address. Connecting a UDP socket sends no packet.
fn has_route(address: &SocketAddr) -> bool {
    let any = match address {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0));
    socket.and_then(|it| it.connect(address)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_of_a_host_is_a_target_with_its_weight() {
        let target = serde_json::json!({"address": "h", "port": 80, "weight": 3});
        let upstream = serde_json::json!({"name": "o", "keepalive": 1, "targets": [target]});
        let upstream: Upstream = serde_json::from_value(upstream).unwrap();
        let addresses = ["[::1]:80", "127.0.0.1:80", "[::1]:80"];
        let addresses: [SocketAddr; 3] = addresses.map(|it| it.parse().unwrap());
        let made = of_each(&addresses, &upstream.targets[0], &upstream, None);
        let made: Vec<_> = made
            .iter()
            .map(|(weight, target)| (*weight, target.authority.as_str()))
            .collect();
        assert_eq!(made, [(3, "[::1]:80"), (3, "127.0.0.1:80")]);
    }

    #[test]
    fn without_ipv6_a_host_has_only_its_other_addresses() {
        let of = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let both = of(&["[::1]:80", "127.0.0.1:80"]);
        assert_eq!(
            usable(both.clone(), SocketAddr::is_ipv4),
            of(&["127.0.0.1:80"])
        );
        assert_eq!(usable(both.clone(), |_| true), both);
        assert_eq!(usable(both.clone(), |_| false), both);
        assert!(has_route(&both[1]));
    }
}
