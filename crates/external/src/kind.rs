//! The load generators that are known.

use std::fmt;
use std::str::FromStr;

/// An external load generator.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wrk, Self::H2load, Self::K6];

    /// The word on the command line, which is also the program's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::K6 => "k6",
        }
    }

    /// How it is installed, as words to type.
    pub fn install(self) -> &'static str {
        match self {
            Self::Wrk => "apt-get install wrk",
            Self::H2load => "apt-get install nghttp2-client",
            Self::K6 => "make k6",
        }
    }

    /// What makes it tell its version.
    pub fn version_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Wrk => &["-v"],
            Self::H2load => &["--version"],
            Self::K6 => &["version"],
        }
    }

    /// The version in what it tells: the second word of the first line, as in `wrk 4.1.0 [epoll]`,
    /// `h2load nghttp2/1.52.0` and `k6 v1.8.1 (go1.26, linux/amd64)`.
    pub fn version_in(self, told: &str) -> Option<String> {
        let mut words = told.lines().next()?.split_whitespace();
        (words.next()? == self.as_str()).then_some(())?;
        let word = words.next()?;
        let number = word.rsplit_once('/').map_or(word, |(_, number)| number);
        Some(number.trim_start_matches('v').to_owned())
    }

    /// Where it leaves its result, in its working folder; none where that is its standard output.
    pub fn result_file(self) -> Option<&'static str> {
        match self {
            Self::Wrk | Self::H2load => None,
            Self::K6 => Some(crate::k6::SUMMARY_FILE),
        }
    }

    /// The exit codes with which it has measured to its end: k6 ends with 99 where a threshold of
    /// the script was crossed.
    pub fn finished_with(self, code: i32) -> bool {
        code == 0 || (self == Self::K6 && code == 99)
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Generator {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL
            .into_iter()
            .find(|generator| generator.as_str() == word);
        known.ok_or_else(|| format!("'{word}' is none of wrk, h2load, k6"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_each_tells() {
        let wrk = "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer";
        assert_eq!(
            Generator::Wrk.version_in(wrk).as_deref(),
            Some("4.1.0-3+b2")
        );
        let h2load = "h2load nghttp2/1.52.0";
        assert_eq!(
            Generator::H2load.version_in(h2load).as_deref(),
            Some("1.52.0")
        );
        let k6 = "k6 v1.8.1 (go1.26.8, linux/amd64)\nExtensions:";
        assert_eq!(Generator::K6.version_in(k6).as_deref(), Some("1.8.1"));
        assert_eq!(Generator::K6.version_in("k9 v1.8.1"), None);
        assert_eq!(Generator::Wrk.version_in(""), None);
    }

    #[test]
    fn words_survive() {
        for generator in Generator::ALL {
            assert_eq!(generator.as_str().parse(), Ok(generator));
        }
        assert!("wrk2".parse::<Generator>().is_err());
    }
}
