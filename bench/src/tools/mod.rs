//! The load generators that are compared. A [`Tool`] has functions that build the command line of
//! one of them for a job and parse its output.
//!
//! Output is parsed strictly. A run does not count if the tool reports an error, a response that is
//! not 2xx, or a protocol other than the job's.

pub mod ab;
pub mod bare;
pub mod external;
pub mod oha;
pub mod ours;

use std::process::Command;

use super::files::Files;
use super::programs::Programs;

/// A load tool that can be run for a job.
pub struct Tool {
    pub name: &'static str,
    /// Returns the tool's command line for a job, or the reason why it cannot do the job.
    pub words: fn(&Job<'_>) -> Result<Vec<String>, String>,
    /// Parses the tool's result from its output; returns an error if the run does not count.
    pub read: fn(&Job<'_>, &str) -> Result<Made, String>,
    /// The program and the argument that print the tool's version; `None` for the project's own
    /// tools.
    pub version: Option<[&'static str; 2]>,
}

/// A load for a tool, with the files and programs that the tool may need.
pub struct Job<'a> {
    pub work: Work,
    pub url: &'a str,
    pub seconds: u32,
    pub files: &'a Files,
    pub programs: &'a Programs,
}

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub connections: u32,
    pub protocol: Protocol,
    pub method: Method,
    pub keep_alive: bool,
    /// True if gatebench must use epoll instead of io_uring.
    pub epoll: bool,
}

/// The protocol of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    /// HTTP/1.1 over TLS 1.3.
    Tls,
    /// HTTP/2 in cleartext with prior knowledge.
    Http2 {
        streams: u32,
    },
}

/// The method of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    /// POST with [`Files::body`].
    Post,
}

/// The number of responses that a tool counted, and the time during which it counted them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Made {
    pub requests: u64,
    pub seconds: f64,
}

impl Work {
    /// GET over HTTP/1.1 in cleartext on persistent connections.
    pub const fn plain(connections: u32) -> Self {
        Self {
            connections,
            protocol: Protocol::Http1,
            method: Method::Get,
            keep_alive: true,
            epoll: false,
        }
    }
}

impl Tool {
    /// Name and version, as in `wrk 4.1.0`.
    pub fn name_and_version(&self, programs: &Programs) -> String {
        let version = self.version.and_then(|[program, word]| {
            let output = Command::new(programs.find(program).ok()?)
                .arg(word)
                .output()
                .ok()?;
            version_in(&String::from_utf8_lossy(
                &[output.stdout, output.stderr].concat(),
            ))
        });
        version.map_or_else(
            || self.name.into(),
            |version| format!("{} {version}", self.name),
        )
    }
}

/// Returns the first number with a dot in it.
fn version_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut versions = words.map(|word| word.trim_matches('.'));
    versions.find(|word| word.contains('.')).map(Into::into)
}

/// Splits a command line whose arguments contain no spaces.
fn split(line: &str) -> Vec<String> {
    line.split(' ').map(Into::into).collect()
}

/// Parses the word after a label, in the first line that begins with the label.
fn after<T: std::str::FromStr>(output: &str, label: &str) -> Result<T, String> {
    let mut lines = output
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(label));
    let word = lines.next().and_then(|rest| rest.split_whitespace().next());
    let value = word.and_then(|word| word.parse().ok());
    value.ok_or_else(|| format!("the output has no value after '{label}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        let of = |text: &str| version_in(text).unwrap_or_default();
        assert_eq!(of("wrk debian/4.1.0-3+b2 [epoll] Copyright"), "4.1.0");
        assert_eq!(of("This is ApacheBench, Version 2.3 <$Revision$>"), "2.3");
        assert_eq!(of("h2load nghttp2/1.52.0\n"), "1.52.0");
        assert_eq!(of("oha 1.16.0"), "1.16.0");
    }

    #[test]
    fn numbers_are_found_after_their_labels() {
        assert_eq!(after::<u64>("a: 1\n  b:   23 x", "b:"), Ok(23));
        assert!(after::<u64>("b: x", "b:").is_err());
    }
}
