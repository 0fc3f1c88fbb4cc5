//! The options of `cargo xtask bench known-truth`.

use std::fs;
use std::path::PathBuf;

use clap::Args;

/// The comparisons to run, the blocks to record, and the folder of the results.
#[derive(Args)]
pub struct Plan {
    /// Number of comparisons of each kind: of equal gateways, and with a slowed gateway;
    /// comparisons of earlier runs count
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub comparisons: usize,
    /// The maximum length of a comparison in minutes
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub minutes: u32,
    /// Number of blocks of equal gateways to record, for the simulation of other scenarios, metrics
    /// and effect sizes; 0 records none
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub record: u32,
    /// The folder of all runs and results
    #[arg(long, value_name = "DIR", default_value = "known-truth")]
    out: PathBuf,
}

impl Plan {
    /// The folder of the runs, which is created if it does not exist.
    pub fn folder(&self) -> Result<PathBuf, String> {
        fs::create_dir_all(&self.out)
            .and_then(|()| fs::canonicalize(&self.out))
            .map_err(|error| format!("cannot create {}: {error}", self.out.display()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser as _;

    use super::*;
    use crate::{Benchmark, Words};

    fn read(words: &str) -> Result<Plan, String> {
        let words = format!("bench known-truth {words}");
        match Words::try_parse_from(words.split_whitespace()) {
            Ok(Words {
                benchmark: Benchmark::KnownTruth(plan),
            }) => Ok(plan),
            Ok(_) => Err("another benchmark".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn wrong_options_are_named() {
        let plan = read("--comparisons 73 --record 40").unwrap();
        assert_eq!((plan.comparisons, plan.record), (73, 40));
        assert!(read("--minutes").is_err_and(|error| error.contains("--minutes")));
        assert!(read("--record x").is_err_and(|error| error.contains("--record")));
        assert!(read("--pears").is_err_and(|error| error.contains("--pears")));
    }
}
