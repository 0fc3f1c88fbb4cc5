//! Renders reports, and writes the report of a run to the run directory.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatebench_report::{Report, TerminalOptions, csv, html, json, junit, markdown, terminal};
use gatebench_store::Run;
use gatebench_studies::policy_cost::records::CostRecords;
use gatebench_studies::{Findings, analyse_masked};

use crate::failure::Failure;

pub const PAGE: &str = "report.html";

type Form = (&'static str, fn(&Findings) -> String);

const FILES: [Form; 5] = [
    (PAGE, html::render),
    ("report.md", markdown::render),
    ("report.json", json::render),
    ("summary.csv", csv::render),
    ("costs.csv", |it| {
        csv::render(&CostRecords(it.costs.as_ref()))
    }),
];

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for the terminal
    Terminal,
    /// Markdown, for a pull request, an issue or a wiki
    Markdown,
    /// One self-contained HTML page
    Html,
    /// All findings as JSON
    Json,
    /// The figures as CSV; for a run, each block of each metric
    Csv,
    /// Verdicts, trials and thresholds as JUnit XML, for a CI system
    Junit,
}

impl Format {
    /// Renders a report in this format for a file: at the default width and without colors,
    /// regardless of the terminal.
    pub fn to_file(self, report: &impl Report, json: impl FnOnce() -> String) -> String {
        match self {
            Self::Terminal => terminal::render(report, TerminalOptions::default()),
            format => format.render(report, json),
        }
    }

    /// Renders a report in this format for standard output; `json` returns the content of the JSON
    /// format.
    pub fn render(self, report: &impl Report, json: impl FnOnce() -> String) -> String {
        match self {
            Self::Terminal => terminal::render(report, terminal_options()),
            Self::Markdown => markdown::render(report),
            Self::Html => html::render(report),
            Self::Json => json(),
            Self::Csv => csv::render(report),
            Self::Junit => junit::render(report),
        }
    }
}

pub fn one_of(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let names = formats.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(names).try_map(|name| Format::from_str(&name, false))
}

/// A file for a report, in the format of its extension.
#[derive(Clone, Debug)]
pub struct ReportFile {
    pub path: PathBuf,
    pub format: Format,
}

impl ReportFile {
    pub fn of(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let extension = path.extension().and_then(|it| it.to_str());
        let format = match extension.unwrap_or_default() {
            "html" => Format::Html,
            "md" => Format::Markdown,
            "json" => Format::Json,
            "csv" => Format::Csv,
            "xml" => Format::Junit,
            "txt" => Format::Terminal,
            _ => return Err("the name must end with .html, .md, .json, .csv, .xml or .txt".into()),
        };
        Ok(Self { path, format })
    }
}

/// Returns the findings of the run in `dir`, finished or not, with its scenarios' secrets masked.
pub fn findings(dir: &Path) -> Result<Findings, Failure> {
    Ok(analyse_masked(&Run::open(dir)?)?)
}

/// Writes all files of the report to the run directory. Returns the path of the page. If the
/// findings contain secrets, only the user can read the files.
pub fn write(dir: &Path, findings: &Findings, has_secrets: bool) -> Result<PathBuf, Failure> {
    let mode = if has_secrets { 0o600 } else { 0o666 };
    for (name, render) in FILES {
        replace(&dir.join(name), &render(findings), mode)?;
    }
    for graph in findings.sections.iter().flat_map(|it| &it.graphs) {
        // A profile without a single stack has no graph.
        if let Ok(drawn) = graph.svg() {
            replace(&dir.join(&graph.file), &drawn, mode)?;
        }
    }
    Ok(dir.join(PAGE))
}

/// Renders the complete report for this terminal, or only its first screen.
pub fn for_terminal(findings: &Findings, brief: bool) -> String {
    let options = TerminalOptions {
        brief,
        ..terminal_options()
    };
    terminal::render(findings, options).trim_end().to_owned()
}

pub fn terminal_options() -> TerminalOptions {
    TerminalOptions {
        color: crate::terminal::stdout_colors(),
        columns: crate::terminal::stdout_width(),
        brief: false,
    }
}

/// Writes a temporary file and renames it, so that a browser never reads a partly written page.
/// Links are not followed, because the directory may come from another user.
fn replace(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let temporary = path.with_extension("tmp");
    // A killed process may have left a temporary file. If it cannot be removed, creating the new
    // one fails below.
    let _ = fs::remove_file(&temporary);
    let mut options = File::options();
    let written = options
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // A partial file must not keep using disk space.
        let _ = fs::remove_file(&temporary);
        Failure::environment(
            format!("cannot write {}: {error}", path.display()),
            format!(
                "free up disk space or make the directory writable, then run `gatebench report {}`",
                path.parent().unwrap_or(path).display()
            ),
        )
    })
}
