//! Writes the findings as JSON for programs, with all numbers in base units and the fields in a
//! stable order.

use serde::Serialize;

/// The version of this format. It changes when a field is removed or changes its meaning, but not
/// when a field is added.
pub const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    #[serde(flatten)]
    findings: &'a T,
}

pub fn render(findings: &impl Serialize) -> String {
    let document = Document {
        schema: SCHEMA,
        findings,
    };
    let mut text = serde_json::to_string_pretty(&document)
        .expect("findings have string keys only and are written to memory");
    text.push('\n');
    text
}
