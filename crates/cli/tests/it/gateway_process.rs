//! `gatebench gateway` as a separate process.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A serving process, which is killed on drop.
pub struct Gateway {
    pub child: Child,
    pub address: String,
    pub said: Lines<BufReader<ChildStdout>>,
}

impl Gateway {
    pub fn start(file: &Path) -> Self {
        Self::run([OsStr::new("gateway"), file.as_os_str()])
    }

    /// Starts `gatebench` with arguments that make it a server, and waits until it listens.
    pub fn run<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatebench"))
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = said.next().unwrap().unwrap();
        let mut words = line.split(|c: char| !c.is_ascii_digit() && !".:".contains(c));
        let address = words.find(|word| word.starts_with("127.0.0.1:")).unwrap();
        Self {
            child,
            address: address.into(),
            said,
        }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    pub fn complaints(&mut self) -> impl Iterator<Item = String> + use<> {
        let lines = BufReader::new(self.child.stderr.take().unwrap()).lines();
        lines.map_while(Result::ok)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Killing fails if the process has already ended, which is not an error here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
