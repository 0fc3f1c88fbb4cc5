//! What is asked for, and the files that it takes.

use std::fs;
use std::path::{Path, PathBuf};

use super::record::Recorded;

/// The most blocks of a comparison: what `gatebench ab` plans by default.
const BLOCKS_MAX: usize = 40;

/// What the gateways do: work that keeps their core busy. Where a gateway has time to sleep, one that burns time is woken
/// less often, and what it burns is not what it costs.
pub const SCENARIO: &str = "soap-5";

/// The slowed gateways: what they are called, and by how much.
pub const SLOWED: [(&str, &str); 2] = [("slower-by-3", "3%"), ("slower-by-5", "5%")];

/// The load of both.
const LOAD: &str = "\
profile: known-truth
title: CPU per request, side by side
phases:
  - name: side-by-side
    side_by_side: true
    closed: {connections: 32}
    warm_up: 300ms
    measure: 2s
";

/// The words of the benchmark.
pub struct Plan {
    /// Blocks of the recording.
    pub blocks: u32,
    /// Live comparisons of each kind.
    pub live: u32,
    /// What one comparison may take.
    pub minutes: u32,
    /// A recording that is there already.
    pub from: Option<PathBuf>,
    /// Where everything is left.
    out: PathBuf,
}

impl Plan {
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let mut plan = Self {
            blocks: 150,
            live: 3,
            minutes: 10,
            from: None,
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
                "--blocks" => plan.blocks = number(value()?)?,
                "--live" => plan.live = number(value()?)?,
                "--minutes" => plan.minutes = number(value()?)?,
                "--from" => plan.from = Some((*value()?).into()),
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

    /// Blocks of one comparison: as many as `gatebench ab` plans, or as its time allows. A block of the recording,
    /// with a gateway more, takes no less than one of those.
    pub fn blocks_of_a_comparison(&self, recorded: &Recorded) -> usize {
        let seconds = f64::from(self.minutes) * 60.0;
        BLOCKS_MAX.min((seconds / recorded.block_seconds) as usize)
    }
}

/// Writes the load; its path.
pub fn load(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join("known-truth.yaml");
    write(&path, LOAD)?;
    Ok(path)
}

/// Writes the folder of a slowed gateway: the reference gateway's, with one word more at its start.
pub fn slowed(root: &Path, folder: &Path, name: &str, share: &str) -> Result<PathBuf, String> {
    let from = root.join("gateways/reference");
    let to = folder.join(name);
    let failed = |error: std::io::Error| format!("{} cannot be made: {error}", to.display());
    fs::create_dir_all(&to).map_err(failed)?;
    for file in fs::read_dir(&from).map_err(failed)? {
        let file = file.map_err(failed)?;
        fs::copy(file.path(), to.join(file.file_name())).map_err(failed)?;
    }
    let path = to.join("gateway.yaml");
    let text = fs::read_to_string(&path).map_err(failed)?;
    let slowed = with_handicap(&text, name, share)?;
    write(&path, &slowed)?;
    Ok(to)
}

fn with_handicap(text: &str, name: &str, share: &str) -> Result<String, String> {
    let start = "/gateway.json\" ]";
    if text.matches(start).count() != 1 {
        return Err("gateways/reference/gateway.yaml starts in another way than this knows".into());
    }
    let named = text.replacen("gateway: reference", &format!("gateway: {name}"), 1);
    let words = format!("/gateway.json\", --handicap, \"{share}\" ]");
    Ok(named.replacen(start, &words, 1))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_slowed_gateway_is_the_reference_gateway_with_a_handicap() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = fs::read_to_string(root.join("gateways/reference/gateway.yaml")).unwrap();
        let slowed = with_handicap(&text, "slower-by-3", "3%").unwrap();
        assert!(slowed.starts_with("gateway: slower-by-3\n"));
        assert!(slowed.contains("gateway.json\", --handicap, \"3%\" ]"));
        assert_eq!(slowed.lines().count(), text.lines().count());
    }

    #[test]
    fn wrong_words_are_named() {
        assert!(Plan::read(&["--blocks", "20", "--live", "0"]).is_ok());
        assert!(Plan::read(&["--blocks"]).is_err());
        assert!(Plan::read(&["--live", "x"]).is_err());
        assert!(Plan::read(&["--pears"]).is_err());
    }
}
