//! Writes tar archives in GNU's format, with a separate entry for each long name or link target.

use std::io::{self, Read, Write};

/// The size of a block; contents are padded to a whole number of blocks.
const BLOCK: u64 = 512;

/// The maximum length of a name or a link's target in a header.
const NAME_BYTES_MAX: usize = 100;

/// The name of the entry that contains a long name or link target.
const LONG: &str = "././@LongLink";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File { bytes: u64, is_executable: bool },
    Folder { mode: u32 },
    Link { target: String },
}

pub(super) struct Tar<W> {
    out: W,
}

impl<W: Write> Tar<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }

    /// Adds an entry. The contents of a file must have exactly the length in `kind`.
    pub(super) fn add(
        &mut self,
        name: &str,
        kind: &Kind,
        mut contents: impl Read,
    ) -> io::Result<()> {
        if let Kind::Link { target } = kind
            && target.len() > NAME_BYTES_MAX
        {
            self.long(b'K', target)?;
        }
        if name.len() > NAME_BYTES_MAX {
            self.long(b'L', name)?;
        }
        self.out.write_all(&header(name, kind))?;
        let Kind::File { bytes, .. } = kind else {
            return Ok(());
        };
        let copied = io::copy(&mut contents.by_ref().take(*bytes), &mut self.out)?;
        let is_longer = contents.read(&mut [0])? > 0;
        if copied < *bytes || is_longer {
            return Err(io::Error::other(format!(
                "{name} changed while it was being read"
            )));
        }
        self.fill(*bytes)
    }

    /// Adds a file whose name has at most [`NAME_BYTES_MAX`] bytes. `write` must write exactly as
    /// many bytes as `kind` states.
    pub(super) fn add_written(
        &mut self,
        name: &str,
        kind: &Kind,
        write: impl FnOnce(&mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        self.out.write_all(&header(name, kind))?;
        write(&mut self.out)?;
        match kind {
            Kind::File { bytes, .. } => self.fill(*bytes),
            _ => Ok(()),
        }
    }

    fn long(&mut self, flag: u8, text: &str) -> io::Result<()> {
        let bytes = text.len() as u64 + 1;
        let kind = Kind::File {
            bytes,
            is_executable: false,
        };
        let mut header = header(LONG, &kind);
        header[156] = flag;
        seal(&mut header);
        self.out.write_all(&header)?;
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(&[0])?;
        self.fill(bytes)
    }

    fn fill(&mut self, bytes: u64) -> io::Result<()> {
        let rest = padded(bytes) - bytes;
        self.out.write_all(&[0; BLOCK as usize][..rest as usize])
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK as usize])?;
        Ok(self.out)
    }
}

pub(super) fn archive_bytes<'e>(entries: impl Iterator<Item = (&'e str, &'e Kind)>) -> u64 {
    let long = |text: &str| match text.len() > NAME_BYTES_MAX {
        true => BLOCK + padded(text.len() as u64 + 1),
        false => 0,
    };
    let bytes = entries.map(|(name, kind)| {
        let rest = match kind {
            Kind::File { bytes, .. } => padded(*bytes),
            Kind::Folder { .. } => 0,
            Kind::Link { target } => long(target),
        };
        BLOCK + long(name) + rest
    });
    bytes.sum::<u64>() + 2 * BLOCK
}

fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK)
}

fn header(name: &str, kind: &Kind) -> [u8; BLOCK as usize] {
    let mut header = [0; BLOCK as usize];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    let short = |text: &str| text.as_bytes()[..text.len().min(NAME_BYTES_MAX)].to_vec();
    let (mode, bytes, flag) = match kind {
        Kind::File {
            bytes,
            is_executable,
        } => (if *is_executable { 0o755 } else { 0o644 }, *bytes, b'0'),
        Kind::Folder { mode } => (*mode, 0, b'5'),
        Kind::Link { .. } => (0o777, 0, b'2'),
    };
    put(0, &short(name));
    put(100, format!("{mode:07o}").as_bytes());
    // Owner and group are root, and the time is the epoch, so equal files produce equal archives.
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{bytes:011o}").as_bytes());
    put(136, b"00000000000");
    put(156, &[flag]);
    if let Kind::Link { target } = kind {
        put(157, &short(target));
    }
    put(257, b"ustar  ");
    seal(&mut header);
    header
}

/// Writes the header's checksum, which is computed while its own field contains spaces.
fn seal(header: &mut [u8; BLOCK as usize]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn tar_reads_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!("a/{}", "n".repeat(150));
        let file = |bytes| Kind::File {
            bytes,
            is_executable: true,
        };
        let link = Kind::Link {
            target: "t".repeat(120),
        };
        let entries = [
            ("a", Kind::Folder { mode: 0o1777 }),
            ("a/empty", file(0)),
            (long.as_str(), file(700)),
            ("a/link", link),
        ];
        let mut tar = Tar::new(Vec::new());
        for (name, kind) in &entries {
            let bytes = match kind {
                Kind::File { bytes, .. } => *bytes as usize,
                _ => 0,
            };
            tar.add(name, kind, &vec![b'x'; bytes][..]).unwrap();
        }
        let written = tar.finish().unwrap();
        let expected = archive_bytes(entries.iter().map(|(name, kind)| (*name, kind)));
        assert_eq!(written.len() as u64, expected);
        let path = folder.path().join("x.tar");
        std::fs::write(&path, written).unwrap();
        let mut unpack = Command::new("tar");
        unpack.arg("-xf").arg(&path).current_dir(folder.path());
        let status = unpack.status().unwrap();
        assert!(status.success());
        let read = std::fs::read(folder.path().join(&long)).unwrap();
        assert_eq!(read, vec![b'x'; 700]);
        let target = std::fs::read_link(folder.path().join("a/link")).unwrap();
        assert_eq!(target.as_os_str().len(), 120);
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_refused() {
        let kind = Kind::File {
            bytes: 2,
            is_executable: false,
        };
        for contents in [&b"x"[..], b"xyz"] {
            let error = Tar::new(Vec::new()).add("f", &kind, contents).unwrap_err();
            assert_eq!(error.to_string(), "f changed while it was being read");
        }
    }
}
