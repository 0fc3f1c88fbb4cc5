//! The options of the command.

use std::fs;
use std::path::PathBuf;

/// The words of the benchmark.
pub struct Plan {
    /// Comparisons of each truth to reach, including earlier ones.
    pub comparisons: usize,
    /// What one comparison may take.
    pub minutes: u32,
    /// Blocks to record of equal gateways, for the simulation; 0 records none.
    pub record: u32,
    /// Where everything is left.
    out: PathBuf,
}

impl Plan {
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let mut plan = Self {
            comparisons: 30,
            minutes: 10,
            record: 0,
            out: "known-truth".into(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            let number = |text: &str| {
                let number = text.parse::<u32>();
                number.map_err(|_| format!("{word} needs a number, not '{text}'"))
            };
            match *word {
                "--comparisons" => plan.comparisons = number(value()?)? as usize,
                "--minutes" => plan.minutes = number(value()?)?,
                "--record" => plan.record = number(value()?)?,
                "--out" => plan.out = (*value()?).into(),
                other => {
                    return Err(format!(
                        "there is no option '{other}'\n{}",
                        crate::bench::HELP
                    ));
                }
            }
        }
        Ok(plan)
    }

    /// The folder in which runs are left, made where it is not there.
    pub fn folder(&self) -> Result<PathBuf, String> {
        fs::create_dir_all(&self.out)
            .and_then(|()| fs::canonicalize(&self.out))
            .map_err(|error| format!("{} cannot be made: {error}", self.out.display()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn wrong_words_are_named() {
        let plan = Plan::read(&["--comparisons", "73", "--record", "40"]).unwrap();
        assert_eq!((plan.comparisons, plan.record), (73, 40));
        assert!(Plan::read(&["--minutes"]).is_err());
        assert!(Plan::read(&["--record", "x"]).is_err());
        assert!(Plan::read(&["--pears"]).is_err());
    }
}
