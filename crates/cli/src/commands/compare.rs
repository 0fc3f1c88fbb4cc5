//! `gatebench compare BASELINE CANDIDATE` and `gatebench compare RUN --baseline NAME`.

use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_model::DecisiveMetric;
use gatebench_report::json;
use gatebench_store::Run;
use gatebench_studies::across_runs::compare::facts::CompareFindings;
use gatebench_studies::across_runs::{
    RunSummary, compare as against_one, compare_with_baseline, summarize,
};

use super::baseline;
use super::values::{METRICS, one_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::reports::{self, Format};
use crate::terminal;

const FORMATS: [Format; 4] = [
    Format::Terminal,
    Format::Markdown,
    Format::Html,
    Format::Json,
];

const EXAMPLES: &str = "\
Examples:
  gatebench compare gatebench-runs/ab-MONDAY gatebench-runs/ab-TUESDAY
  gatebench compare RUN RUN --metric added-p99 --format html > compare.html
  gatebench baseline set RUN RUN RUN RUN RUN      name five runs as the baseline
  gatebench compare RUN --baseline main           is this run worse than those?

Runs take place at different times, so their trials cannot be paired. Two runs are compared by
their blocks (Welch's test; a verdict needs ten usable blocks in each run). The interval does not
account for changes to the machine between the runs. A run is compared with a baseline by a
prediction interval over at least three runs of the baseline. Runs are not compared if they differ
in the machine, the kernel's accounting of CPU time, the number of gateway cores, or the load
generator. Scenarios and loads that differ are left out.

Exit code: 1 if the candidate is worse, 4 if the verdict is inconclusive, 0 otherwise.";

/// Compare two runs, or a run with a baseline
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// The run directories: baseline and candidate; with --baseline, only the candidate
    #[arg(required = true, num_args = 1..=2, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Compare with this baseline (see `gatebench baseline set`)
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    folder: baseline::Folder,
    /// Base the verdict on this metric
    #[arg(long, default_value = "cpu", value_parser = one_of(&METRICS))]
    metric: DecisiveMetric,
    /// Print the comparison in this format
    #[arg(long, default_value = "terminal", value_parser = reports::one_of(&FORMATS))]
    format: Format,
    /// Print the comparison as JSON, like --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Compare {
    pub fn run(self) -> Result<Exit, Failure> {
        let found = self.findings()?;
        let format = if self.json { Format::Json } else { self.format };
        let text = format.render(&found, || json::render(&found));
        terminal::unless_closed(terminal::say_data(text.trim_end()))?;
        Ok(Exit::of_decision(found.decision))
    }

    fn findings(&self) -> Result<CompareFindings, Failure> {
        let metric = self.metric;
        match (&self.baseline, self.runs.as_slice()) {
            (None, [baseline, candidate]) => {
                let [baseline, candidate] = [summary(baseline)?, summary(candidate)?];
                Ok(against_one(&baseline, &candidate, metric))
            }
            (Some(name), [candidate]) => {
                let runs = self.folder.runs_of(name)?;
                let own = baseline::absolute(candidate);
                // A run that is part of the baseline must not be compared with itself.
                let others = runs.iter().filter(|run| baseline::absolute(run) != own);
                let others = others
                    .map(|run| summary(run))
                    .collect::<Result<Vec<_>, _>>()?;
                if others.is_empty() {
                    return Err(Failure::words(
                        candidate.display().to_string(),
                        format!("the baseline '{name}' contains no other run"),
                        format!("name other runs: {}", self.folder.set_line(Some(name))),
                    ));
                }
                Ok(compare_with_baseline(&others, &summary(candidate)?, metric))
            }
            (Some(_), _) => Err(Failure::words(
                "RUN",
                "--baseline replaces the first run",
                "name only the candidate: gatebench compare RUN --baseline NAME",
            )),
            (None, _) => Err(Failure::words(
                "RUN",
                "there is nothing to compare this run with",
                "name a second run, or a baseline: gatebench compare RUN --baseline main",
            )),
        }
    }
}

fn summary(dir: &Path) -> Result<RunSummary, Failure> {
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    Ok(summarize(name.to_string_lossy(), &Run::open(dir)?)?)
}
