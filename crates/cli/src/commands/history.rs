//! `gatebench history`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use gatebench_report::json;
use gatebench_stats::change_points::LOOKS;
use gatebench_store::history::HistoryIndex;
use gatebench_studies::across_runs::history::facts::HistoryFindings;
use gatebench_studies::across_runs::{HISTORY_RUNS_MIN, history as over_time, updated};

use crate::failure::Failure;
use crate::reports::{self, Format};
use crate::terminal;

const FORMATS: [Format; 3] = [Format::Terminal, Format::Html, Format::Json];

fn examples() -> String {
    format!(
        "\
Examples:
  gatebench history                                 the runs of ./gatebench-runs over time
  gatebench history --scenario proxy-json --gateway mine
  gatebench history /var/lib/bench --format html > history.html
  gatebench history --rescan                        rebuild the index

The command reads new and changed runs into DIR/history.sqlite. You can delete this index at any
time: everything in it comes from the run directories. `gatebench run` and `ab` do not write to
it. A change is reported if there are at least {HISTORY_RUNS_MIN} runs under the same conditions
(machine, load generator, load, scenario, size of the gateway) and {LOOKS} consecutive analyses have
found the change."
    )
}

/// Show metrics over many runs, and where they changed
#[derive(Debug, Args)]
#[command(after_help = examples())]
pub struct History {
    /// The directory that contains the runs
    #[arg(default_value = "gatebench-runs")]
    dir: PathBuf,
    /// Show only this scenario (repeatable)
    #[arg(long = "scenario", value_name = "NAME")]
    scenarios: Vec<String>,
    /// Show only this gateway (repeatable)
    #[arg(long = "gateway", value_name = "NAME")]
    gateways: Vec<String>,
    /// Delete the index and read every run again
    #[arg(long)]
    rescan: bool,
    /// Print the history in this format
    #[arg(long, default_value = "terminal", value_parser = reports::one_of(&FORMATS))]
    format: Format,
    /// Print the history as JSON, like --format json
    #[arg(long)]
    json: bool,
}

impl History {
    pub fn run(self) -> Result<(), Failure> {
        let found = self.findings()?;
        let format = if self.json { Format::Json } else { self.format };
        let text = format.render(&found, || json::render(&found));
        terminal::say_data(text.trim_end())
    }

    fn findings(&self) -> Result<HistoryFindings, Failure> {
        let mut index = match self.rescan {
            true => HistoryIndex::rebuild(&self.dir)?,
            false => HistoryIndex::open(&self.dir)?,
        };
        let show = |dir: &str, number: usize, of: usize| {
            if terminal::stderr_is_terminal() {
                terminal::complain(&format!("reading {dir} ({number} of {of})"));
            }
        };
        let mut entries = updated(&mut index, &self.dir, show)?;
        if entries.is_empty() {
            return Err(Failure::words(
                self.dir.display().to_string(),
                "the directory contains no runs",
                "name the directory that contains runs; `gatebench run` creates ./gatebench-runs",
            ));
        }
        let cells = || entries.iter().flat_map(|it| &it.cells);
        let scenarios = cells().map(|it| &*it.scenario).collect();
        self.check("scenario", &self.scenarios, scenarios)?;
        let gateways = cells().map(|it| &*it.gateway).collect();
        self.check("gateway", &self.gateways, gateways)?;
        let is_shown = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        for entry in &mut entries {
            entry.cells.retain(|cell| {
                is_shown(&self.scenarios, &cell.scenario) && is_shown(&self.gateways, &cell.gateway)
            });
        }
        Ok(over_time(&entries))
    }

    /// Checks that the history has figures for each of the given names of scenarios or gateways.
    fn check(&self, noun: &str, names: &[String], known: BTreeSet<&str>) -> Result<(), Failure> {
        let Some(unknown) = names.iter().find(|it| !known.contains(it.as_str())) else {
            return Ok(());
        };
        let dir = self.dir.display();
        Err(Failure::words(
            format!("--{noun} {unknown}"),
            format!("no run in {dir} has figures of a {noun} of this name"),
            match known.is_empty() {
                true => "name a directory with runs that have completed a trial".into(),
                false => format!("use one of {}", Vec::from_iter(known).join(", ")),
            },
        ))
    }
}
