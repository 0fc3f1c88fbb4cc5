//! Servers that are part of gatebench.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::bench::{Bench, MARK};

/// A listening process, which is killed on drop. It is not marked, because it outlives runs, after
/// which no marked process may be left.
pub struct Serving {
    pub child: Child,
    host: String,
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
        let line = first_line(&mut child);
        // If the output is not a terminal, the upstream prints JSON, which may have other keys too.
        let line = match serde_json::from_str::<Value>(&line) {
            Ok(printed) => printed["listening"].to_string(),
            Err(_) => line,
        };
        let (before, after) = line.rsplit_once(':').unwrap();
        let host = before.rsplit(['"', '/', ' ']).next().unwrap().to_owned();
        let digits = after.chars().take_while(char::is_ascii_digit);
        let port = digits.collect::<String>().parse().unwrap();
        Self { child, host, port }
    }

    pub fn ledger(&self) -> Value {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream
            .write_all(b"GET /.gatebench/ledger HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// Waits for the first line on standard output, which a server prints when it listens.
pub fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    line
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Killing fails if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
