//! Compares verdicts, messages and lines with those of `xmllint --schema`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::generator::{Dice, PART, PART_LOCATION};
use gatebench_xml::{Document, Limits, Schema};

const SCHEMAS: u64 = 80;
const DOCUMENTS: usize = 5;

#[test]
fn verdicts_are_those_of_xmllint() {
    let (mut valid, mut invalid, mut schemas) = (0, 0, 0);
    for seed in 1..=SCHEMAS {
        let mut dice = Dice::new(seed);
        let schema = crate::common::generator::Schema::new(&mut dice);
        let text = schema.text();
        let documents: Vec<Vec<u8>> = (0..DOCUMENTS).map(|_| schema.document(&mut dice)).collect();
        let folder = tempfile::tempdir().unwrap();
        let theirs = xmllint(folder.path(), &text, &documents);

        let files = HashMap::from([(PART_LOCATION.to_owned(), PART.to_owned())]);
        let limits = Limits::default();
        let compiled = Schema::parse(text.as_bytes(), None, &files, &limits);
        let Some(theirs) = theirs else {
            assert!(
                compiled.is_err(),
                "seed {seed}: xmllint cannot compile\n{text}"
            );
            continue;
        };
        schemas += 1;
        let compiled = compiled.unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        for (index, (bytes, theirs)) in std::iter::zip(&documents, theirs).enumerate() {
            let document = Document::parse(bytes, &limits).unwrap();
            let ours: Vec<String> = match compiled.validate(&document) {
                Ok(()) => Vec::new(),
                Err(why) => why
                    .0
                    .iter()
                    .map(|one| format!("{}: {}", one.line, one.message))
                    .collect(),
            };
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(
                ours, theirs,
                "seed {seed}, document {index}\n{text}\n{shown}"
            );
            if ours.is_empty() {
                valid += 1;
            } else {
                invalid += 1;
            }
        }
    }
    assert!(
        valid >= 80 && invalid >= 80 && schemas >= 50,
        "{valid} valid, {invalid} invalid, {schemas} schemas"
    );
}

/// Returns each document's messages with their lines (none for a valid document), or `None` if the
/// schema does not compile.
fn xmllint(folder: &Path, schema: &str, documents: &[Vec<u8>]) -> Option<Vec<Vec<String>>> {
    fs::write(folder.join("main.xsd"), schema).unwrap();
    fs::write(folder.join(PART_LOCATION), PART).unwrap();
    let mut command = Command::new("xmllint");
    command
        .current_dir(folder)
        .args(["--noout", "--nonet", "--noent", "--schema", "main.xsd"]);
    for (index, bytes) in documents.iter().enumerate() {
        let name = format!("{index}.xml");
        fs::write(folder.join(&name), bytes).unwrap();
        command.arg(name);
    }
    let output = command
        .output()
        .expect("xmllint is installed by scripts/install-test-deps");
    let printed = String::from_utf8_lossy(&output.stderr);
    if printed.contains("WXS schema main.xsd failed to compile") {
        return None;
    }
    let messages = (0..documents.len())
        .map(|index| {
            let of_document = |line: &str| line.starts_with(&format!("{index}.xml"));
            let messages: Vec<String> = printed
                .lines()
                .filter(|line| of_document(line))
                .filter_map(validity_error)
                .collect();
            let verdict = if messages.is_empty() {
                "validates"
            } else {
                "fails to validate"
            };
            assert!(
                printed.contains(&format!("{index}.xml {verdict}\n")),
                "{printed}"
            );
            messages
        })
        .collect();
    Some(messages)
}

/// Extracts `LINE: MESSAGE` from `FILE:LINE: element NAME: Schemas validity error : MESSAGE`.
fn validity_error(line: &str) -> Option<String> {
    let (place, message) = line.split_once(": Schemas validity error : ")?;
    Some(format!("{}: {message}", place.split(':').nth(1)?))
}
