//! Rows from files: comma-separated values and JSON lines.

use std::ops::Range;

use crate::data::{List, Pick, Rows};

/// A mistake in a file of rows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct RowsError {
    /// The number of the line, from 1.
    pub line: usize,
    pub message: String,
}

impl List {
    fn of_columns(columns: Vec<String>) -> Self {
        Self {
            values: Rows::new(columns.len()),
            columns,
            pick: Pick::default(),
            exponent: None,
        }
    }
}

fn wrong(line: usize, message: impl Into<String>) -> RowsError {
    RowsError {
        line,
        message: message.into(),
    }
}

/// Parses comma-separated values (RFC 4180), whose first record names the columns. Lines may end
/// with CR LF or LF. Empty lines are skipped.
///
/// # Errors
/// Returns the first malformed line. Also fails if the file has no rows.
pub fn csv(text: &str) -> Result<List, RowsError> {
    // A CR that does not end a line is part of its value, so the reader ends lines at the LF only.
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    let mut table: Option<List> = None;
    let mut ended = 0;
    loop {
        let begin = byte(reader.position());
        let read = reader.read_record(&mut record);
        if !read.map_err(|error| wrong(line_at(text, begin), error.to_string()))? {
            break;
        }
        let end = byte(reader.position());
        let Some(values) = values(text, begin..end, &record)? else {
            continue;
        };
        match &mut table {
            None => {
                let columns = values.into_iter().map(str::to_owned);
                table = Some(List::of_columns(columns.collect()));
            }
            Some(List { columns, .. }) if columns.len() != values.len() => {
                let (found, expected) = (values.len(), columns.len());
                let message = format!("there are {found} values, but {expected} columns");
                return Err(wrong(line_at(text, ended), message));
            }
            Some(table) => values.iter().for_each(|value| table.values.push(value)),
        }
        ended = end;
    }
    let table = table.ok_or_else(|| wrong(1, "the file is empty"))?;
    if table.values.is_empty() {
        return Err(wrong(1, "there are no rows below the column names"));
    }
    Ok(table)
}

/// Returns the values of the record in this byte range of the text, or `None` for an empty line.
/// The CSV reader accepts text after a quoted value and an unclosed quoted value, so each quoted
/// value is written again and compared with the text.
fn values<'r>(
    text: &str,
    range: Range<usize>,
    record: &'r csv::StringRecord,
) -> Result<Option<Vec<&'r str>>, RowsError> {
    let mut values: Vec<&str> = record.iter().collect();
    let line = &text[range.clone()];
    let is_first = range.start == 0;
    let line = line
        .strip_prefix('\u{feff}')
        .filter(|_| is_first)
        .unwrap_or(line)
        .trim_start_matches('\n');
    if line.strip_suffix('\n').unwrap_or(line).ends_with('\r')
        && let Some(last) = values.last_mut()
    {
        *last = last.strip_suffix('\r').unwrap_or(last);
    }
    if values == [""] && !line.starts_with('"') {
        return Ok(None);
    }
    let mut at = range.end - line.len();
    for value in &values {
        let rest = &text[at..range.end];
        if !rest.starts_with('"') {
            at += value.len() + ",".len();
            continue;
        }
        let written = format!("\"{}\"", value.replace('"', "\"\""));
        let same = rest.bytes().zip(written.bytes());
        let same = same.take_while(|(one, other)| one == other).count();
        if same + 1 == written.len() {
            return Err(wrong(line_at(text, at), "a quoted value is not closed"));
        }
        if same < written.len() {
            let line = line_at(text, at + same);
            return Err(wrong(line, "text follows a quoted value"));
        }
        at += written.len() + ",".len();
    }
    Ok(Some(values))
}

fn byte(position: &csv::Position) -> usize {
    usize::try_from(position.byte()).unwrap_or(usize::MAX)
}

/// Returns the number of the line that contains a byte, from 1.
fn line_at(text: &str, byte: usize) -> usize {
    // The byte may be inside a character.
    let before = &text.as_bytes()[..byte];
    1 + before.iter().filter(|it| **it == b'\n').count()
}

/// Parses each line as a JSON object, except blank lines. The keys of the first object are the
/// columns, and every object must have them. Strings are used unchanged, other values as JSON.
///
/// # Errors
/// Returns the first malformed line. Also fails if the file has no rows.
pub fn json_lines(text: &str) -> Result<List, RowsError> {
    let mut table: Option<List> = None;
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        if text.trim().is_empty() {
            continue;
        }
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| wrong(line, format!("this is not a JSON object: {error}")))?;
        let columns = || object.keys().cloned().collect();
        let table = table.get_or_insert_with(|| List::of_columns(columns()));
        if table.columns.is_empty() {
            return Err(wrong(line, "the object has no keys"));
        }
        for column in &table.columns {
            match object.get(column) {
                None => return Err(wrong(line, format!("the object has no key `{column}`"))),
                Some(serde_json::Value::String(text)) => table.values.push(text),
                Some(value) => table.values.push(&value.to_string()),
            }
        }
    }
    table.ok_or_else(|| wrong(1, "the file is empty"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(table: &List) -> Vec<Vec<&str>> {
        let (rows, columns) = (0..table.values.len(), 0..table.columns.len());
        let value = |row, column| table.values.get(row, column).unwrap();
        rows.map(|row| columns.clone().map(|column| value(row, column)).collect())
            .collect()
    }

    #[test]
    fn records_are_parsed_with_quotes_and_any_line_ends() {
        let table = csv("\u{feff}id,name\r\n1,\"a, \"\"b\"\"\"\n\n2,\"x\ny\"\r\n3,").unwrap();
        assert_eq!(table.columns, ["id", "name"]);
        assert_eq!(shown(&table), [["1", "a, \"b\""], ["2", "x\ny"], ["3", ""]]);
    }

    #[test]
    fn mistakes_are_reported_with_their_lines() {
        let line = |text| csv(text).unwrap_err().line;
        assert_eq!(line(""), 1);
        assert_eq!(line("a\n"), 1);
        assert_eq!(line("a,b\n1,2\n\n3\n"), 3);
        assert_eq!(line("a\n\"x\n\n"), 2);
        assert_eq!(line("a\n\"x\"y\n"), 2);
        assert_eq!(json_lines("{\"a\":1}\n\n{\"b\":1}").unwrap_err().line, 3);
        assert_eq!(json_lines("[1]").unwrap_err().line, 1);
    }

    #[test]
    fn the_first_json_line_names_the_columns() {
        let table =
            json_lines("{\"a\": \"x\", \"b\": 1.5}\n{\"b\": [1, null], \"a\": true}\n").unwrap();
        assert_eq!(table.columns, ["a", "b"]);
        assert_eq!(shown(&table), [["x", "1.5"], ["true", "[1,null]"]]);
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in "(\\PC|[\",\r\n{}:]){0,60}") {
            let _ = (csv(&text), json_lines(&text));
        }

        #[test]
        fn quoted_values_are_read_unchanged(
            rows in prop::collection::vec(prop::collection::vec("(\\PC|[\",\r\n]){0,8}", 2), 2..5)
        ) {
            let quoted = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
            let record = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = rows.iter().map(record).collect::<Vec<_>>().join("\r\n");
            let table = csv(&text).unwrap();
            prop_assert_eq!(&table.columns, &rows[0]);
            prop_assert_eq!(shown(&table), rows[1..].to_vec());
        }
    }
}
