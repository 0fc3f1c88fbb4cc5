//! Checks that each crate depends only on the crates that are below it in [`BELOW`], either
//! directly or through others.

use std::collections::BTreeSet;

use super::{Finding, SourceFile};

/// Each crate with the crates directly below it.
const BELOW: [(&str, &[&str]); 21] = [
    ("config", &[]),
    ("model", &["config"]),
    ("import", &["model"]),
    ("stats", &[]),
    ("net", &[]),
    ("xml", &[]),
    ("engine", &["net", "model"]),
    ("upstream", &["net", "model"]),
    ("gateway", &["net", "xml", "model", "config"]),
    ("faulty", &["gateway"]),
    ("testbed", &["net", "model"]),
    ("agent", &["engine", "upstream", "testbed"]),
    ("external", &["model"]),
    ("store", &["model"]),
    ("audit", &["stats"]),
    ("outputs", &[]),
    ("report", &["stats"]),
    ("studies", &["report", "audit", "store", "stats", "model"]),
    (
        "runner",
        &[
            "agent", "engine", "upstream", "gateway", "testbed", "external", "store", "outputs",
            "studies", "import", "model",
        ],
    ),
    ("serve", &["studies", "report", "store", "model"]),
    ("cli", &["runner", "serve", "report", "external", "audit"]),
];

/// Crates that are not part of gatebench and may depend on any of its crates.
const APART: [&str; 3] = ["bench", "fuzz", "xtask"];

pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"))
    {
        let Some(name) = file.crate_name().filter(|name| !APART.contains(name)) else {
            continue;
        };
        if !BELOW.iter().any(|(known, _)| *known == name) {
            let message =
                format!("crate {name} has no layer; add it to BELOW in xtask/src/tidy/layers.rs");
            findings.push(Finding::new(file, 1, message));
            continue;
        }
        let allowed = all_below(name);
        for (line, dependency) in own_dependencies(&file.text) {
            if !allowed.contains(dependency) {
                let message = format!(
                    "{name} must not depend on {dependency}; move shared code to a crate below both"
                );
                findings.push(Finding::new(file, line, message));
            }
        }
    }
    findings
}

fn all_below(name: &str) -> BTreeSet<&'static str> {
    let directly_below = |name: &str| {
        BELOW
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(&[][..], |(_, below)| below)
    };
    let mut found: BTreeSet<&'static str> = directly_below(name).iter().copied().collect();
    let mut open: Vec<&'static str> = found.iter().copied().collect();
    while let Some(name) = open.pop() {
        open.extend(
            directly_below(name)
                .iter()
                .filter(|below| found.insert(below)),
        );
    }
    found
}

/// Leaves out the dependencies of tests, because tests may use any crate.
fn own_dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut section = "";
    let mut found = Vec::new();
    for (number, line) in (1..).zip(manifest.lines()) {
        if line.starts_with('[') {
            section = line.trim();
        } else if section != "[dev-dependencies]"
            && section.ends_with("dependencies]")
            && let Some(rest) = line.strip_prefix("gatebench-")
        {
            found.push((
                number,
                rest.split(|c: char| !c.is_alphanumeric() && c != '-')
                    .next()
                    .unwrap_or(rest),
            ));
        }
    }
    found
}
