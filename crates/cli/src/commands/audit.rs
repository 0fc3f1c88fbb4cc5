//! `gatebench audit FILE` and `gatebench audit RUN`.

mod own;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_audit::{Audit as Audited, Cell, Finding, Form, Severity, audit};
use gatebench_report::format::counted;

use super::values::{Named, one_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const INDENT: usize = 4;

/// Check a published table for impossible or misleading figures
#[derive(Debug, Args)]
#[command(
    long_about = "\
        Check a published table of results for figures that are impossible or misleading, and for \
        missing information: percentiles out of order, more requests in flight than connections \
        (for load generators that keep one request in flight per connection and report the mean \
        over all requests), means that contradict the percentiles, percentiles in a histogram's \
        lowest bucket, rows with different concurrency, timers that are too coarse, peaks reported \
        as means, CPU times that would require more cores than there are, and others. The command \
        reads CSV, JSON, the tables of a Markdown document, and the output of wrk and siege. It \
        runs nothing. For a run directory, it checks each trial.",
    after_help = "Examples:\n  gatebench audit results.csv\n  gatebench audit README.md --json\n  \
                  gatebench audit gatebench-runs/tour-20260102T030405Z\n  \
                  wrk -c 64 -d 10s http://127.0.0.1:8080/ | gatebench audit -\n\n\
                  Exit code: 1 if a figure is impossible or misleading, 0 otherwise."
)]
pub struct Audit {
    /// The document or run directory to check; `-` reads standard input
    file: PathBuf,
    /// Read the document in this format [default: derived from the file extension]
    #[arg(long, value_name = "FORM", value_parser = one_of(&FORMS))]
    form: Option<Form>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

const FORMS: [Named<Form>; 3] = [
    (
        "csv",
        "Comma-separated values with a header line",
        Form::Csv,
    ),
    (
        "json",
        "JSON with arrays of objects, or objects of arrays",
        Form::Json,
    ),
    (
        "markdown",
        "Text with tables, or the output of wrk or siege",
        Form::Markdown,
    ),
];

impl Audit {
    pub fn run(self) -> Result<Exit, Failure> {
        if self.file.is_dir() {
            return own::run(&self.file, self.json);
        }
        let name = self.file.to_string_lossy();
        let form = self.form.unwrap_or_else(|| Form::of_name(&name));
        let audited = audit(&read(&self.file)?, form).map_err(|error| {
            let remedy = "correct the file, or name its format: --form csv, json or markdown";
            Failure::words(format!("your file {name}"), error.to_string(), remedy)
        })?;
        if audited.tables == 0 {
            return Err(nothing_to_judge(&name, &audited));
        }
        terminal::unless_closed(match self.json {
            true => terminal::say_json(&serde_json::json!(audited)),
            false => terminal::say(&summary(&audited)),
        })?;
        let is_bad = |it: &Finding| it.severity != Severity::Missing;
        Ok(if audited.findings.iter().any(is_bad) {
            Exit::CheckFailed
        } else {
            Exit::Fine
        })
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let text = if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    text.map_err(|error| {
        let remedy = "name a CSV, JSON or Markdown file encoded in UTF-8, or - for standard input";
        let what = format!("cannot be read: {error}");
        Failure::words(format!("your file {}", file.display()), what, remedy)
    })
}

fn nothing_to_judge(name: &str, audited: &Audited) -> Failure {
    let what = match audited.passed_over {
        0 => "contains no table".to_owned(),
        1 => "contains one table, which has neither request times nor request rates".to_owned(),
        tables => {
            format!("contains {tables} tables, none of which has request times or request rates")
        }
    };
    let remedy = "write the figures as a table whose header names the columns: rps, mean ms, p99 ms, connections, requests, errors";
    Failure::words(format!("your file {name}"), what, remedy)
}

fn summary(audited: &Audited) -> String {
    let tables = counted(audited.tables as u64, "table");
    let rows = counted(audited.rows as u64, "row");
    if audited.findings.is_empty() {
        return format!("no findings in {tables} with {rows}");
    }
    let mut text = String::new();
    let mut table = None;
    for finding in &audited.findings {
        if table != Some(&finding.table) {
            table = Some(&finding.table);
            text += match &*finding.table {
                "" => "the table",
                title => title,
            };
            text += "\n\n";
        }
        text += &paragraph(finding);
    }
    let count = |severity| {
        let found = audited.findings.iter();
        found.filter(|it| it.severity == severity).count()
    };
    text + &format!(
        "{tables} with {rows}: {} impossible, {} misleading, {} not stated",
        count(Severity::Impossible),
        count(Severity::Misleading),
        count(Severity::Missing)
    )
}

fn paragraph(finding: &Finding) -> String {
    let style = terminal::stdout_style();
    let mark = match finding.severity {
        Severity::Impossible => style.red().bold().apply_to("✗ impossible"),
        Severity::Misleading => style.yellow().apply_to("! misleading"),
        Severity::Missing => style.dim().apply_to("? not stated"),
    };
    let head = format!("{mark}  {}", place(finding));
    let head = terminal::wrapped(&head, terminal::WIDTH, INDENT);
    let says = terminal::column(&finding.says, terminal::WIDTH, INDENT);
    format!("{head}\n{:INDENT$}{says}\n\n", "")
}

/// Returns the place of a finding: `line 5 · a · p95 ms 9.76, p99 ms 8.77`, or `item 5 · ...` in a
/// JSON list. Cells in several rows are listed row by row. A finding without cells concerns the
/// whole table; its place is the line of the headings or, without headings, of the first row.
fn place(finding: &Finding) -> String {
    let word = finding.numbering.word();
    if finding.cells.is_empty() {
        return format!("{word} {}", finding.line);
    }
    let same_row = |a: &Cell, b: &Cell| a.line == b.line;
    let row = |cells: &[Cell]| {
        let texts = cells
            .iter()
            .map(|it| format!("{} {}", it.column, it.written));
        let (first, texts) = (&cells[0], Vec::from_iter(texts).join(", "));
        format!("{word} {} · {} · {texts}", first.line, first.row)
    };
    let rows: Vec<String> = finding.cells.chunk_by(same_row).map(row).collect();
    rows.join("; ")
}
