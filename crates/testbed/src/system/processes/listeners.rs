//! Listening sockets.
//!
//! The sockets of one port are read through sock_diag(7). If the kernel does not allow that, as in
//! a container that filters system calls, the sockets are read from `/proc/net`, for which the
//! kernel walks every TCP connection of the network namespace.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, netlink, socket_with};

use super::Inode;

type Listener = (SocketAddr, Inode);

/// The length of `struct nlmsghdr`, which precedes every message.
const HEADER_BYTES: usize = 16;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_ALL: u16 = 0x301;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_DONE: u16 = 3;
/// The length of a request: a header, and `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
/// The TCP state LISTEN: a bit number in requests, a value in `/proc/net`.
const TCP_LISTEN: u32 = 10;
const MESSAGES_BYTES_MAX: usize = 32 * 1024;

/// Returns the inodes of the listening sockets that a client could reach at this address.
pub(crate) fn listeners(address: SocketAddr) -> BTreeSet<Inode> {
    let all = diagnosed(address.port()).unwrap_or_else(|_| listed());
    reached(address, all)
}

fn reached(client: SocketAddr, all: Vec<Listener>) -> BTreeSet<Inode> {
    let is_reached = |(at, _): &Listener| {
        at.port() == client.port() && (at.ip() == client.ip() || at.ip().is_unspecified())
    };
    let reached = all.into_iter().filter(is_reached);
    reached.map(|(_, inode)| inode).collect()
}

fn diagnosed(port: u16) -> io::Result<Vec<Listener>> {
    let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC);
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, kind, flags, protocol)?;
    let mut kernel = File::from(socket);
    let mut found = Vec::new();
    let mut buffer = vec![0; MESSAGES_BYTES_MAX];
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        kernel.write_all(&request(family, port))?;
        let mut is_over = false;
        while !is_over {
            let count = kernel.read(&mut buffer)?;
            is_over =
                read_messages(&buffer[..count], &mut found).ok_or(io::ErrorKind::InvalidData)?;
        }
    }
    Ok(found)
}

fn request(family: AddressFamily, port: u16) -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    let mut put = |at: usize, field: &[u8]| request[at..at + field.len()].copy_from_slice(field);
    put(0, &(REQUEST_BYTES as u32).to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &REQUEST_ALL.to_ne_bytes());
    put(16, &[family.as_raw() as u8]);
    put(17, &[ipproto::TCP.as_raw().get() as u8]);
    put(20, &(1_u32 << TCP_LISTEN).to_ne_bytes());
    put(24, &port.to_be_bytes());
    request
}

/// Parses messages from the kernel. Returns true after the last message, or `None` on an error.
fn read_messages(mut messages: &[u8], found: &mut Vec<Listener>) -> Option<bool> {
    while !messages.is_empty() {
        let length = usize::try_from(u32::from_ne_bytes(at(messages, 0)?)).ok()?;
        let message = messages.get(HEADER_BYTES..length)?;
        match u16::from_ne_bytes(at(messages, 4)?) {
            SOCK_DIAG_BY_FAMILY => found.push(diagnosed_listener(message)?),
            NLMSG_DONE => return Some(true),
            _ => return None,
        }
        let next = messages.get(length.next_multiple_of(4)..);
        messages = next.unwrap_or_default();
    }
    Some(false)
}

fn diagnosed_listener(message: &[u8]) -> Option<Listener> {
    let ip = match AddressFamily::from_raw(u16::from(*message.first()?)) {
        AddressFamily::INET => IpAddr::from(at::<4>(message, 8)?),
        _ => IpAddr::from(at::<16>(message, 8)?).to_canonical(),
    };
    let port = u16::from_be_bytes(at(message, 4)?);
    let inode = u32::from_ne_bytes(at(message, 68)?);
    Some((SocketAddr::new(ip, port), inode.into()))
}

fn at<const N: usize>(bytes: &[u8], from: usize) -> Option<[u8; N]> {
    bytes.get(from..)?.first_chunk().copied()
}

fn listed() -> Vec<Listener> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines());
    lines.filter_map(listed_listener).collect()
}

/// Parses a line of `/proc/net/tcp`: `sl local_address rem_address st … inode`.
fn listed_listener(line: &str) -> Option<Listener> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if u32::from_str_radix(fields.get(3)?, 16) != Ok(TCP_LISTEN) {
        return None;
    }
    let (ip, port) = fields.get(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let inode = fields.get(9)?.parse().ok()?;
    Some((SocketAddr::new(ip_from_hex(ip)?, port), inode))
}

/// Parses an address, which the kernel prints as 32-bit words in the machine's own byte order.
fn ip_from_hex(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let word = u32::from_str_radix(text.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    match text.len() {
        8 => Some(word(0)?.into()),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = *words.as_flattened().first_chunk()?;
            Some(IpAddr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::super::{sockets_of, tree};
    use super::*;

    #[test]
    fn a_listener_of_this_process_is_found() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let ip = listener.local_addr().unwrap().ip().to_canonical();
            let client = SocketAddr::new(ip, port);
            let found = listeners(client);
            assert_eq!(found.len(), 1, "{address}");
            assert_eq!(found, reached(client, listed()), "{address}");
            let ours = sockets_of(&tree(std::process::id()));
            assert!(found.is_subset(&ours), "{address}");
        }
    }

    #[test]
    fn a_wildcard_listener_is_found_for_any_address() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(listeners(client).len(), 1);
        assert_eq!(reached(client, listed()), listeners(client));
    }

    #[test]
    fn an_unused_port_has_no_listener() {
        // The port is bound, so no other test gets it, but no process listens on it.
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = rustix::net::getsockname(&socket).unwrap();
        let address = SocketAddr::try_from(address).unwrap();
        assert_eq!(listeners(address).len(), 0);
        assert_eq!(reached(address, listed()).len(), 0);
    }

    #[test]
    fn a_refusal_is_not_an_empty_list() {
        // A message of type NLMSG_ERROR.
        let mut refusal = vec![0; 36];
        refusal[..4].copy_from_slice(&36_u32.to_ne_bytes());
        refusal[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(read_messages(&refusal, &mut Vec::new()), None);
    }

    proptest! {
        #[test]
        fn no_message_causes_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read_messages(&bytes, &mut Vec::new());
        }
    }
}
