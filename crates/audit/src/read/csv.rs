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
    let number = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
    let (ended, line) = position.map_or((0, 1), |it| (number(it.byte()), number(it.line())));
    let rest = text.get(ended..).unwrap_or_default();
    let is_skipped = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let skipped = rest.split_inclusive('\n').take_while(is_skipped);
    line + skipped.filter(|line| line.ends_with('\n')).count()
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_time_to_read_grows_with_the_number_of_rows() {
        let text = format!("rps\n\"-\n-\"\n# and\n{}", "-\n".repeat(100_000));
        let began = Instant::now();
        let table = table(&text).unwrap();
        // If every row were searched for from the start, this would take minutes.
        assert!(began.elapsed() < Duration::from_secs(20));
        let lines: Vec<usize> = table.rows.iter().map(|it| it.line).collect();
        assert_eq!(lines.len(), 100_001);
        assert_eq!((lines[0], lines[1], lines[100_000]), (2, 5, 100_004));
    }
}
