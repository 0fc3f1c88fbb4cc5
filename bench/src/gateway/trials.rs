//! Runs `gatebench run` for one round and reads the figures in its records.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::cells::Cell;
use super::peers::Chosen;
use super::word;
use crate::programs::Programs;

/// CPU time per request in µs of each scenario with each gateway, or the reason why there is no
/// figure.
pub type Costs = BTreeMap<(String, String), Result<f64, String>>;

/// The results of one round.
pub struct Ran {
    pub costs: Costs,
    /// The planned scenarios, with all their definitions.
    pub scenarios: Vec<Value>,
}

pub fn run(
    cell: &Cell,
    chosen: &Chosen,
    programs: &Programs,
    load: &Path,
    round: usize,
    out: &Path,
) -> Result<Ran, String> {
    let mut command = Command::new(&programs.gatebench);
    command.args(["run", "--no-direct", "--blocks", &cell.trials.to_string()]);
    command.args(["--seed", &(round + 1).to_string(), "--load", &word(load)]);
    for scenario in cell.all() {
        command.args(["--scenario", scenario]);
    }
    for gateway in &chosen.gateways {
        command.args(["--gateway", gateway]);
    }
    let output = command
        .args(["--dir", &word(out)])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("gatebench cannot be started: {error}"))?;
    let manifest = read(&out.join("manifest.json")).map_err(|error| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("gatebench run did not start: {error}: {}", errors.trim())
    })?;
    let scenarios = manifest["plan"]["scenarios"].as_array();
    Ok(Ran {
        costs: costs(out)?,
        scenarios: scenarios.cloned().unwrap_or_default(),
    })
}

fn costs(out: &Path) -> Result<Costs, String> {
    let folders = std::fs::read_dir(out.join("trials"))
        .map_err(|error| format!("cannot list the trials: {error}"))?;
    let mut costs = Costs::new();
    for folder in folders.flatten() {
        let record = read(&folder.path().join("trial.json"))?;
        let name = |key: &str| record["trial"][key].as_str().unwrap_or("?").to_owned();
        let cost = cost(&record);
        costs
            .entry((name("scenario"), name("variant")))
            .and_modify(|least| *least = lesser(least, &cost))
            .or_insert(cost);
    }
    Ok(costs)
}

fn lesser(one: &Result<f64, String>, other: &Result<f64, String>) -> Result<f64, String> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(one.min(*other)),
        (Err(_), other) => other.clone(),
        (one, Err(_)) => one.clone(),
    }
}

/// Returns the CPU time of the gateway's process tree per response in the measured window, in µs.
/// Returns an error if the trial did not complete, or if a request or a check failed.
pub fn cost(record: &Value) -> Result<f64, String> {
    let outcome = &record["outcome"];
    if outcome["kind"] != "completed" {
        return Err(outcome.to_string());
    }
    let phase = &record["phases"][0];
    let counts = &phase["counts"];
    for bad in ["errors", "checks_failed"] {
        if counts[bad]
            .as_object()
            .is_some_and(|kinds| !kinds.is_empty())
        {
            return Err(format!("{bad}: {}", counts[bad]));
        }
    }
    let responses = counts["completed_in_window"].as_f64().unwrap_or(0.0);
    let cpu_ns = phase["usage"]["gateway"]["cpu_ns"].as_f64();
    match cpu_ns {
        Some(cpu_ns) if responses > 0.0 => Ok(cpu_ns / 1e3 / responses),
        _ => Err("the trial's record has no CPU time or no responses".into()),
    }
}

pub fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trial_with_the_lowest_cost_counts() {
        let failed = || Err::<f64, _>("why".to_owned());
        assert_eq!(lesser(&Ok(2.0), &Ok(1.0)), Ok(1.0));
        assert_eq!(lesser(&failed(), &Ok(1.0)), Ok(1.0));
        assert_eq!(lesser(&Ok(1.0), &failed()), Ok(1.0));
    }

    #[test]
    fn a_cost_is_cpu_over_responses_and_failures_have_none() {
        let mut record = serde_json::json!({
            "outcome": {"kind": "completed"},
            "phases": [{
                "counts": {"completed_in_window": 1000, "errors": {}, "checks_failed": {}},
                "usage": {"gateway": {"cpu_ns": 12_500_000}},
            }],
        });
        assert_eq!(cost(&record), Ok(12.5));
        record["phases"][0]["counts"]["errors"] = serde_json::json!({"reset": 1});
        assert!(cost(&record).is_err_and(|why| why.contains("reset")));
        record["outcome"] = serde_json::json!({"kind": "not_supported"});
        assert!(cost(&record).is_err_and(|why| why.contains("not_supported")));
    }
}
