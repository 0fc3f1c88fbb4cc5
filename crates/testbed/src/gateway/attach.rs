//! A gateway that the user started. It is measured, but never stopped.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::time::Duration;

use crate::error::DriverError;
use crate::wire::Wire;

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The address and, if known, the process of a gateway that the user started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    pub addr: SocketAddr,
    /// The root of the gateway's process tree, whose CPU time and memory are read; none if it is
    /// unknown.
    pub pid: Option<u32>,
}

impl Attached {
    /// Resolves `http://HOST[:PORT]` (port 80 by default), and checks that the process exists and
    /// that the gateway responds.
    ///
    /// # Errors
    /// [`DriverError::Attach`] if the URL cannot be resolved or a check fails.
    pub fn new(url: &str, pid: Option<u32>) -> Result<Self, DriverError> {
        let fail = |message: String| DriverError::Attach {
            url: url.into(),
            message,
        };
        let addr = resolve(url).map_err(fail)?;
        if let Some(pid) = pid.filter(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            return Err(fail(format!("there is no process {pid}")));
        }
        match Wire::plain(addr).status_of("/", RESPONSE_TIMEOUT) {
            Ok(_) => Ok(Self { addr, pid }),
            Err(error) => Err(fail(format!("it does not respond: {error}"))),
        }
    }
}

fn resolve(url: &str) -> Result<SocketAddr, String> {
    let authority = url
        .strip_prefix("http://")
        .ok_or("the URL must begin with http://")?;
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    if authority.contains('/') {
        return Err("the URL must not have a path".into());
    }
    let port = authority
        .rsplit_once(':')
        .map(|(_, port)| port.parse::<u16>());
    let with_port = match port {
        Some(Ok(_)) => authority.to_owned(),
        _ => format!("{authority}:80"),
    };
    let addresses = with_port.to_socket_addrs();
    let first = addresses
        .map_err(|error| format!("{with_port}: {error}"))?
        .next();
    first.ok_or_else(|| format!("{with_port} does not resolve to an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_base_urls_are_accepted() {
        let at = |port| Ok(SocketAddr::from(([127, 0, 0, 1], port)));
        assert_eq!(resolve("http://127.0.0.1:8080/"), at(8080));
        assert_eq!(resolve("http://127.0.0.1"), at(80));
        assert!(resolve("https://127.0.0.1:8080").is_err());
        assert!(resolve("http://127.0.0.1:8080/x").is_err());
    }
}
