//! Tests that the files in `scenarios` are valid and conform to the published schemas, and that the
//! examples in the guide are valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gatebench_config::{Document, parse, parse_with_files, read_all};
use gatebench_model::{LoadProfile, Published, Scenario, Specification, Suite};

fn paths() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "yaml") {
                paths.push(path);
            }
        }
    }
    paths
}

/// The key that identifies each kind of file.
const KEYS: [&str; 5] = ["scenario", "profile", "suite", "specification", "published"];

/// Every document in the files that `key` identifies, also checked by an independent validator.
fn all<T: Document + serde::Serialize>(key: &str) -> Vec<(PathBuf, T)> {
    let validator = jsonschema::validator_for(&T::schema()).unwrap();
    let begins = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let mut keys = text.lines().filter_map(|line| line.split_once(':'));
        keys.find(|(it, _)| KEYS.contains(it))
            .is_some_and(|(it, _)| it == key)
    };
    let mut all = Vec::new();
    for path in paths().into_iter().filter(begins) {
        let documents: Vec<T> = read_all(&path).unwrap_or_else(|error| match error {
            gatebench_config::ReadError::Mistakes(mistakes) => {
                panic!("{}", mistakes.render(false, 100))
            }
            error => panic!("{error}"),
        });
        for document in documents {
            let json = serde_json::to_value(&document).unwrap();
            if let Err(error) = validator.validate(&json) {
                panic!("{} does not fit its schema: {error}", path.display());
            }
            all.push((path.clone(), document));
        }
    }
    all
}

fn scenarios() -> Vec<(String, Scenario)> {
    let named = |(_, it): (PathBuf, Scenario)| (it.scenario.clone(), it);
    all("scenario").into_iter().map(named).collect()
}

fn scenario(name: &str) -> Scenario {
    let mut all = scenarios().into_iter();
    all.find(|(known, _)| known == name).unwrap().1
}

fn suites() -> Vec<(String, Suite)> {
    let named = |(_, it): (PathBuf, Suite)| (it.suite.clone(), it);
    all("suite").into_iter().map(named).collect()
}

#[test]
fn every_file_is_valid_and_its_references_exist() {
    let scenarios = scenarios();
    let loads = all::<LoadProfile>("profile");
    let suites = suites();
    assert!(scenarios.len() >= 100 && loads.len() >= 30 && suites.len() >= 20);
    let specifications = all::<Specification>("specification");
    assert_eq!(specifications.len(), 11);
    for (_, specification) in specifications {
        let stem = &specification.specification;
        assert!(!specification.tags.is_empty(), "{stem} cannot be chosen");
        let setup = specification.setup().unwrap();
        for name in &setup.scenarios {
            let is_there = scenarios.iter().any(|(known, _)| known == name);
            assert!(is_there, "{stem} names {name}");
        }
    }
    for (stem, scenario) in &scenarios {
        assert!(!scenario.parity.is_empty(), "{stem} proves nothing");
        assert!(
            scenario
                .load_requests()
                .all(|request| !request.checks.is_empty()),
            "{stem} checks nothing"
        );
    }
    let mut names: BTreeSet<_> = scenarios.iter().map(|(stem, _)| stem.as_str()).collect();
    assert_eq!(
        names.len(),
        scenarios.len(),
        "two scenarios have the same name"
    );
    let families = scenarios.iter().filter_map(|(_, it)| it.family.as_ref());
    names.extend(families.map(|it| it.name.as_str()));
    for (stem, suite) in &suites {
        assert!(
            suite
                .scenarios
                .iter()
                .all(|name| names.contains(name.word())),
            "{stem}"
        );
        let published = suite.as_published.iter();
        let own = [false, true].into_iter().flat_map(|is_published| {
            let own = suite.scenarios.iter();
            own.filter_map(move |it| it.load(is_published))
        });
        let of_sizes = published.clone().flat_map(|it| it.of_cpus.iter());
        let of_sizes = of_sizes.flat_map(|it| it.of_scenarios.values().chain([&it.load]));
        let wanted = std::iter::once(suite.load.as_str())
            .chain(published.map(|it| it.load.as_str()))
            .chain(of_sizes.map(String::as_str))
            .chain(own);
        for wanted in wanted {
            let is_there = loads.iter().any(|(_, load)| load.profile == wanted);
            assert!(is_there, "{stem}: {wanted}");
        }
    }
}

