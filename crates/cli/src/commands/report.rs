//! `gatebench report DIR`.

use std::path::PathBuf;

use clap::Args;
use gatebench_report::json;
use gatebench_store::Run;
use gatebench_studies::published::in_columns_of;
use gatebench_studies::run::redact::leave_out;
use gatebench_studies::{Findings, analyse, analyse_masked};

use super::values::Overlay;
use crate::failure::Failure;
use crate::reports::Format;
use crate::{reports, terminal};

/// Rebuild the report of a run from its directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gatebench report gatebench-runs/tour-20260102T030405Z
  gatebench report DIR --format markdown | less
  gatebench report DIR --format junit > junit.xml
  gatebench report DIR --as soap           in the columns of the Kong SOAP/XML load test
  gatebench report DIR --as gravitee --format html > page.html
  gatebench report DIR --as ./mine.yaml    in the columns of your own document
  gatebench report DIR --redact            write the files without details of your machine

By default, the report masks keys, passwords and tokens of the scenarios, and omits your own
configurations (--config). The run directory itself contains all of these: publish the report, not
the directory.")]
pub struct Report {
    /// The run directory
    dir: PathBuf,
    /// Print the report in this format and write no files [default: print for the terminal and
    /// write the report files to the run directory]
    #[arg(long)]
    format: Option<Format>,
    /// Print the report as JSON, like --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print the run in the columns of this published document (a name from `gatebench list
    /// published`, or a file), with the differences from it; write no files
    #[arg(long = "as", value_name = "DOCUMENT")]
    document: Option<String>,
    /// Omit command lines, paths, rendered files, requests, responses and the output of programs
    #[arg(long)]
    redact: bool,
    /// Show the keys, passwords and tokens of the scenarios, and your own configurations
    #[arg(long, conflicts_with = "redact")]
    show_secrets: bool,
    /// Print all figures and notes, not only the first screen
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    overlay: Overlay,
}

impl Report {
    pub fn run(self) -> Result<(), Failure> {
        if let Some(word) = &self.document {
            return self.in_columns_of(word);
        }
        let findings = self.findings(&Run::open(&self.dir)?)?;
        if let Some(format) = self.format() {
            let text = format.render(&findings, || json::render(&findings));
            return terminal::say_data(text.trim_end());
        }
        let page = reports::write(&self.dir, &findings, self.show_secrets)?;
        let text = reports::for_terminal(&findings, !self.verbose);
        terminal::say(&format!("{text}\n\n{}", page.display()))
    }

    fn format(&self) -> Option<Format> {
        let json = self.json.then_some(Format::Json);
        json.or(self.format)
    }

    fn findings(&self, run: &Run) -> Result<Findings, Failure> {
        let mut findings = match self.show_secrets {
            true => analyse(run)?,
            false => analyse_masked(run)?,
        };
        if self.redact {
            leave_out(&mut findings);
        }
        Ok(findings)
    }

    fn in_columns_of(&self, word: &str) -> Result<(), Failure> {
        let format = self.format().unwrap_or(Format::Terminal);
        if format == Format::Junit {
            return Err(Failure::words(
                "--format junit",
                "the columns of a document have no verdicts",
                "omit --as to write the verdicts of the run",
            ));
        }
        let document = self.overlay.scenarios().published_of(word)?.document;
        let run = Run::open(&self.dir)?;
        let findings = self.findings(&run)?;
        let without_figures = |what: &str| {
            let word = format!("{} --as {}", self.dir.display(), document.published);
            let remedy = format!(
                "measure the document's scenarios: gatebench run {}",
                document.suite
            );
            Err(Failure::words(word, what, remedy))
        };
        if findings.run.is_smoke {
            return without_figures(
                "a smoke run only verifies that everything works; it has no figures",
            );
        }
        let found = in_columns_of(&document, &run, &findings)?;
        if found.tables.is_empty() {
            return without_figures("this run has none of the document's scenarios");
        }
        let text = format.render(&found, || json::render(&found));
        terminal::say_data(text.trim_end())
    }
}
