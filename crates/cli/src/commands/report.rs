//! `gatebench report DIR`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gatebench_analysis::Findings;
use gatebench_report::{csv, html, json, markdown};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{reports, terminal};

/// Rebuilds the report of a run from what it measured, byte for byte
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench report gatebench-runs/tour-20260102T030405Z\n  \
                        gatebench report DIR --format markdown | less"
)]
pub struct Report {
    /// The run directory
    dir: PathBuf,
    /// Print this form of it; without, the terminal's is printed and the run directory's files are written
    #[arg(long)]
    format: Option<Format>,
}

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for this terminal
    Terminal,
    /// For an issue or a wiki
    Markdown,
    /// One self-contained page
    Html,
    /// All findings, for machines
    Json,
    /// Every block of every metric
    Csv,
}

impl Format {
    fn render(self, findings: &Findings) -> String {
        match self {
            Self::Terminal => reports::for_terminal(findings),
            Self::Markdown => markdown::render(findings),
            Self::Html => html::render(findings),
            Self::Json => json::render(findings),
            Self::Csv => csv::render(findings),
        }
    }
}

impl Report {
    /// Prints it, or writes it.
    pub fn run(self) -> Result<Exit, Failure> {
        let findings = reports::findings(&self.dir)?;
        match self.format {
            Some(format) => terminal::say(format.render(&findings).trim_end())?,
            None => {
                let page = reports::write(&self.dir, &findings)?;
                terminal::say(&format!(
                    "{}\n\n{}",
                    reports::for_terminal(&findings),
                    page.display()
                ))?;
            }
        }
        Ok(Exit::Fine)
    }
}
