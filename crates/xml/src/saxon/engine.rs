//! A helper as seen by callers that send orders over their own connections.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::next_number;

/// The address of a helper. Its files exist as long as any caller holds this value.
#[derive(Debug)]
pub struct Engine {
    address: PathBuf,
    at_hand: File,
}

impl Engine {
    /// Creates an address in the folder, with the socket that accepts connections there.
    pub(super) fn make(folder: &Folder) -> io::Result<(Self, UnixListener)> {
        let address = folder.0.join(next_number().to_string());
        let at_hand = File::create_new(number_file(&address))?;
        at_hand.set_len(size_of::<u64>() as u64)?;
        // Create the engine first: it removes its files when it is dropped, even if the socket
        // cannot be created.
        let engine = Self { address, at_hand };
        let doors = UnixListener::bind(&engine.address)?;
        Ok((engine, doors))
    }

    pub fn address(&self) -> &Path {
        &self.address
    }

    /// Returns the number of the order that the helper is working on, or was working on when it
    /// ended. Returns `None` if the helper is not working on a transformation, for example while it
    /// compiles a stylesheet.
    pub fn at_hand(&self) -> Option<u64> {
        let mut number = [0; size_of::<u64>()];
        self.at_hand.read_exact_at(&mut number, 0).ok()?;
        Some(u64::from_le_bytes(number)).filter(|number| *number > 0)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The folder and its files may have been removed already.
        let _ = fs::remove_file(&self.address);
        let _ = fs::remove_file(number_file(&self.address));
    }
}

/// Returns the path of the file for the current order's number, which helper.py expects next to its
/// socket.
fn number_file(address: &Path) -> PathBuf {
    address.with_extension("at")
}

/// The folder of the sockets, which only this user can access. The folder is removed when this
/// value is dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub fn make() -> io::Result<Self> {
        loop {
            let number = next_number();
            let name = format!("gatebench-saxon-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                // A killed process that had the same process ID left this folder behind.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files are harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}
