//! The sockets and pipes that processes hold open.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use super::numbers_in;

/// Inode of a socket.
type Inode = u64;

/// The sockets that listen where a client of this address would arrive.
pub(crate) fn listeners(address: SocketAddr) -> BTreeSet<Inode> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| {
            table
                .lines()
                .filter_map(|line| listener_in(line, address))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The sockets that some process of the tree holds open.
pub(crate) fn sockets_of(pids: &[u32]) -> BTreeMap<Inode, u32> {
    let of_process = |&pid: &u32| {
        let inodes = held_open(pid).filter_map(|target| socket(&target));
        inodes.map(move |inode| (inode, pid))
    };
    pids.iter().flat_map(of_process).collect()
}

/// What the descriptors of a process lead to; nothing where they may not be seen.
fn held_open(pid: u32) -> impl Iterator<Item = PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
    let descriptors = descriptors.flatten().flatten();
    descriptors.filter_map(|entry| fs::read_link(entry.path()).ok())
}

/// The socket that a link `socket:[INODE]` leads to.
fn socket(target: &Path) -> Option<Inode> {
    let text = target.to_str()?.strip_prefix("socket:[")?;
    text.strip_suffix(']')?.parse().ok()
}

/// The processes that hold the other end of a pipe open. Those of this program are left out: what it
/// has only just forked holds all that it holds, until it becomes the program that it shall be.
pub(crate) fn holders_of_pipe(pipe: impl AsFd) -> Vec<u32> {
    let (Ok(status), Ok(own)) = (fstat(pipe), fs::read_link("/proc/self/exe")) else {
        return Vec::new();
    };
    let target = PathBuf::from(format!("pipe:[{}]", status.st_ino));
    let holds_it = |pid: &u32| {
        held_open(*pid).any(|link| link == target)
            && fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program != own)
    };
    numbers_in("/proc").into_iter().filter(holds_it).collect()
}

/// Reads one line of `/proc/net/tcp`: `sl local_address rem_address st … inode`.
fn listener_in(line: &str, wanted: SocketAddr) -> Option<Inode> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    if *fields.get(3)? != LISTEN {
        return None;
    }
    let (address, port) = fields.get(1)?.split_once(':')?;
    let address = address_from_hex(address)?;
    let reaches = address == wanted.ip() || address.is_unspecified();
    if !reaches || u16::from_str_radix(port, 16).ok()? != wanted.port() {
        return None;
    }
    fields.get(9)?.parse().ok()
}

/// The kernel prints addresses as 32-bit words in the machine's own byte order.
fn address_from_hex(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        u32::from_str_radix(text.get(at..at + 8)?, 16)
            .ok()
            .map(u32::to_ne_bytes)
    };
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let mut bytes = [0; 16];
            for (index, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(index * 8)?);
            }
            let address = Ipv6Addr::from(bytes);
            Some(
                address
                    .to_ipv4_mapped()
                    .map_or(IpAddr::V6(address), IpAddr::V4),
            )
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::net::TcpListener;

    use super::super::tree;
    use super::*;

    #[test]
    fn an_own_listener_is_found_and_is_ours() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let found = listeners(listener.local_addr().unwrap());
            assert_eq!(found.len(), 1, "{address}");
            let ours = sockets_of(&tree(std::process::id()));
            // A child that another test has forked may hold it too, until it starts its program.
            assert!(ours.contains_key(found.first().unwrap()));
        }
    }

    #[test]
    fn a_wildcard_listener_stands_where_a_client_arrives() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listeners(SocketAddr::from(([127, 0, 0, 1], port))).len(), 1);
    }

    #[test]
    fn a_port_nobody_listens_on_has_no_listener() {
        // Held and not listening, so that no other test gets it meanwhile.
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        )
        .unwrap();
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = rustix::net::getsockname(&socket).unwrap();
        let address = SocketAddr::try_from(address).unwrap();
        assert_eq!(listeners(address).len(), 0);
    }
}
