//! The report of a run in its forms, and the files of it in the run directory.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use gatebench_analysis::{Findings, analyse};
use gatebench_report::{TerminalOptions, costs_csv, csv, flame, html, json, markdown, terminal};
use gatebench_store::Run;

use crate::exit::Exit;
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
    ("costs.csv", costs_csv::render),
];

/// What the run in `dir` says, as far as it came.
pub fn findings(dir: &Path) -> Result<Findings, Failure> {
    Ok(analyse(&Run::open(dir)?)?)
}

/// Writes every file of the report into the run directory and answers with the page's path.
pub fn write(dir: &Path, findings: &Findings) -> Result<PathBuf, Failure> {
    for (name, render) in FILES {
        replace(&dir.join(name), &render(findings))?;
    }
    for graph in findings.sections.iter().flat_map(|it| &it.graphs) {
        // A profile without a single stack has no graph.
        if let Ok(drawn) = flame::svg(graph) {
            replace(&dir.join(&graph.file), &drawn)?;
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
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let temporary = path.with_extension("tmp");
    // One that is there was left by a process that was killed. What cannot be removed cannot be made anew either.
    let _ = fs::remove_file(&temporary);
    let written = File::create_new(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // What could not be written whole must not take up what little space there is.
        let _ = fs::remove_file(&temporary);
        let text = format!(
            "environment: {} cannot be written: {error}; free space or permit writing, then type `gatebench report {}`",
            path.display(),
            path.parent().unwrap_or(path).display()
        );
        Failure::sentence(&text, Exit::Environment)
    })
}
