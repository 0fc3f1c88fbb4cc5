//! `gatebench compare BASELINE CANDIDATE` and `gatebench compare RUN --baseline NAME`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gatebench_analysis::findings::{CompareFindings, Decision};
use gatebench_analysis::{RunSummary, compare as against_one, compare_with_baseline, summarise};
use gatebench_report::{html, json, markdown, terminal as on_terminal};
use gatebench_store::Run;

use super::baseline;
use super::values::MetricWord;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{reports, terminal};

const EXAMPLES: &str = "\
Examples:
  gatebench compare gatebench-runs/ab-MONDAY gatebench-runs/ab-TUESDAY
  gatebench compare RUN RUN --metric added-p99 --format html > compare.html
  gatebench baseline set RUN RUN RUN RUN RUN      name five runs of what is in use
  gatebench compare RUN --baseline main           is this run worse than those are among themselves?

Runs are measured at different times, and nothing of them is paired. Two of them are compared by their blocks
(Welch; ten of each for a verdict); what the machine changes between two runs is not in that interval. A run
against a baseline is compared with what its runs differ by (prediction interval; from three runs on).
Runs of different machines, cores or engines are not compared; scenarios and loads that differ are left out.

Exits with 1 where the candidate is worse, 4 where nothing may be said, else 0.";

/// Compares two runs, or a run with a baseline of several
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// The run directories: the one that is compared with, then the one that is judged; with --baseline only the latter
    #[arg(required = true, num_args = 1..=2, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Compare with the runs of this name (`gatebench baseline set`)
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    folder: baseline::Folder,
    /// What decides
    #[arg(long, value_enum, default_value = "cpu")]
    metric: MetricWord,
    /// Print this form of it
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
}

/// A form of the comparison.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Tables for this terminal
    Terminal,
    /// For a pull request, an issue or a wiki
    Markdown,
    /// One self-contained page
    Html,
    /// All findings, for machines
    Json,
}

impl Compare {
    /// Compares, and says what came of it.
    pub fn run(self) -> Result<Exit, Failure> {
        let found = self.findings()?;
        let text = match self.format {
            Format::Terminal => on_terminal::render(&found, reports::terminal_options()),
            Format::Markdown => markdown::render(&found),
            Format::Html => html::render(&found),
            Format::Json => json::render(&found),
        };
        terminal::say_data(text.trim_end())?;
        Ok(match found.decision {
            Decision::Fine => Exit::Fine,
            Decision::Worse => Exit::CheckFailed,
            Decision::Open => Exit::Inconclusive,
        })
    }

    fn findings(&self) -> Result<CompareFindings, Failure> {
        let metric = self.metric.into();
        match (&self.baseline, self.runs.as_slice()) {
            (None, [baseline, candidate]) => {
                let [baseline, candidate] = [summary(baseline)?, summary(candidate)?];
                Ok(against_one(&baseline, &candidate, metric))
            }
            (Some(name), [candidate]) => {
                let runs = self.folder.runs_of(name)?;
                let candidate_dir = candidate
                    .canonicalize()
                    .unwrap_or_else(|_| candidate.clone());
                // A run that is a part of its own baseline would be held against itself.
                let others = runs
                    .iter()
                    .filter(|run| run.canonicalize().ok().as_ref() != Some(&candidate_dir));
                let runs = others
                    .map(|run| summary(run))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(compare_with_baseline(&runs, &summary(candidate)?, metric))
            }
            (Some(_), _) => Err(Failure::words(
                "RUN",
                "a baseline takes the place of the first run",
                "name the run that is judged alone: gatebench compare RUN --baseline NAME",
            )),
            (None, _) => Err(Failure::words(
                "RUN",
                "one run cannot be compared with nothing",
                "name a second one, or a baseline: gatebench compare RUN --baseline main",
            )),
        }
    }
}

/// What a run says, under the name of its directory.
pub fn summary(dir: &Path) -> Result<RunSummary, Failure> {
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    Ok(summarise(name.to_string_lossy(), &Run::open(dir)?)?)
}
