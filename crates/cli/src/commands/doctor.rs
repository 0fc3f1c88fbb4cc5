//! `gatebench doctor`.

pub mod checks;
mod container;

use clap::Args;
use serde_json::json;

use self::checks::{Check, State};
use super::outputs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// The column where an observation begins.
const INDENT: usize = 19;

/// Check this machine, and show how to install what is missing
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 3 if the tour (`gatebench run`) cannot run or an output does not accept \
                  data, 0 otherwise."
)]
pub struct Doctor {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Test these outputs instead of this machine: prometheus=URL, influxdb=URL, otlp=URL or
    /// jsonl=FILE (repeatable)
    #[arg(long = "out", value_name = "KIND=TARGET")]
    outs: Vec<String>,
}

impl Doctor {
    pub fn run(self) -> Result<Exit, Failure> {
        let checks = match self.outs.is_empty() {
            true => checks::all()?,
            false => self.outputs()?,
        };
        let able = checks.iter().all(|check| check.state != State::Missing);
        let printed = if self.json {
            let entries: Vec<_> = checks.iter().map(as_json).collect();
            terminal::say_json(&json!({ "able": able, "checks": entries }))
        } else {
            let mut lines: Vec<String> = checks.iter().map(line).collect();
            if self.outs.is_empty() {
                let state = if able {
                    "can run: gatebench run"
                } else {
                    "cannot run"
                };
                lines.push(format!("\nthe tour {state}"));
            }
            terminal::say(&lines.join("\n"))
        };
        terminal::unless_closed(printed)?;
        Ok(if able { Exit::Fine } else { Exit::Environment })
    }

    fn outputs(&self) -> Result<Vec<Check>, Failure> {
        let targets = self.outs.iter().map(|word| outputs::out(word));
        let targets: Vec<_> = targets.collect::<Result<_, _>>()?;
        Ok(targets.iter().map(checks::output).collect())
    }
}

pub fn line(check: &Check) -> String {
    let style = terminal::stdout_style();
    let mark = match check.state {
        State::Good => style.green().apply_to("✓"),
        State::Advice => style.yellow().apply_to("!"),
        State::Missing => style.red().bold().apply_to("✗"),
    };
    let remedy = check.remedy.iter().map(|it| format!("\n    → {it}"));
    let remedy: String = remedy.collect();
    let says = terminal::column(&check.says, terminal::WIDTH, INDENT);
    format!("{mark} {:<16} {says}{remedy}", check.name)
}

pub fn as_json(check: &Check) -> serde_json::Value {
    let state = match check.state {
        State::Good => "good",
        State::Advice => "advice",
        State::Missing => "missing",
    };
    json!({ "name": check.name, "state": state, "says": check.says, "remedy": check.remedy })
}