#[test]
fn the_references_of_published_documents_exist() {
    let scenarios = scenarios();
    let suites = suites();
    let documents = all::<Published>("published");
    assert_eq!(documents.len(), 6);
    for (_, document) in &documents {
        let stem = &document.published;
        let of_tables = document.tables.iter().filter_map(|it| it.suite.as_ref());
        for suite in of_tables.chain([&document.suite]) {
            assert!(
                suites.iter().any(|(stem, _)| stem == suite),
                "{stem}: {suite}"
            );
        }
        let rows = document.tables.iter().flat_map(|it| &it.rows);
        for scenario in rows.filter_map(|it| it.scenario.as_ref()) {
            let is_there = scenarios.iter().any(|(stem, _)| stem == scenario);
            assert!(is_there, "{stem}: {scenario}");
        }
    }
}

#[test]
fn echo_posts_345_bytes() {
    let echo = scenario("echo");
    assert_eq!(echo.requests[0].body.as_ref().unwrap().bytes().len(), 345);
}

#[test]
fn a_sweep_has_a_phase_for_each_number() {
    let loads = all::<LoadProfile>("profile");
    let phases = |name: &str| {
        let (_, load) = loads.iter().find(|(_, it)| it.profile == name).unwrap();
        load.expanded().phases.len()
    };
    assert_eq!((phases("sweep"), phases("spike")), (9, 1));
}

#[test]
fn a_hundred_groups_have_a_hundred_routes() {
    let scenario = scenario("hundred-routes");
    for group in scenario.groups() {
        let route = scenario.route_of(&group.requests[0].path).unwrap();
        assert_eq!(route.name, group.name);
    }
    assert_eq!((scenario.groups.len(), scenario.parity.len()), (100, 100));
}

/// Returns the YAML blocks in a section of the guide.
fn blocks(section: &str) -> Vec<&'static str> {
    let page = include_str!("../../../../docs/guide/WRITE-A-SCENARIO.md");
    let section = page
        .split("\n## ")
        .find(|part| part.starts_with(section))
        .unwrap();
    let fenced = section.split("```yaml\n").skip(1);
    fenced
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

#[test]
fn the_published_document_in_the_guide_is_valid() {
    let page = include_str!("../../../../docs/guide/PUBLISHED.md");
    let text = page.split("```yaml\n").nth(1).unwrap();
    let text = text.split("```").next().unwrap();
    let document = parse::<Published>("docs", text)
        .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false, 100)));
    assert!(suites().iter().any(|(name, _)| *name == document.suite));
    let scenarios = scenarios();
    let is_there = |wanted: &str| scenarios.iter().any(|(name, _)| name == wanted);
    for row in &document.tables[0].rows {
        assert!(is_there(row.scenario.as_ref().unwrap()), "{}", row.row);
    }
}

#[test]
fn the_examples_in_the_guide_are_valid() {
    let load = blocks("Load profiles").concat();
    let profile = parse::<LoadProfile>("docs", &load)
        .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false, 100)));
    assert_eq!(profile.phases.len(), 11);
    let data = blocks("Values that differ").concat();
    let text = format!(
        "scenario: s\ntitle: t\nupstream: httpbin\nroutes: [{{name: all, path: /users}}]\n{data}"
    );
    let files = |path: &Path| match path.to_str() {
        Some("users.csv") => Ok(b"id,mail\n1,a@x\n".to_vec()),
        _ => Ok(b"{\"kind\": \"click\"}\n".to_vec()),
    };
    let scenario = parse_with_files::<Scenario>("docs", &text, &files)
        .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false, 100)));
    assert_eq!(scenario.data.len(), 8);
}
