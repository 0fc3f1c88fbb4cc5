//! `gatebench doctor`.

mod checks;

use clap::Args;
use console::Style;
use serde_json::json;

use self::checks::{Check, State};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// Columns before what was seen.
const INDENT: usize = 19;

/// Check this machine, and show how to install what it lacks
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 3 if the tour (`gatebench run`) cannot run, 0 otherwise.")]
pub struct Doctor {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// Looks, and says what it saw.
    pub fn run(self) -> Result<Exit, Failure> {
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
    let says = terminal::wrapped(&check.says, terminal::WIDTH - INDENT, 0)
        .replace('\n', &format!("\n{:INDENT$}", ""));
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
