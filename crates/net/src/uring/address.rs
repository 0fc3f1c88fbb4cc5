//! Socket addresses in the kernel's representation.

#![allow(unsafe_code)]

use std::io;
use std::mem::offset_of;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::Peer;

/// An address in the form that system calls take.
pub(super) struct SocketAddrStorage {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) len: libc::socklen_t,
}

impl TryFrom<&Peer> for SocketAddrStorage {
    type Error = io::Error;

    fn try_from(peer: &Peer) -> io::Result<Self> {
        match peer {
            Peer::Tcp(address) => Ok(Self::from(*address)),
            Peer::Unix(path) => Self::unix(path),
        }
    }
}

impl SocketAddrStorage {
    /// A path in the file system, which must end with a zero byte within the address (unix(7)).
    fn unix(path: &Path) -> io::Result<Self> {
        let path = path.as_os_str().as_bytes();
        // SAFETY: all zeroes is a valid `sockaddr_un`: it consists of integers.
        let mut raw: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        raw.sun_family = libc::AF_UNIX as libc::sa_family_t;
        if path.len() >= raw.sun_path.len() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        if path.contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (place, byte) in raw.sun_path.iter_mut().zip(path) {
            *place = *byte as libc::c_char;
        }
        let len = offset_of!(libc::sockaddr_un, sun_path) + path.len() + 1;
        // SAFETY: all zeroes is a valid `sockaddr_storage`: it consists of integers.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        // SAFETY: `sockaddr_storage` is defined to hold and be aligned for every address type.
        unsafe { (&raw mut storage).cast::<libc::sockaddr_un>().write(raw) };
        Ok(Self {
            storage,
            len: len as libc::socklen_t,
        })
    }
}

impl From<SocketAddr> for SocketAddrStorage {
    fn from(address: SocketAddr) -> Self {
        // SAFETY: all zeroes is a valid `sockaddr_storage`: it consists of integers.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let len = match address {
            SocketAddr::V4(v4) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr {
                        s_addr: u32::from_ne_bytes(v4.ip().octets()),
                    },
                    sin_zero: [0; 8],
                };
                // SAFETY: `sockaddr_storage` is defined to hold and be aligned for every address
                // type.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr {
                        s6_addr: v6.ip().octets(),
                    },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: `sockaddr_storage` is defined to hold and be aligned for every address
                // type.
                unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self {
            storage,
            len: len as libc::socklen_t,
        }
    }
}
