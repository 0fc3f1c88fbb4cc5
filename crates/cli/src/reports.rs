//! The report of a run in its forms, and the files of it in the run directory.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use gatebench_analysis::{Findings, analyse};
use gatebench_model::Plan;
use gatebench_report::redact::Redaction;
use gatebench_report::{CostRecords, TerminalOptions, csv, flame, html, json, markdown, terminal};
use gatebench_store::Run;

use crate::failure::Failure;

/// The page that a person opens.
pub const PAGE: &str = "report.html";

/// A file of the run directory and how it is written.
type Form = (&'static str, fn(&Findings) -> String);

const FILES: [Form; 5] = [
    (PAGE, html::render),
    ("report.md", markdown::render),
    ("report.json", json::render),
    ("summary.csv", csv::render),
    ("costs.csv", |it| csv::render(&CostRecords(it))),
];

/// Who may read the files of a report, before the user's mask is taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// It is made to be shown.
    All,
    /// Secrets are in it.
    User,
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Self::All => 0o666,
            Self::User => 0o600,
        }
    }
}

/// What the run in `dir` says, as far as it came, with the secrets of its scenarios masked.
pub fn findings(dir: &Path) -> Result<Findings, Failure> {
    let run = Run::open(dir)?;
    let mut findings = analyse(&run)?;
    redaction(&run.manifest().plan).mask(&mut findings);
    Ok(findings)
}

/// Masks what a plan's scenarios keep secret, and the configurations that its variants were given.
pub fn redaction(plan: &Plan) -> Redaction {
    let has_own = |setup: &gatebench_model::Setup| setup.config.is_some();
    let own = plan
        .variants
        .iter()
        .filter(|it| it.setup().is_some_and(has_own));
    Redaction::of(plan.secrets(), own.map(|it| it.label().to_owned()))
}

/// Writes every file of the report into the run directory and answers with the page's path.
pub fn write(dir: &Path, findings: &Findings, readers: Readers) -> Result<PathBuf, Failure> {
    for (name, render) in FILES {
        replace(&dir.join(name), &render(findings), readers)?;
    }
    for graph in findings.sections.iter().flat_map(|it| &it.graphs) {
        // A profile without a single stack has no graph.
        if let Ok(drawn) = flame::svg(graph) {
            replace(&dir.join(&graph.file), &drawn, readers)?;
        }
    }
    Ok(dir.join(PAGE))
}

/// The report for this terminal.
pub fn for_terminal(findings: &Findings) -> String {
    terminal::render(findings, terminal_options())
        .trim_end()
        .to_owned()
}

/// How this terminal is written on.
pub fn terminal_options() -> TerminalOptions {
    TerminalOptions {
        colour: crate::terminal::stdout_colors(),
        columns: crate::terminal::stdout_width(),
    }
}

/// Writes beside the file and renames, so that a page that is open in a browser is never half written. Neither is a link
/// followed: the directory may come from somebody else.
fn replace(path: &Path, text: &str, readers: Readers) -> Result<(), Failure> {
    let temporary = path.with_extension("tmp");
    // One that is there was left by a process that was killed. What cannot be removed cannot be made anew either.
    let _ = fs::remove_file(&temporary);
    let mut options = File::options();
    let written = options
        .write(true)
        .create_new(true)
        .mode(readers.mode())
        .open(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // What could not be written whole must not take up what little space there is.
        let _ = fs::remove_file(&temporary);
        Failure::environment(
            format!("cannot write {}: {error}", path.display()),
            format!(
                "free disk space or allow writing, then run `gatebench report {}`",
                path.parent().unwrap_or(path).display()
            ),
        )
    })
}
