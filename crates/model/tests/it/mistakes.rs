//! Compares the messages for files with mistakes (`mistakes/KIND-WHAT.yaml`) with the golden files
//! next to them. `GATEBENCH_BLESS=1` rewrites the golden files.

use std::fs;
use std::path::{Path, PathBuf};

use gatebench_config::{Diagnostics, Document, parse};
use gatebench_model::{GatewayFolder, LoadProfile, Scenario, Specification, Suite};

fn mistakes<T: Document>(file: &str, text: &str) -> Diagnostics {
    parse::<T>(file, text)
        .err()
        .unwrap_or_else(|| panic!("{file} has no mistakes"))
}

fn diagnose(file: &str, text: &str) -> Diagnostics {
    match file.split('-').next().unwrap() {
        "scenario" => mistakes::<Scenario>(file, text),
        "load" => mistakes::<LoadProfile>(file, text),
        "suite" => mistakes::<Suite>(file, text),
        "specification" => mistakes::<Specification>(file, text),
        "gateway" => mistakes::<GatewayFolder>(file, text),
        other => panic!("no kind of file is called {other}"),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

#[test]
fn every_mistake_is_reported_as_in_its_golden_text() {
    let bless = std::env::var_os("GATEBENCH_BLESS").is_some();
    let mut wrong = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths.iter().filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    }) {
        let file = path.file_name().unwrap().to_str().unwrap();
        let found = diagnose(file, &fs::read_to_string(path).unwrap()).render(false, 100);
        let golden = path.with_extension("txt");
        if bless {
            fs::write(&golden, &found).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", golden.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "run with GATEBENCH_BLESS=1 to accept this text:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn five_mistakes_are_reported_with_their_places() {
    let file = "scenario-five.yaml";
    let found = diagnose(file, &fs::read_to_string(folder().join(file)).unwrap());
    let places: Vec<_> = found
        .all()
        .iter()
        .map(|mistake| (mistake.line, mistake.column))
        .collect();
    assert_eq!(places, [(2, 1), (3, 11), (6, 11), (11, 12), (15, 17)]);
    assert!(found.all().iter().all(|mistake| !mistake.help.is_empty()));
}

#[test]
fn color_is_optional() {
    let found = diagnose("suite-x.yaml", "suite: A");
    assert!(found.render(true, 80).contains('\u{1b}'));
    assert!(!found.render(false, 80).contains('\u{1b}'));
}
