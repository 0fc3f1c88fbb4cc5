//! Access logs in the formats that gateways write. The format is detected automatically.

mod combined;
mod envoy;
mod haproxy;
mod json;
mod lines;
mod request_line;

use std::io::Read;

use memchr::{memchr, memmem};

use crate::error::ImportError;
use crate::folder::Folder;
use crate::options::Options;
use crate::traffic::{self, Hit, Recorder};
use lines::Lines;

/// The maximum number of lines from which the format is detected.
const SAMPLE_LINES: usize = 200;

/// The maximum number of malformed lines that are listed. Their text is not shown, because it may
/// contain personal data.
const EXAMPLES_MAX: usize = 5;

/// The share of malformed lines at which a log is rejected.
const MALFORMED_SHARE_MAX: f64 = 0.01;

const PROGRESS_LINES: u64 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Combined,
    Haproxy,
    Envoy,
    Json,
}

impl Format {
    const ALL: [Self; 4] = [Self::Combined, Self::Haproxy, Self::Envoy, Self::Json];

    /// Returns the words that follow "the format" in messages, and an example line.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Combined => (
                "of nginx, Apache or Kong (common or combined)",
                combined::EXAMPLE,
            ),
            Self::Haproxy => ("of HAProxy (option httplog)", haproxy::EXAMPLE),
            Self::Envoy => ("of Envoy", envoy::EXAMPLE),
            Self::Json => ("of JSON lines", json::EXAMPLE),
        }
    }

    /// Parses a line and passes its request, or `None` if it has none, to `take`. The error states
    /// what was expected in a malformed line.
    fn read(self, line: &[u8], take: impl FnOnce(Option<&Hit<'_>>)) -> Result<(), &'static str> {
        match self {
            Self::Combined => take(combined::parse(line)?.as_ref()),
            Self::Haproxy => take(haproxy::parse(line)?.as_ref()),
            Self::Envoy => take(envoy::parse(line)?.as_ref()),
            Self::Json => take(json::parse(line)?.hit()?.as_ref()),
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Returns the beginning and end of the text in the first brackets that follow a space.
fn brackets(line: &[u8]) -> Option<(usize, usize)> {
    let open = memmem::find(line, b" [")? + 2;
    Some((open, open + memchr(b']', &line[open..])?))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(|byte| *byte == b' ');
    words.filter(|word| !word.is_empty())
}

fn last_word(text: &[u8]) -> &[u8] {
    let mut words = text.rsplit(|byte| *byte == b' ');
    words.next().unwrap_or_default()
}

/// The part of a log that has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub lines: u64,
    /// The number of bytes, after decompression.
    pub bytes: u64,
}

/// A log in one or more files.
pub struct AccessLog {
    recorder: Recorder,
    format: Option<Format>,
    lines: u64,
    bytes: u64,
    malformed: u64,
    /// The number of well-formed lines without an HTTP request, such as those that record TLS
    /// handshakes on a plaintext port.
    without_request: u64,
    examples: Vec<String>,
}

impl AccessLog {
    pub fn new(options: &Options) -> Self {
        Self {
            recorder: Recorder::new(&options.replay),
            format: None,
            lines: 0,
            bytes: 0,
            malformed: 0,
            without_request: 0,
            examples: Vec::new(),
        }
    }

    /// Reads a file, plain or compressed with gzip, and reports progress.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if the first lines of the first file with
    /// entries have no known format.
    pub fn read(
        &mut self,
        file: &str,
        reader: impl Read,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), ImportError> {
        let io = |source| ImportError::Io {
            file: file.into(),
            source,
        };
        let mut lines = Lines::new(reader).map_err(io)?;
        let (mut number, before) = (0, self.bytes);
        let mut sample: Vec<(u64, Vec<u8>)> = Vec::new();
        while sample.len() < SAMPLE_LINES
            && let Some(line) = lines.next().map_err(io)?
        {
            number += 1;
            if is_entry(line) {
                sample.push((number, line.to_vec()));
            }
        }
        let format = match self.format {
            Some(format) => format,
            // A file without entries, such as one that has just been rotated, has no format.
            None if sample.is_empty() => {
                self.bytes += lines.bytes;
                return Ok(());
            }
            None => recognized(file, &sample)?,
        };
        self.format = Some(format);
        for (number, line) in &sample {
            self.line(file, *number, line, format);
        }
        while let Some(line) = lines.next().map_err(io)? {
            number += 1;
            self.line(file, number, line, format);
            if self.lines.is_multiple_of(PROGRESS_LINES) {
                let (lines, bytes) = (self.lines, before + lines.bytes);
                progress(Progress { lines, bytes });
            }
        }
        self.bytes += lines.bytes;
        Ok(())
    }

    fn line(&mut self, file: &str, number: u64, line: &[u8], format: Format) {
        if !is_entry(line) {
            return;
        }
        self.lines += 1;
        let (recorder, without) = (&mut self.recorder, &mut self.without_request);
        let read = format.read(line, |hit| match hit {
            Some(hit) => recorder.add(hit),
            None => *without += 1,
        });
        if let Err(expected) = read {
            self.malformed += 1;
            if self.examples.len() < EXAMPLES_MAX {
                let example = format!("{file}:{number}: expected {expected}");
                self.examples.push(example);
            }
        }
    }

    /// # Errors
    /// Fails if at least 1 % of the lines are malformed, or if no request can be replayed.
    pub fn finish(self, options: &Options) -> Result<Folder, ImportError> {
        let (format, _) = self.format.unwrap_or(Format::Combined).words();
        if self.malformed as f64 >= MALFORMED_SHARE_MAX * self.lines as f64 && self.malformed > 0 {
            return Err(ImportError::Malformed {
                file: options.file.clone(),
                format,
                malformed: self.malformed,
                lines: self.lines,
                examples: self.examples,
            });
        }
        let mut facts = vec![format!("{} lines, read in the format {format}", self.lines)];
        let (malformed, without) = (self.malformed, self.without_request);
        if malformed > 0 {
            facts.push(format!("malformed lines left out: {malformed}"));
            facts.extend(self.examples.iter().map(|it| format!("  {it}")));
        }
        if without > 0 {
            facts.push(format!(
                "lines without an HTTP request, left out: {without}"
            ));
        }
        let folder = Folder {
            facts,
            ..Folder::default()
        };
        traffic::write(self.recorder, options, folder)
    }
}

fn is_entry(line: &[u8]) -> bool {
    !line.is_empty() && !line.starts_with(b"#")
}

/// Returns the most frequent format of these numbered lines, if at least half of the lines have it.
fn recognized(file: &str, sample: &[(u64, Vec<u8>)]) -> Result<Format, ImportError> {
    let fits = |format: Format| {
        let fits = |entry: &&(u64, Vec<u8>)| format.read(&entry.1, |_| {}).is_ok();
        sample.iter().filter(fits).count()
    };
    let best = Format::ALL.into_iter().max_by_key(|format| fits(*format));
    match best.filter(|format| 2 * fits(*format) >= sample.len() && !sample.is_empty()) {
        Some(format) => Ok(format),
        None => {
            let examples = Format::ALL.map(Format::words);
            let examples =
                examples.map(|(name, example)| format!("  the format {name}: {example}"));
            let remedy = format!(
                "use a log in one of these formats:\n{}",
                examples.join("\n")
            );
            let message = "its first lines have no known format";
            Err(ImportError::nothing(file, message, &remedy))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(format: Format, line: &str) -> String {
        let mut said = String::new();
        format
            .read(line.as_bytes(), |hit| {
                said = hit.map_or("no request".to_owned(), |hit| {
                    let client = String::from_utf8_lossy(hit.client);
                    let sizes = (hit.response_bytes, hit.request_bytes);
                    format!(
                        "{} {} {} {} {sizes:?} {client}",
                        hit.at_ms, hit.method, hit.target, hit.status
                    )
                });
            })
            .unwrap();
        said
    }

    #[test]
    fn each_format_is_read() {
        for (format, line, expected) in [
            (
                Format::Combined,
                r#"192.0.2.1 - a user [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.0" 404 2326 "-" "curl" 0.004"#,
                "971186136000 GET /a?b 404 (Some(2326), None) 192.0.2.1",
            ),
            (
                Format::Combined,
                r#"host.test:443 192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET /\"a HTTP/1.1" 304 -"#,
                r#"971186136000 GET /\"a 304 (None, None) 192.0.2.1"#,
            ),
            (
                Format::Combined,
                r#"192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "\x16\x03\x01" 400 157 "-" "-""#,
                "no request",
            ),
            (
                Format::Haproxy,
                r#"Feb  6 12:14:14 localhost haproxy[14389]: 192.0.2.1:33317 [10/Oct/2000:13:55:36.655] in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#,
                "971186136655 GET /index.html 200 (Some(2750), None) 192.0.2.1",
            ),
            (
                Format::Envoy,
                r#"[2000-10-10T13:55:36.310Z] "POST /api HTTP/2" 204 - 154 0 226 100 "192.0.2.1" "ua" "id" "h" "tcp://10.0.2.1:80""#,
                "971186136310 POST /api 204 (Some(0), Some(154)) 192.0.2.1",
            ),
            (
                Format::Envoy,
                r#"[2000-10-10T13:55:36.310Z] "GET /api HTTP/1.1" 200 - via_upstream - "-" 5 178 226 100 "192.0.2.1" "ua""#,
                "971186136310 GET /api 200 (Some(178), Some(5)) 192.0.2.1",
            ),
            (
                Format::Json,
                r#"{"time": "2000-10-10T13:55:36+00:00", "request": "GET /a HTTP/1.1", "status": "200", "body_bytes_sent": 5, "remote_addr": "192.0.2.1", "more": {"a": [1]}}"#,
                "971186136000 GET /a 200 (Some(5), None) 192.0.2.1",
            ),
            (
                Format::Json,
                r#"{"started_at": 971186136655, "request": {"method": "PUT", "uri": "/\u0061", "size": 9, "headers": {}}, "response": {"status": 201, "size": 7}, "client_ip": "192.0.2.1"}"#,
                "971186136655 PUT /a 201 (Some(7), Some(9)) 192.0.2.1",
            ),
        ] {
            assert_eq!(read(format, line), expected, "{line}");
            let found = recognized("x", &[(1, line.as_bytes().to_vec())]).unwrap();
            assert_eq!(found, format, "{line}");
        }
        for format in Format::ALL {
            assert_ne!(read(format, format.words().1), "");
        }
    }

    #[test]
    fn a_log_without_a_known_format_is_refused_with_examples() {
        let error = recognized("x.log", &[(1, b"hello".to_vec())]).unwrap_err();
        let message = "x.log: its first lines have no known format";
        assert_eq!(error.to_string(), message);
        let remedy = error.remedy();
        assert!(remedy.contains(combined::EXAMPLE), "{remedy}");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in prop::collection::vec(prop_oneof![
            Just(b' '), Just(b'"'), Just(b'\\'), Just(b'['), Just(b']'), Just(b'/'), Just(b'{'), Just(b':'), any::<u8>()
        ], 0..80)) {
            for format in Format::ALL {
                let _ = format.read(&line, |_| {});
            }
        }
    }
}
