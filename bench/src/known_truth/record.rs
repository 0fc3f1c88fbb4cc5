//! Reads the blocks of runs, and records equal gateways in all phases for the simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::plan::Plan;
use crate::programs::Programs;

/// The gateway that is compared with itself.
pub const GATEWAY: &str = "reference";

const SCENARIOS: [&str; 3] = ["proxy-json", "api-key", "soap-5"];

/// The number of blocks in the run that measures the cost of a request.
const PILOT_BLOCKS: &str = "10";

const RECORDED: &str = "recorded";

const COLUMNS: [&str; 6] = ["scenario", "phase", "variant", "metric", "block", "value"];

/// The scenario, phase and metric.
pub type Key = (String, String, String);

/// Values of a run by key, then variant, then block.
#[derive(Debug, Default)]
pub struct Values(pub BTreeMap<Key, BTreeMap<String, BTreeMap<u32, f64>>>);

/// Measures the gateway's CPU time per request, in nanoseconds, in a comparison of the gateway with
/// itself in the default scenario.
pub fn cpu_per_request_ns(
    programs: &Programs,
    folder: &Path,
    gateway: &Path,
) -> Result<f64, String> {
    let out = folder.join("pilot");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    let gateway = gateway.display().to_string();
    let words = [
        "ab",
        &gateway,
        &gateway,
        "--verdict-only",
        "--blocks",
        PILOT_BLOCKS,
    ];
    run(programs, &words, &out)?;
    let found = Values::read(&out)?.baseline_ns();
    found.ok_or_else(|| format!("the run in {} measured nothing", out.display()))
}

/// Records three processes of the same gateway in each block, for each of [`SCENARIOS`] in all
/// phases of load `ab`.
pub fn make(plan: &Plan, programs: &Programs, folder: &Path) -> Result<(), String> {
    let out = folder.join(RECORDED);
    if out.exists() {
        return Err(format!(
            "{} already exists; remove it to record again",
            out.display()
        ));
    }
    let blocks = plan.record.to_string();
    let mut words = vec!["run"];
    words.extend(SCENARIOS);
    words.extend(["--no-direct", "--load", "ab", "--blocks", &blocks]);
    words.extend(["--gateway", GATEWAY].repeat(3));
    run(programs, &words, &out)
}

fn run(programs: &Programs, words: &[&str], out: &Path) -> Result<(), String> {
    // The exit code is ignored, because it is not 0 if, for example, a verdict is inconclusive. A
    // failed run is recognized later by its missing summary.
    Command::new(&programs.gatebench)
        .args(words)
        .arg("--dir")
        .arg(out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map(drop)
        .map_err(|error| format!("gatebench cannot be started: {error}"))
}

pub fn read(folder: &Path) -> Result<Option<Values>, String> {
    let run = folder.join(RECORDED);
    run.exists().then(|| Values::read(&run)).transpose()
}

impl Values {
    pub fn read(run: &Path) -> Result<Self, String> {
        let path = run.join("summary.csv");
        let text = fs::read_to_string(&path);
        Self::of(&text.map_err(|error| format!("{}: {error}", path.display()))?)
    }

    fn of(summary: &str) -> Result<Self, String> {
        let mut reader = csv::Reader::from_reader(summary.as_bytes());
        let unreadable = |error: csv::Error| format!("the summary cannot be read: {error}");
        let head = reader.headers().map_err(unreadable)?;
        let at = |name: &str| {
            let found = head.iter().position(|column| column == name);
            found.ok_or_else(|| format!("the summary has no column '{name}'"))
        };
        let columns = COLUMNS.map(at).into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut values = Self::default();
        for cells in reader.records() {
            let cells = cells.map_err(unreadable)?;
            let of = |column: usize| cells.get(columns[column]).unwrap_or_default();
            let wrong = || format!("the summary has a malformed line: {cells:?}");
            let block = of(4).parse().map_err(|_| wrong())?;
            let value = of(5).parse().map_err(|_| wrong())?;
            let key = [of(0), of(1), of(3)].map(str::to_owned).into();
            let variants = values.0.entry(key).or_default();
            let blocks = variants.entry(of(2).to_owned()).or_default();
            blocks.insert(block, value);
        }
        Ok(values)
    }

    /// The geometric mean of the CPU time per request of the baseline's two processes in phase
    /// `side-by-side`, in nanoseconds; `None` if there are no values.
    pub fn baseline_ns(&self) -> Option<f64> {
        let side_by_side = |(_, phase, metric): &Key| {
            phase == "side-by-side" && metric == "gateway_cpu_per_request_ns"
        };
        let (_, variants) = self.0.iter().find(|(key, _)| side_by_side(key))?;
        let baseline = variants
            .iter()
            .filter(|(name, _)| is_baseline(name, variants.keys()));
        let logs: Vec<f64> = baseline
            .flat_map(|(_, blocks)| blocks.values())
            .map(|value| value.ln())
            .collect();
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        (!logs.is_empty()).then(|| mean.exp())
    }
}

/// Reports whether a variant is one of the baseline's two processes. If all three processes are of
/// [`GATEWAY`], the first is the candidate.
fn is_baseline<'a>(name: &str, all: impl Iterator<Item = &'a String>) -> bool {
    let same: BTreeSet<&String> = all.filter(|it| it.starts_with(GATEWAY)).collect();
    let is_of_three = same.len() == 3 && name == GATEWAY;
    name.starts_with(GATEWAY) && !is_of_three
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_summary_is_read_by_its_head() {
        let row = |variant: &str, value: f64| {
            format!("a,{variant},side-by-side,gateway_cpu_per_request_ns,1,1,{value},valid\n")
        };
        let head = "scenario,variant,phase,metric,block,trial,value,validity\n";
        let text = format!(
            "{head}{}{}{}",
            row("reference", 1.0),
            row("reference-2", 4.0),
            row("reference-3", 9.0)
        );
        let values = Values::of(&text).unwrap();
        assert!((values.baseline_ns().unwrap() - 6.0).abs() < 1e-9);
        let text = format!(
            "{head}{}{}{}",
            row("handicapped", 1.0),
            row("reference", 4.0),
            row("reference-2", 9.0)
        );
        let values = Values::of(&text).unwrap();
        assert!((values.baseline_ns().unwrap() - 6.0).abs() < 1e-9);
        assert!(Values::of("a,b\n").is_err());
    }
}
