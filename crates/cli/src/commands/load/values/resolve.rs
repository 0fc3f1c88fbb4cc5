//! Finds the address of a host with `--resolve` or the system's resolver.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use super::url::Site;

/// The timeout for connecting to each address, if there are several.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// `HOST:PORT:ADDRESS`, as in curl's `--resolve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolve {
    host: String,
    port: u16,
    address: IpAddr,
}

impl FromStr for Resolve {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let remedy =
            || format!("'{text}' is not HOST:PORT:ADDRESS, as in example.org:443:127.0.0.1");
        let (host, rest) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once("]:").ok_or_else(remedy)?,
            None => text.split_once(':').ok_or_else(remedy)?,
        };
        let (port, address) = rest.split_once(':').ok_or_else(remedy)?;
        let address = address.trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(remedy());
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port: port.parse().map_err(|_| remedy())?,
            address: address.parse().map_err(|_| remedy())?,
        })
    }
}

impl Resolve {
    fn is_of(&self, site: &Site) -> bool {
        self.host == site.host.to_ascii_lowercase() && self.port == site.port
    }
}

/// Returns the address of a site: the one in `known` or, if there is none, one that the resolver
/// finds. If the resolver finds several, returns the first that accepts a connection or, if none
/// does, the first.
///
/// # Errors
/// Fails if the resolver returns an error or no address.
pub(crate) fn address(site: &Site, known: &[Resolve]) -> Result<SocketAddr, String> {
    if let Some(known) = known.iter().find(|known| known.is_of(site)) {
        return Ok(SocketAddr::new(known.address, site.port));
    }
    let found = (site.host.as_str(), site.port).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|error| error.to_string())?.collect();
    match found.as_slice() {
        [] => Err("the name has no address".into()),
        [only] => Ok(*only),
        [first, ..] => {
            let accepts = |address: &&SocketAddr| {
                TcpStream::connect_timeout(address, CONNECT_TIMEOUT).is_ok()
            };
            Ok(*found.iter().find(accepts).unwrap_or(first))
        }
    }
}

pub fn unused<'a>(site: &Site, known: &'a [Resolve]) -> Option<&'a Resolve> {
    known.iter().find(|known| !known.is_of(site))
}

impl std::fmt::Display for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.host, self.port, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::super::url;
    use super::*;

    #[test]
    fn given_addresses_take_precedence() {
        let known = ["a.b:80:127.0.0.9", "[::2]:81:[::1]"].map(|text| text.parse().unwrap());
        let at = |text| {
            address(&url::parse(text).unwrap().0, &known)
                .unwrap()
                .to_string()
        };
        assert_eq!(at("http://A.b/"), "127.0.0.9:80");
        assert_eq!(at("http://[::2]:81/"), "[::1]:81");
        assert_eq!(at("http://127.0.0.1:82/"), "127.0.0.1:82");
        let site = url::parse("http://a.b/").unwrap().0;
        assert_eq!(unused(&site, &known).unwrap().to_string(), "::2:81:::1");
        assert_eq!(unused(&site, &known[..1]), None);
    }

    #[test]
    fn invalid_resolutions_are_refused() {
        for wrong in [
            "",
            "a",
            "a:80",
            "a:80:b",
            ":80:::1",
            "a:x:::1",
            "[::1:80:::1",
        ] {
            assert!(wrong.parse::<Resolve>().is_err(), "{wrong}");
        }
    }
}
