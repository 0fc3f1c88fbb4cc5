//! Writes tables as comma-separated values, quoted as in RFC 4180. The names of a run's metrics end
//! with their units, so the columns of a pivoted table state the units.

use serde::Serialize;

use crate::Unit;
use crate::chapter::{CSV, Part, Report};

pub fn render<R: Report + ?Sized>(report: &R) -> String {
    let document = report.document(CSV);
    let blocks = document.chapters.iter().flat_map(|it| &it.blocks);
    let tables = blocks.filter_map(|block| match &block.part {
        Part::Records { head, records } => Some(table(head, records)),
        _ => None,
    });
    tables.collect()
}

fn table(head: &str, records: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut written = writer.write_record(head.split(','));
    for record in records {
        written = written.and_then(|()| writer.write_record(record));
    }
    written.expect("all records have the same length, and writing to memory cannot fail");
    let bytes = writer.into_inner().expect("writing to memory cannot fail");
    String::from_utf8(bytes).expect("every field is text")
}

/// Returns the JSON string of an enum value, or an empty string if its JSON form is not a string.
pub fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Returns the unit in the form that ends the name of a metric.
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

/// Converts a name to a field. Adds a leading apostrophe if a spreadsheet would treat the name as a
/// formula.
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
    fn fields_are_quoted_if_necessary() {
        let written = |text: &str| table("a,b", &[vec![field(text), String::new()]]);
        assert_eq!(written("nginx"), "a,b\nnginx,\n");
        assert_eq!(written("a,\"b\""), "a,b\n\"a,\"\"b\"\"\",\n");
        assert_eq!(written("=1+1"), "a,b\n'=1+1,\n");
        assert_eq!(written("=1\n"), "a,b\n\"'=1\n\",\n");
    }
}
