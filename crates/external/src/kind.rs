//! The supported load generators.

use std::fmt;
use std::str::FromStr;

/// A load generator that is a separate program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generator {
    /// <https://github.com/wg/wrk>: closed loads over HTTP/1.1, scripts in Lua.
    Wrk,
    /// <https://nghttp2.org>: closed loads, HTTP/2 and HTTP/1.1, no scripts.
    H2load,
    /// <https://k6.io>: closed and open loads, scripts in JavaScript.
    K6,
}

impl Generator {
    pub const ALL: [Self; 3] = [Self::Wrk, Self::H2load, Self::K6];

    /// The name on the command line, which is also the program's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::K6 => "k6",
        }
    }

    pub fn install(self) -> &'static str {
        match self {
            Self::Wrk => "apt-get install wrk",
            Self::H2load => "apt-get install nghttp2-client",
            Self::K6 => "make k6",
        }
    }

    pub fn version_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Wrk => &["-v"],
            Self::H2load => &["--version"],
            Self::K6 => &["version"],
        }
    }

    /// Finds the version in the generator's output: the second word of the first line, without any
    /// prefix such as `nghttp2/` or `v`. Examples of first lines are `wrk 4.1.0 [epoll]`, `h2load
    /// nghttp2/1.52.0` and `k6 v1.8.1 (go1.26, linux/amd64)`.
    pub fn version_in(self, output: &str) -> Option<String> {
        let mut words = output.lines().next()?.split_whitespace();
        (words.next()? == self.as_str()).then_some(())?;
        let word = words.next()?;
        let number = word.rsplit_once('/').map_or(word, |(_, number)| number);
        Some(number.trim_start_matches('v').to_owned())
    }

    /// Returns the name of the result file in the working folder, or `None` if the generator prints
    /// its result to standard output.
    pub fn result_file(self) -> Option<&'static str> {
        (self == Self::K6).then_some(crate::k6::SUMMARY_FILE)
    }

    /// Reports whether this exit code means that the generator measured until the end. k6 exits
    /// with 99 if a threshold of the script was not met.
    pub fn finished_with(self, code: i32) -> bool {
        code == 0 || (self == Self::K6 && code == 99)
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a word that names no supported load generator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the load generator '{0}' is not one of wrk, h2load and k6")]
pub struct UnknownGenerator(String);

impl FromStr for Generator {
    type Err = UnknownGenerator;

    fn from_str(word: &str) -> Result<Self, UnknownGenerator> {
        let mut all = Self::ALL.into_iter();
        let known = all.find(|generator| generator.as_str() == word);
        known.ok_or_else(|| UnknownGenerator(word.to_owned()))
    }
}
