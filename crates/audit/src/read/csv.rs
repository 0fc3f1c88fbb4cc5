//! Parses comma-separated values (RFC 4180) with a line of headings.

use crate::AuditError;
use crate::table::Table;

pub(super) fn table(text: &str) -> Result<Table, AuditError> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let error = |error| error_in(text, error);
    let headings = reader.headers().map_err(error)?;
    let line = line_of(text, headings.position());
    let headings: Vec<String> = headings.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(error)?;
        let cells = record.iter().map(str::to_owned).collect();
        rows.push((line_of(text, record.position()), cells));
    }
    Ok(Table {
        line,
        ..Table::of("", &headings, rows)
    })
}

/// Returns the line that a record begins on. `position` is the end of the previous record, which
/// empty lines and comments may follow.
fn line_of(text: &str, position: Option<&csv::Position>) -> usize {
    let ended = position.map_or(0, |it| usize::try_from(it.byte()).unwrap_or(usize::MAX));
    let (before, rest) = text.split_at_checked(ended).unwrap_or((text, ""));
    let is_skipped = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let skipped = rest.split_inclusive('\n').take_while(is_skipped);
    1 + before.matches('\n').count() + skipped.filter(|line| line.ends_with('\n')).count()
}

fn error_in(text: &str, error: csv::Error) -> AuditError {
    let line = line_of(text, error.position());
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("the number of cells is {len}, but there are {expected_len} headings"),
        _ => error.to_string(),
    };
    AuditError { line, what }
}
