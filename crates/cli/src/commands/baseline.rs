//! `gatebench baseline`: named sets of runs that other runs are compared with.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gatebench_report::format::counted;
use gatebench_stats::MIN_RUNS;
use gatebench_store::Run;
use gatebench_store::history::{BASELINES_FILE, Baselines};
use gatebench_studies::run::shell_line;

use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench baseline set gatebench-runs/ab-*       name the runs that others are compared with
  gatebench baseline set RUN RUN RUN --name 3.8
  gatebench baseline show main
  gatebench compare RUN --baseline main

A baseline consists of several runs of the same configuration, ideally on different days. Their
differences show how much runs vary if nothing changes. Use at least three runs, preferably five to
ten.";

/// Name a set of runs as the baseline for later comparisons
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Baseline {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Name these runs as a baseline, replacing an earlier baseline of that name
    Set {
        /// The run directories
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<PathBuf>,
        /// The name of the baseline
        #[arg(long, default_value = "main")]
        name: String,
        #[command(flatten)]
        folder: Folder,
    },
    /// List the baselines
    List {
        #[command(flatten)]
        folder: Folder,
    },
    /// List the runs of a baseline
    Show {
        /// The name of the baseline
        #[arg(default_value = "main")]
        name: String,
        #[command(flatten)]
        folder: Folder,
    },
    /// Remove a baseline, but keep its runs
    Remove {
        /// The name of the baseline
        name: String,
        #[command(flatten)]
        folder: Folder,
    },
}

const DEFAULT_DIR: &str = "gatebench-runs";

/// The option for the directory that contains the runs.
#[derive(Clone, Debug, Args)]
pub struct Folder {
    /// The directory whose file baselines.json records the baselines
    #[arg(long = "runs-in", value_name = "DIR", default_value = DEFAULT_DIR)]
    dir: PathBuf,
}

impl Baseline {
    pub fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Set { runs, name, folder } => folder.set(&name, &runs),
            Action::List { folder } => folder.list(),
            Action::Show { name, folder } => {
                let runs = folder.runs_of(&name)?;
                let lines: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
                terminal::say(&lines.join("\n"))
            }
            Action::Remove { name, folder } => folder.remove(&name),
        }
    }
}

impl Folder {
    pub fn runs_of(&self, name: &str) -> Result<Vec<PathBuf>, Failure> {
        let known = Baselines::read(&self.dir)?;
        known
            .runs(&self.dir, name)
            .ok_or_else(|| self.unknown(name, &known))
    }

    /// Returns the command that sets a baseline in this directory, quoted for a shell.
    pub fn set_line(&self, name: Option<&str>) -> String {
        let words = "gatebench baseline set RUN RUN RUN".split(' ');
        let name = name.into_iter().flat_map(|name| ["--name", name]);
        let mut words: Vec<String> = words.chain(name).map(String::from).collect();
        if self.dir != Path::new(DEFAULT_DIR) {
            words.extend(["--runs-in".to_owned(), self.dir.display().to_string()]);
        }
        shell_line(&words)
    }

    fn set(&self, name: &str, runs: &[PathBuf]) -> Result<(), Failure> {
        // A run that cannot be opened is reported before anything is written.
        for run in runs {
            Run::open(run)?;
        }
        let runs: Vec<PathBuf> = runs.iter().map(|run| absolute(run)).collect();
        let mut known = Baselines::read(&self.dir)?;
        let folder = absolute(&self.dir);
        let count = known.set(&folder, name, &runs);
        known.write(&self.dir)?;
        let few = match count {
            count if count < MIN_RUNS => format!("; a verdict needs {MIN_RUNS}"),
            _ => String::new(),
        };
        let (count, file) = (counted(count as u64, "run"), self.dir.join(BASELINES_FILE));
        terminal::say(&format!("{name}: {count}{few} ({})", file.display()))
    }

    fn list(&self) -> Result<(), Failure> {
        let known = Baselines::read(&self.dir)?;
        let line = |(name, runs): (&String, &Vec<PathBuf>)| {
            format!("{name}  {}", counted(runs.len() as u64, "run"))
        };
        let lines: Vec<String> = known.baselines.iter().map(line).collect();
        if lines.is_empty() {
            let set = self.set_line(None);
            return terminal::say(&format!("no baselines; set one: {set}"));
        }
        terminal::say(&lines.join("\n"))
    }

    fn remove(&self, name: &str) -> Result<(), Failure> {
        let mut known = Baselines::read(&self.dir)?;
        if known.baselines.remove(name).is_none() {
            return Err(self.unknown(name, &known));
        }
        Ok(known.write(&self.dir)?)
    }

    fn unknown(&self, name: &str, known: &Baselines) -> Failure {
        let names: Vec<&str> = known.baselines.keys().map(String::as_str).collect();
        let remedy = match names.as_slice() {
            [] => format!("set one: {}", self.set_line(Some(name))),
            names => format!("use one of {}", names.join(", ")),
        };
        let what = format!(
            "there is no baseline of that name in {}",
            self.dir.display()
        );
        Failure::words(name, what, remedy)
    }
}

/// Returns the canonical path, or the path itself if it cannot be resolved.
pub fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
