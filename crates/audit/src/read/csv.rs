//! Comma-separated values (RFC 4180) with a line of headings.

use crate::AuditError;
use crate::table::Table;

pub(super) fn table(text: &str) -> Result<Table, AuditError> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headings = reader.headers().map_err(error)?;
    let headings: Vec<String> = headings.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(error)?;
        let line = record.position().map_or(0, |it| it.line());
        let cells = record.iter().map(str::to_owned).collect();
        rows.push((usize::try_from(line).unwrap_or(usize::MAX), cells));
    }
    Ok(Table::of("", &headings, rows))
}

fn error(error: csv::Error) -> AuditError {
    let line = error.position().map_or(1, |it| it.line());
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("there are {len} cells, and {expected_len} headings"),
        _ => error.to_string(),
    };
    AuditError {
        line: usize::try_from(line).unwrap_or(usize::MAX),
        what,
    }
}
