//! `gatebench doctor`.

mod checks;
mod container;

use clap::Args;
use console::Style;
use serde_json::json;

use self::checks::{Check, State};
use super::outputs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// The column at which an observation begins.
const INDENT: usize = 19;

/// Check this machine, and show how to install what it lacks
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 3 if the tour (`gatebench run`) cannot run or an output does not accept \
                  data, 0 otherwise."
)]
pub struct Doctor {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Try these outputs instead: prometheus=URL, influxdb=URL, otlp=URL or jsonl=FILE (repeatable)
    #[arg(long = "out", value_name = "KIND=TARGET")]
    outs: Vec<String>,
}

impl Doctor {
    /// Runs the checks and prints their results.
    pub fn run(self) -> Result<Exit, Failure> {
        if !self.outs.is_empty() {
            return self.outputs();
        }
        let checks = checks::all()?;
        let able = checks.iter().all(|check| check.state != State::Missing);
        if self.json {
            let entries: Vec<_> = checks.iter().map(as_json).collect();
            terminal::say_data(&format!("{:#}", json!({ "able": able, "checks": entries })))?;
        } else {
            for check in &checks {
                terminal::say(&line(check))?;
            }
            terminal::say(if able {
                "\nthe tour can run: gatebench run"
            } else {
                "\nthe tour cannot run"
            })?;
        }
        Ok(if able { Exit::Fine } else { Exit::Environment })
    }

    /// Tries the outputs.
    fn outputs(&self) -> Result<Exit, Failure> {
        let targets = self.outs.iter().map(|word| outputs::out(word));
        let targets: Vec<_> = targets.collect::<Result<_, _>>()?;
        let checks: Vec<Check> = targets.iter().map(checks::output).collect();
        let able = checks.iter().all(|check| check.state == State::Good);
        if self.json {
            let entries: Vec<_> = checks.iter().map(as_json).collect();
            terminal::say_data(&format!("{:#}", json!({ "able": able, "checks": entries })))?;
        } else {
            checks
                .iter()
                .try_for_each(|check| terminal::say(&line(check)))?;
        }
        Ok(if able { Exit::Fine } else { Exit::Environment })
    }
}

fn line(check: &Check) -> String {
    let style = Style::new().force_styling(terminal::stdout_colors());
    let mark = match check.state {
        State::Good => style.green().apply_to("✓"),
        State::Advice => style.yellow().apply_to("!"),
        State::Missing => style.red().bold().apply_to("✗"),
    };
    let remedy = check
        .remedy
        .as_ref()
        .map(|remedy| format!("\n    → {remedy}"))
        .unwrap_or_default();
    let says = terminal::column(&check.says, terminal::WIDTH, INDENT);
    format!("{mark} {:<16} {says}{remedy}", check.name)
}

fn as_json(check: &Check) -> serde_json::Value {
    let state = match check.state {
        State::Good => "good",
        State::Advice => "advice",
        State::Missing => "missing",
    };
    json!({ "name": check.name, "state": state, "says": check.says, "remedy": check.remedy })
}
