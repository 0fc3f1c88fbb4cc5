//! The options of all benchmarks except `accuracy` and `known-truth`.

use std::str::FromStr;

use clap::Args;

/// The options. Each benchmark uses only some of them.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Settings {
    /// Number of measured rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = positive::<usize>)]
    pub rounds: usize,
    /// The length in seconds of a measured run or, in the observed benchmark, of a block
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = positive::<u32>)]
    pub seconds: u32,
    /// Measures two rounds of one second
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    quick: bool,
    /// Number of connections in the gateway, upstream and memory benchmarks, and of each worker in
    /// the scaling benchmark
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = positive::<u32>)]
    pub connections: u32,
    /// The length of the endurance, recompile and memory benchmarks in minutes
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = positive::<u32>)]
    pub minutes: u32,
    /// Number of routes in the memory benchmark, each with separate figures
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive::<u32>)]
    pub routes: u32,
    /// A cell to measure; may be repeated [default: all cells]
    #[arg(long = "cell", value_name = "NAME")]
    pub cells: Vec<String>,
    /// Prints tables as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// Lists the cells instead of measuring them
    #[arg(long)]
    pub list: bool,
}

impl Settings {
    /// Returns these settings, with the rounds and seconds of `--quick` if it was given.
    pub fn settled(self) -> Self {
        let (rounds, seconds) = match self.quick {
            true => (2, 1),
            false => (self.rounds, self.seconds),
        };
        Self {
            rounds,
            seconds,
            ..self
        }
    }
}

fn positive<T: FromStr + PartialOrd + Default>(word: &str) -> Result<T, String> {
    let number = word.parse().ok().filter(|number| *number > T::default());
    number.ok_or_else(|| format!("'{word}' is not a positive number"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser as _;

    use super::*;
    use crate::{Benchmark, Words};

    fn read(words: &str) -> Result<Settings, String> {
        let words = format!("bench engine {words}");
        match Words::try_parse_from(words.split_whitespace()) {
            Ok(Words {
                benchmark: Benchmark::Engine(settings),
            }) => Ok(settings.settled()),
            Ok(_) => Err("another benchmark".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn options_become_settings() {
        let given = read("--cell get-64 --cell tls-64 --rounds 7 --markdown").unwrap();
        let expected = Settings {
            cells: vec!["get-64".into(), "tls-64".into()],
            rounds: 7,
            markdown: true,
            ..read("").unwrap()
        };
        assert_eq!(given, expected);
        assert!(read("").is_ok_and(|read| (read.rounds, read.seconds) == (5, 2)));
        assert!(read("--quick").is_ok_and(|read| (read.rounds, read.seconds) == (2, 1)));
    }

    #[test]
    fn wrong_options_are_named() {
        assert!(read("--pears").is_err_and(|error| error.contains("--pears")));
        assert!(read("--rounds").is_err_and(|error| error.contains("value is required")));
        assert!(read("--rounds 0").is_err_and(|error| error.contains("positive")));
    }
}
