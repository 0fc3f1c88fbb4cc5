//! Sockets with the options that both backends need: non-blocking, close-on-exec, without Nagle's
//! algorithm.

#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::Peer;

/// The number of connections that may wait to be accepted; the kernel limits it to
/// `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

fn tcp_socket(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}

/// A listening socket and its address. Accepted sockets inherit `TCP_NODELAY`.
pub(crate) fn listener(address: SocketAddr, shared: bool) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = tcp_socket(&address)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if shared {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    let bound = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((socket, bound))
}

/// A socket that is ready to be connected to `peer`.
pub(crate) fn connecting(peer: &Peer, source: Option<IpAddr>) -> io::Result<OwnedFd> {
    match peer {
        Peer::Tcp(peer) => tcp_connecting(peer, source),
        Peer::Unix(_) => {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
            Ok(rustix::net::socket_with(family, kind, flags, None)?)
        }
    }
}

fn tcp_connecting(peer: &SocketAddr, source: Option<IpAddr>) -> io::Result<OwnedFd> {
    let socket = tcp_socket(peer)?;
    if let Some(source) = source {
        // Leaves the choice of the port to connect(2), which may then use one port for several
        // peers: without this option, about 28,000 connections exhaust a source address by default.
        bind_address_no_port(&socket)?;
        rustix::net::bind(&socket, &SocketAddr::new(source, 0))?;
    }
    Ok(socket)
}

/// Sets `IP_BIND_ADDRESS_NO_PORT` (ip(7)), which rustix does not offer.
fn bind_address_no_port(socket: &OwnedFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    let (option, len) = (
        libc::IP_BIND_ADDRESS_NO_PORT,
        size_of_val(&on) as libc::socklen_t,
    );
    // SAFETY: the descriptor is open, and the option is an int that outlives the call.
    let response = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            option,
            (&raw const on).cast(),
            len,
        )
    };
    if response == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Makes the next close of this socket send RST.
pub(crate) fn reset_on_close(socket: impl AsFd) {
    // If this fails, the close is orderly, which is harmless.
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_address_takes_no_port_before_it_connects() {
        for (peer, source) in [("127.0.0.1:9", "127.0.0.7"), ("[::1]:9", "::1")] {
            let peer = Peer::Tcp(peer.parse().unwrap());
            let socket = connecting(&peer, Some(source.parse().unwrap())).unwrap();
            let bound = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
            assert_eq!(bound.ip().to_string(), source);
            assert_eq!(bound.port(), 0);
        }
    }
}
