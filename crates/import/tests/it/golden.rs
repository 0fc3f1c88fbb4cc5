//! Compares the files that are generated from inputs (`inputs/KIND-NAME.EXTENSION`) with golden
//! files (`.txt`).

use std::fmt::Write as _;
use std::fs;

use gatebench_import::{Folder, TextKind};

use crate::common::{assert_golden, imported, inputs};

fn in_words(folder: &Folder) -> String {
    let mut words = String::new();
    for fact in &folder.facts {
        writeln!(words, "{fact}").unwrap();
    }
    for note in &folder.notes {
        writeln!(words, "{:?}: {note}", note.effect).unwrap();
    }
    for file in &folder.files {
        let is_copy = matches!(
            file.path.as_str(),
            "kong.yml" | "apisix.yaml" | "openapi.yaml"
        );
        let text = if is_copy {
            "(the input)\n"
        } else {
            file.text.as_str()
        };
        writeln!(words, "\n==> {}\n{text}", file.path).unwrap();
    }
    words
}

#[test]
fn each_input_generates_its_files() {
    for (file, kind) in [
        ("kong-shop.yml", TextKind::Kong),
        ("kong-old.yml", TextKind::Kong),
        ("apisix-shop.yaml", TextKind::Apisix),
        ("kubernetes-shop.yaml", TextKind::Kubernetes),
        ("openapi-pets.yaml", TextKind::Openapi),
        ("har-visit.json", TextKind::Har),
        ("k6-checkout.js", TextKind::K6),
        ("k6-inspect.json", TextKind::K6),
    ] {
        let path = inputs().join(file);
        let folder = imported(kind, file, &fs::read_to_string(&path).unwrap());
        assert_golden(&path.with_extension("txt"), &in_words(&folder));
    }
}
