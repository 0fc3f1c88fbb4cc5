//! The findings as JSON, for machines: every number in base units, in a stable order.

use gatebench_analysis::Findings;
use serde::Serialize;

/// Version of this format. It changes when a field is removed or changes its meaning; new fields
/// leave it as it is.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    #[serde(flatten)]
    findings: &'a T,
}

/// Writes the findings, indented, with a line break at the end.
pub fn render(findings: &Findings) -> String {
    document(findings)
}

/// Anything that is found, with the version of the format before it.
pub(crate) fn document(findings: &impl Serialize) -> String {
    let document = Document {
        schema: SCHEMA,
        findings,
    };
    let mut text = serde_json::to_string_pretty(&document)
        .expect("findings have string keys only and are written to memory");
    text.push('\n');
    text
}
