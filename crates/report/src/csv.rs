//! Writes tables as comma-separated values (RFC 4180). The name of a metric ends with its unit, so
//! the column names of a pivoted table contain the units.

use serde::Serialize;

use crate::Unit;
use crate::chapter::{CSV, Part, Report};

/// Writes the records of a report under their headers.
pub fn render<R: Report + ?Sized>(report: &R) -> String {
    let document = report.document(CSV);
    let blocks = document.chapters.iter().flat_map(|it| &it.blocks);
    let tables = blocks.filter_map(|block| match &block.part {
        Part::Records { head, records } => {
            let mut sheet = Sheet::new(head.split(','));
            records.iter().for_each(|record| sheet.push(record));
            Some(sheet.into_text())
        }
        _ => None,
    });
    tables.collect()
}

/// Comma-separated values under a header.
struct Sheet(csv::Writer<Vec<u8>>);

impl Sheet {
    fn new<T: AsRef<[u8]>>(head: impl IntoIterator<Item = T>) -> Self {
        let mut sheet = Self(csv::Writer::from_writer(Vec::new()));
        sheet.push(head);
        sheet
    }

    /// Writes a record, quoting fields if necessary.
    fn push<T: AsRef<[u8]>>(&mut self, fields: impl IntoIterator<Item = T>) {
        self.0
            .write_record(fields)
            .expect("records of one table are of one length, and memory takes them all");
    }

    fn into_text(self) -> String {
        let bytes = self.0.into_inner().expect("memory takes every record");
        String::from_utf8(bytes).expect("every field is text")
    }
}

/// The name that the value has in JSON.
pub fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The suffix that denotes the unit.
pub fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds | Unit::CpuNanosecondsPerRequest => "ns",
        Unit::RequestsPerSecond => "per_second",
        Unit::Bytes => "bytes",
        Unit::BitsPerSecond => "bits_per_second",
        Unit::Cores => "cores",
        Unit::Ratio => "ratio",
        Unit::Count => "count",
    }
}

/// Prepares a name as a field: a name that a spreadsheet would treat as a formula gets a leading
/// apostrophe.
pub fn field(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let written = |text: &str| {
            let mut sheet = Sheet::new(["a", "b"]);
            sheet.push([&*field(text), ""]);
            sheet.into_text()
        };
        assert_eq!(written("nginx"), "a,b\nnginx,\n");
        assert_eq!(written("a,\"b\""), "a,b\n\"a,\"\"b\"\"\",\n");
        assert_eq!(written("=1+1"), "a,b\n'=1+1,\n");
        assert_eq!(written("=1\n"), "a,b\n\"'=1\n\",\n");
    }
}
