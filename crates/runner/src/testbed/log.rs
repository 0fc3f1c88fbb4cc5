//! The lines of a gateway's logs.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use gatebench_testbed::Running;

/// The word for standard output in a gateway's folder.
const STDOUT: &str = "stdout";

/// Where a running gateway writes its access log, by what its folder says.
pub(crate) fn place(said: &str, running: &Running, work: &Path) -> PathBuf {
    match said {
        STDOUT => running.stdout_log().to_owned(),
        file => work.join(file),
    }
}

/// Lines of a file, counted without holding it; 0 where there is no file.
pub(crate) fn lines(path: &Path) -> io::Result<u64> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let mut reader = BufReader::new(file);
    let mut count = 0;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(count);
        }
        count += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let length = bytes.len();
        reader.consume(length);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_are_counted_and_what_is_not_there_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        assert_eq!(lines(&path).unwrap(), 0);
        std::fs::write(&path, "one\n".repeat(5_000) + "half").unwrap();
        assert_eq!(lines(&path).unwrap(), 5_000);
    }
}
