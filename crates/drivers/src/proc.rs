//! What `/proc` says about processes and their sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::fs::fstat;
use rustix::process::Signal;

/// Inode of a socket.
type Inode = u64;

/// When a process started, in ticks since boot; none where it has ended. One that is a zombie has: whoever should
/// collect it may take its time, as the first process of a container often does.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let (has_ended, ticks) = stat(pid)?;
    (!has_ended).then_some(ticks)
}

/// When a process started, whether or not it has ended; none once it was collected.
pub(crate) fn started_ticks(pid: u32) -> Option<u64> {
    stat(pid).map(|(_, ticks)| ticks)
}

/// Whether a process has ended, and when it started.
fn stat(pid: u32) -> Option<(bool, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before the parenthesis may hold anything; fields 3 and 22 of proc_pid_stat(5).
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let has_ended = fields
        .next()
        .is_none_or(|state| ["Z", "X"].contains(&state));
    Some((has_ended, fields.nth(18)?.parse().ok()?))
}

/// Whether a process has nothing to do and would act on this signal: it sleeps, catches it and does not
/// block it (`State`, `SigCgt` and `SigBlk` of proc_pid_status(5)).
pub(crate) fn awaits(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    is_awaited_in(&status, signal)
}

fn is_awaited_in(status: &str, signal: Signal) -> bool {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let is_in = |name: &str| {
        let set = field(name).and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        set.is_some_and(|set| set >> (signal.as_raw() - 1) & 1 == 1)
    };
    let sleeps = field("State:").is_some_and(|state| state.trim().starts_with('S'));
    sleeps && is_in("SigCgt:") && !is_in("SigBlk:")
}

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
    let mut sockets = BTreeMap::new();
    for &pid in pids {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            continue;
        };
        for target in descriptors
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
        {
            let inode = target.to_str().and_then(|text| {
                text.strip_prefix("socket:[")?
                    .strip_suffix(']')?
                    .parse()
                    .ok()
            });
            sockets.extend(inode.map(|inode: Inode| (inode, pid)));
        }
    }
    sockets
}

/// The processes that hold the other end of a pipe open. Those of this program are left out: what it has only just
/// forked holds all that it holds, until it becomes the program that it shall be.
pub(crate) fn holders_of_pipe(pipe: impl AsFd) -> Vec<u32> {
    let (Ok(status), Ok(own)) = (fstat(pipe), fs::read_link("/proc/self/exe")) else {
        return Vec::new();
    };
    let target = PathBuf::from(format!("pipe:[{}]", status.st_ino));
    let holds_it = |pid: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let mut links = descriptors.flatten().map(|it| fs::read_link(it.path()));
        links.any(|link| link.is_ok_and(|link| link == target))
            && fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program != own)
    };
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(holds_it).collect()
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
    use std::path::Path;
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    use gatebench_probe::processes::tree;

    use super::*;

    #[test]
    fn a_process_has_ended_before_it_is_collected() {
        let own = started(std::process::id());
        assert!(own.is_some_and(|ticks| ticks > 0));
        let mut child = Command::new("true").spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while started(child.id()).is_some() {
            assert!(Instant::now() < deadline, "it never ended");
            thread::sleep(Duration::from_millis(1));
        }
        let folder = format!("/proc/{}", child.id());
        assert!(Path::new(&folder).exists(), "it is a zombie until here");
        assert!(
            started_ticks(child.id()) >= own,
            "it started after this process"
        );
        assert!(child.wait().unwrap().success());
        assert_eq!((started(4_000_000), started_ticks(4_000_000)), (None, None));
    }

    #[test]
    fn a_signal_is_awaited_by_who_sleeps_and_catches_it_and_does_not_block_it() {
        let status = |state: &str, blocked: &str, caught: &str| {
            format!(
                "Name:\tx\nState:\t{state}\nSigBlk:\t{blocked}\nSigIgn:\t0000000004001800\nSigCgt:\t{caught}\n"
            )
        };
        let (none, hup, others) = ("0000000000000000", "0000000100716a03", "0000000100716a02");
        for (text, awaited) in [
            (status("S (sleeping)", none, hup), true),
            (status("R (running)", none, hup), false),
            (status("S (sleeping)", "0000000000310a01", hup), false),
            (status("S (sleeping)", none, others), false),
            (String::new(), false),
        ] {
            assert_eq!(is_awaited_in(&text, Signal::HUP), awaited, "{text}");
        }
        assert!(
            !awaits(std::process::id(), Signal::USR2),
            "nobody has asked for it"
        );
    }

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
