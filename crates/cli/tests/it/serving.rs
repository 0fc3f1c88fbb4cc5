//! Parts of gatebench that serve on their own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::bench::{Bench, MARK};

/// One of them, listening. Dropped, it is killed. It carries no mark: it is meant to stay.
pub struct Serving {
    pub child: Child,
    pub port: u16,
}

impl Serving {
    pub fn start(bench: &Bench, words: &[&str]) -> Self {
        let mut command = bench.command();
        command.current_dir("/").args(words).env_remove(MARK);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let digits = line
            .rsplit_once("127.0.0.1:")
            .unwrap()
            .1
            .chars()
            .take_while(char::is_ascii_digit);
        let port = digits.collect::<String>().parse().unwrap();
        Self { child, port }
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Fails where it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
