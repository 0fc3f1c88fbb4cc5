//! `gatebench ab` itself, a few times for each truth.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::plan::{self, Plan, SLOWED};
use super::record::SAME;
use crate::bench::programs::Programs;

/// Runs it, and the table in Markdown.
pub fn table(
    plan: &Plan,
    programs: &Programs,
    root: &Path,
    folder: &Path,
) -> Result<String, String> {
    let load = plan::load(folder)?;
    let mut lines = vec![
        "| truth | live comparison | says |".to_owned(),
        "|---|--:|---|".to_owned(),
    ];
    let mut truths = vec![("the same gateway".to_owned(), SAME[0].into())];
    for (name, share) in SLOWED {
        let slowed = plan::slowed(root, folder, name, share)?;
        truths.push((format!("slower by {share}"), slowed));
    }
    for number in 1..=plan.live {
        for (truth, candidate) in &truths {
            eprintln!("live comparison {number} of {}: {truth}", plan.live);
            let out = folder.join(format!("{}-{number}", truth.replace([' ', '%'], "-")));
            let mut command = Command::new(&programs.gatebench);
            command.arg("ab").arg(SAME[0]).arg(candidate);
            command.args(["--scenario", plan::SCENARIO]);
            command.arg("--load").arg(&load).arg("--out").arg(&out);
            command.args(["--json", "--seed", &number.to_string()]);
            command.args(["--budget", &format!("{}m", plan.minutes)]);
            lines.push(format!("| {truth} | {number} | {} |", said(&mut command)?));
        }
    }
    Ok(lines.join("\n"))
}

/// What it says, which is also in its exit code.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("gatebench cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| format!("gatebench ab printed no JSON ({error}): {text}"))?;
    let text = value["duel"]["text"].as_str();
    text.map(str::to_owned)
        .ok_or_else(|| "gatebench ab said nothing of the comparison".into())
}
