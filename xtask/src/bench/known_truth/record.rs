//! The recording: one run with all variants in each block, and what of it is needed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::plan::{self, Plan, SLOWED};
use crate::bench::programs::Programs;

/// The gateway, and itself under the name that a second one of it gets.
pub const SAME: [&str; 2] = ["reference", "reference-2"];

/// Columns of the run's summary that are read, by name.
const COLUMNS: [&str; 4] = ["variant", "metric", "block", "value"];

/// Processor time per request, by variant and block.
pub struct Recorded {
    pub gateway_ns: BTreeMap<String, BTreeMap<u32, f64>>,
    pub blocks: usize,
    /// What a block took, with all that belongs to it.
    pub block_seconds: f64,
}

/// Runs it.
pub fn make(
    plan: &Plan,
    programs: &Programs,
    root: &Path,
    folder: &Path,
) -> Result<Recorded, String> {
    let mut command = Command::new(&programs.gatebench);
    command.args(["run", plan::SCENARIO, "--no-floor", "--blocks"]);
    command.arg(plan.blocks.to_string());
    for _ in SAME {
        command.args(["--gateway", SAME[0]]);
    }
    for (name, share) in SLOWED {
        let slowed = plan::slowed(root, folder, name, share)?;
        command.arg("--gateway").arg(slowed);
    }
    let out = folder.join("recorded");
    command.arg("--load").arg(plan::load(folder)?);
    command.arg("--out").arg(&out).stdin(Stdio::null());
    let began = Instant::now();
    // Trials that a busy machine limits have an exit code of their own; what was measured says it better.
    let status = command
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("gatebench cannot be started: {error}"))?;
    let seconds = began.elapsed().as_secs_f64();
    let block_seconds = seconds / f64::from(plan.blocks.max(1));
    fs::write(out.join(SECONDS), format!("{block_seconds:.3}\n"))
        .map_err(|error| format!("the run left nothing ({status}): {error}"))?;
    Recorded::read(&out)
}

/// The file in which a recording says how long its blocks took.
const SECONDS: &str = "block-seconds";

impl Recorded {
    /// What is needed of a run directory.
    pub fn read(run: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            let path = run.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let seconds = read(SECONDS)?.trim().parse();
        let seconds = seconds.map_err(|error| format!("{SECONDS}: {error}"))?;
        Self::of(&read("summary.csv")?, seconds)
    }

    fn of(summary: &str, block_seconds: f64) -> Result<Self, String> {
        let mut lines = summary.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let at = |name: &str| {
            let found = head.iter().position(|column| *column == name);
            found.ok_or_else(|| format!("the summary has no column '{name}'"))
        };
        let [variant, metric, block, value] = COLUMNS.map(at);
        let (variant, metric, block, value) = (variant?, metric?, block?, value?);
        let mut recorded = Self {
            gateway_ns: BTreeMap::new(),
            blocks: 0,
            block_seconds,
        };
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let of = |column: usize| cells.get(column).copied().unwrap_or_default();
            let values = match of(metric) {
                "gateway_cpu_per_request_ns" => &mut recorded.gateway_ns,
                _ => continue,
            };
            let wrong = || format!("the summary has a line that is none: {line}");
            let block = of(block).parse().map_err(|_| wrong())?;
            let value = of(value).parse().map_err(|_| wrong())?;
            let blocks = values.entry(of(variant).to_owned()).or_default();
            blocks.insert(block, value);
        }
        recorded.blocks = recorded.gateway_ns.get(SAME[0]).map_or(0, BTreeMap::len);
        Ok(recorded)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_summary_is_read_by_its_head() {
        let text = "scenario,variant,metric,block,trial,value,validity\n\
            a,reference,gateway_cpu_per_request_ns,1,1,100.5,valid\n\
            a,reference,upstream_cpu_per_request_ns,1,1,50,valid\n\
            a,reference,throughput_per_second,1,1,7,valid\n";
        let recorded = Recorded::of(text, 3.0).unwrap();
        assert_eq!(recorded.gateway_ns["reference"][&1], 100.5);
        assert_eq!(recorded.blocks, 1);
        assert!(Recorded::of("a,b\n", 3.0).is_err());
    }
}
