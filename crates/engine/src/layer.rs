//! The layer between HTTP and the socket, which adds a PROXY header and TLS.

use std::net::SocketAddr;

use gatebench_net::Outbox;
use gatebench_net::tls::{ClientContext, Session, SessionError, SettingsError};

/// A connection's TLS session, if it uses TLS, and the bytes that are queued to be sent.
pub(crate) struct Layer {
    session: Option<Session>,
    pub(crate) outbox: Outbox,
}

impl Layer {
    /// Starts the layer of a new connection, and queues `preamble` and the first bytes of TLS.
    pub(crate) fn begin(
        preamble: &[u8],
        tls: Option<&ClientContext>,
    ) -> Result<Self, SettingsError> {
        let mut outbox = Outbox::default();
        outbox.queue().extend_from_slice(preamble);
        let session = match tls {
            Some(context) => Some(Session::client(context, outbox.queue())?),
            None => None,
        };
        Ok(Self { session, outbox })
    }

    /// Reports whether requests may be sent.
    pub(crate) fn is_ready(&self) -> bool {
        self.session.as_ref().is_none_or(|it| !it.is_handshaking())
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.session.as_ref().is_some_and(Session::resumed)
    }

    /// Reports whether HTTP/2 may be used. Over TLS, the server must have agreed to it.
    pub(crate) fn speaks_http2(&self) -> bool {
        let session = self.session.as_ref();
        session.is_none_or(|it| it.alpn() == Some(b"h2"))
    }

    /// Queues a message for [`Outbox::flush`] to send.
    pub(crate) fn write(&mut self, message: &[u8]) -> Result<(), SessionError> {
        match &mut self.session {
            Some(session) => session.send(message, self.outbox.queue()),
            None => {
                self.outbox.queue().extend_from_slice(message);
                Ok(())
            }
        }
    }

    /// Processes received bytes and appends their plaintext to `plain`.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        match &mut self.session {
            Some(session) => {
                let keep = |piece: &[u8]| plain.extend_from_slice(piece);
                session.receive(bytes, self.outbox.queue(), keep)
            }
            None => {
                plain.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Handles the peer's FIN. Returns an error if TLS ended without close_notify, because the last
    /// bytes may then be missing.
    pub(crate) fn end_of_stream(&self) -> Result<(), SessionError> {
        self.session.as_ref().map_or(Ok(()), Session::end_of_stream)
    }
}

/// The signature at the beginning of a header of version 2.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, command LOCAL.
const LOCAL: u8 = 0x20;
/// Version 2, command PROXY.
const PROXY: u8 = 0x21;

/// The version of the PROXY header at the beginning of a connection (HAProxy's PROXY protocol,
/// versions 1 and 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyProtocol {
    V1,
    V2,
}

impl ProxyProtocol {
    pub(crate) fn header(self, source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
        match self {
            Self::V1 => header_v1(source, destination),
            Self::V2 => header_v2(source, destination),
        }
    }

    /// Returns the header of a connection without addresses, such as one over a Unix socket.
    pub(crate) fn unknown(self) -> Vec<u8> {
        match self {
            Self::V1 => b"PROXY UNKNOWN\r\n".to_vec(),
            Self::V2 => [SIGNATURE, &[LOCAL, 0, 0, 0]].concat(),
        }
    }
}

fn header_v1(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let family = if destination.is_ipv4() {
        "TCP4"
    } else {
        "TCP6"
    };
    let (from, to) = (source.ip(), destination.ip());
    let ports = (source.port(), destination.port());
    format!("PROXY {family} {from} {to} {} {}\r\n", ports.0, ports.1).into_bytes()
}

fn header_v2(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let mut addresses = Vec::new();
    let family = match (source, destination) {
        (SocketAddr::V4(from), SocketAddr::V4(to)) => {
            addresses.extend(from.ip().octets());
            addresses.extend(to.ip().octets());
            0x11
        }
        (from, to) => {
            addresses.extend(in_six(from).octets());
            addresses.extend(in_six(to).octets());
            0x21
        }
    };
    addresses.extend(source.port().to_be_bytes());
    addresses.extend(destination.port().to_be_bytes());
    let mut header = SIGNATURE.to_vec();
    header.extend([PROXY, family]);
    header.extend((addresses.len() as u16).to_be_bytes());
    header.extend(addresses);
    header
}

fn in_six(address: SocketAddr) -> std::net::Ipv6Addr {
    match address.ip() {
        std::net::IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        std::net::IpAddr::V6(ip) => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(protocol: ProxyProtocol, source: &str, destination: &str) -> Vec<u8> {
        protocol.header(source.parse().unwrap(), destination.parse().unwrap())
    }

    #[test]
    fn the_first_version_is_a_line() {
        assert_eq!(
            header(ProxyProtocol::V1, "192.0.2.1:56324", "192.0.2.2:443"),
            b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"
        );
        assert_eq!(
            header(ProxyProtocol::V1, "[2001:db8::1]:1", "[2001:db8::2]:2"),
            b"PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n"
        );
    }

    #[test]
    fn the_second_version_is_binary() {
        let four = header(ProxyProtocol::V2, "192.0.2.1:258", "192.0.2.2:443");
        let expected =
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x01\x02\x01\xbb";
        assert_eq!(four, expected);
        let six = header(ProxyProtocol::V2, "[::1]:1", "[::2]:2");
        assert_eq!((six.len(), &six[12..16]), (16 + 36, &b"\x21\x21\0\x24"[..]));
    }
}
