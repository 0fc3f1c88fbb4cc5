//! Connects to Unix sockets, even if their paths are too long for an address.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The socket's path may be longer than the 107 bytes that fit into an address, because the address
/// names the socket's folder by a descriptor.
pub(crate) fn connect(socket: &Path) -> io::Result<UnixStream> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let folder = File::open(folder)?;
    let short = format!("/proc/self/fd/{}", folder.as_raw_fd());
    UnixStream::connect(Path::new(&short).join(name))
}
