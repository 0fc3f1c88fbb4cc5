//! Reads and writes CSV files with a header. Columns are found by name, so files of other versions
//! stay readable.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use csv::StringRecord;

use crate::below::Below;
use crate::{StoreError, atomic};

pub(crate) fn write(
    path: &Path,
    header: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::io("write", path, error);
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in [header].into_iter().chain(rows) {
        let written = writer.write_record(row);
        written.map_err(|error| failed(error.into()))?;
    }
    let bytes = writer.into_inner();
    let bytes = bytes.map_err(|error| failed(error.into_error()))?;
    atomic::write(path, &bytes)
}

/// Reads all rows and parses each with `parse`. Returns no rows if the file does not exist. The
/// error for an invalid row names its line.
pub(crate) fn read<T>(
    file: &Below,
    parse: impl Fn(&Row<'_>) -> Result<T, String>,
) -> Result<Vec<T>, StoreError> {
    let Some(bytes) = file.read()? else {
        return Ok(Vec::new());
    };
    let text = str::from_utf8(&bytes).map_err(|error| error.to_string());
    let rows = text.and_then(|text| rows(text, parse));
    rows.map_err(|reason| StoreError::corrupt(file.path(), reason))
}

fn rows<T>(text: &str, parse: impl Fn(&Row<'_>) -> Result<T, String>) -> Result<Vec<T>, String> {
    // The CSV reader would skip empty lines, which gatebench never writes.
    if let Some(index) = text.lines().position(str::is_empty) {
        return Err(format!("line {} is empty", index + 1));
    }
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    if header.is_empty() {
        return Err("the header is missing".into());
    }
    let mut places = HashMap::new();
    for (index, name) in header.iter().enumerate() {
        places.entry(name).or_insert(index);
    }
    let row = |cells: Result<StringRecord, csv::Error>| {
        let cells = cells.map_err(|error| error.to_string())?;
        if cells.len() != header.len() {
            return Err(format!(
                "there are {} cells, not {}",
                cells.len(),
                header.len()
            ));
        }
        parse(&Row {
            header: &header,
            places: &places,
            cells: &cells,
        })
    };
    (2..)
        .zip(reader.records())
        .map(|(line, cells)| row(cells).map_err(|reason| format!("line {line}: {reason}")))
        .collect()
}

/// The cells of a row, by column name. A missing column counts as empty, except in [`Row::text`].
pub(crate) struct Row<'a> {
    header: &'a StringRecord,
    /// The index of each column, by name. A linear search would be slow, because runs with a
    /// gateway's own metrics can have hundreds of columns.
    places: &'a HashMap<&'a str, usize>,
    cells: &'a StringRecord,
}

impl Row<'_> {
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.header.iter()
    }

    pub(crate) fn text(&self, column: &str) -> Result<String, String> {
        let text = self.cell(column).map(str::to_owned);
        text.ok_or_else(|| format!("the column '{column}' is missing"))
    }

    pub(crate) fn number(&self, column: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.cell(column).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let number = text.parse().map(Some);
        number.map_err(|_| format!("'{text}' in the column '{column}' is not a number"))
    }

    pub(crate) fn required(&self, column: &str) -> Result<u64, String> {
        self.number(column)?
            .ok_or_else(|| format!("the column '{column}' is empty"))
    }

    pub(crate) fn second(&self) -> Result<u32, String> {
        let second = self.required("second")?;
        u32::try_from(second).map_err(|_| format!("second {second} is too large"))
    }

    fn cell(&self, column: &str) -> Option<&str> {
        self.cells.get(*self.places.get(column)?)
    }
}
