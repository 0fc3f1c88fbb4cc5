//! The files that come with gatebench are right, and agree with the published schemas.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gatebench_config::{Document, parse, parse_with_files, read};
use gatebench_model::{LoadProfile, Published, Scenario, Specification, Suite};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Every YAML file of a folder, read as one kind, and checked by an independent validator too.
fn all<T: Document + serde::Serialize>(folder: &Path) -> Vec<(String, T)> {
    let validator = jsonschema::validator_for(&T::schema()).unwrap();
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .map(|path| {
            let document: T = read(&path).unwrap_or_else(|error| match error {
                gatebench_config::ReadError::Mistakes(mistakes) => {
                    panic!("{}", mistakes.render(false, 100))
                }
                error => panic!("{error}"),
            });
            let json = serde_json::to_value(&document).unwrap();
            if let Err(error) = validator.validate(&json) {
                panic!("{} does not fit its schema: {error}", path.display());
            }
            (
                path.file_stem().unwrap().to_str().unwrap().to_owned(),
                document,
            )
        })
        .collect()
}

#[test]
fn every_file_is_right_and_named_after_itself() {
    let scenarios = all::<Scenario>(&folder());
    let loads = all::<LoadProfile>(&folder().join("loads"));
    let suites = all::<Suite>(&folder().join("suites"));
    assert!(scenarios.len() >= 4 && !loads.is_empty() && !suites.is_empty());
    for (stem, specification) in all::<Specification>(&folder().join("specifications")) {
        assert_eq!(stem, specification.specification);
        assert!(!specification.tags.is_empty(), "{stem} cannot be chosen");
        let setup = specification.setup().unwrap();
        for name in &setup.scenarios {
            let is_there = scenarios.iter().any(|(known, _)| known == name);
            assert!(is_there, "{stem} names {name}");
        }
    }
    for (stem, scenario) in &scenarios {
        assert_eq!(*stem, scenario.scenario);
        assert!(!scenario.parity.is_empty(), "{stem} proves nothing");
        assert!(
            scenario
                .load_requests()
                .all(|request| !request.checks.is_empty()),
            "{stem} checks nothing"
        );
    }
    let names: BTreeSet<_> = scenarios.iter().map(|(stem, _)| stem.as_str()).collect();
    for (stem, suite) in &suites {
        assert_eq!(*stem, suite.suite);
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
            let is_it =
                |(name, load): &(String, LoadProfile)| *name == wanted && *name == load.profile;
            assert!(loads.iter().any(is_it), "{stem}: {wanted}");
        }
    }
}

#[test]
fn published_documents_name_what_there_is() {
    let scenarios = all::<Scenario>(&folder());
    let suites = all::<Suite>(&folder().join("suites"));
    let documents = all::<Published>(&folder().join("published"));
    assert_eq!(documents.len(), 6);
    for (stem, document) in &documents {
        assert_eq!(*stem, document.published);
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
    let echo: Scenario = read(&folder().join("echo.yaml")).unwrap();
    assert_eq!(echo.requests[0].body.as_ref().unwrap().bytes().len(), 345);
}

#[test]
fn the_loads_that_change_say_what_they_are_for() {
    let loads = all::<LoadProfile>(&folder().join("loads"));
    let phases = |name: &str| {
        let (_, load) = loads.iter().find(|(stem, _)| stem == name).unwrap();
        load.expanded().phases.len()
    };
    assert_eq!((phases("sweep"), phases("spike")), (9, 1));
}

#[test]
fn a_hundred_groups_have_a_hundred_routes() {
    let scenario: Scenario = read(&folder().join("hundred-routes.yaml")).unwrap();
    for group in scenario.groups() {
        let route = scenario.route_of(&group.requests[0].path).unwrap();
        assert_eq!(route.name, group.name);
    }
    assert_eq!((scenario.groups.len(), scenario.parity.len()), (100, 100));
}

/// The YAML blocks of a section of the documentation.
fn blocks(section: &str) -> Vec<&'static str> {
    let page = include_str!("../../../../docs/WRITE-A-SCENARIO.md");
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
fn the_document_of_the_documentation_is_right() {
    let page = include_str!("../../../../docs/PUBLISHED.md");
    let text = page.split("```yaml\n").nth(1).unwrap();
    let text = text.split("```").next().unwrap();
    let document = parse::<Published>("docs", text)
        .unwrap_or_else(|told| panic!("{}", told.render(false, 100)));
    let is_there = |name: &str| folder().join(format!("{name}.yaml")).is_file();
    assert!(is_there(&format!("suites/{}", document.suite)));
    for row in &document.tables[0].rows {
        assert!(is_there(row.scenario.as_ref().unwrap()), "{}", row.row);
    }
}

#[test]
fn the_examples_of_the_documentation_are_right() {
    let load = blocks("Load profiles").concat();
    let profile = parse::<LoadProfile>("docs", &load)
        .unwrap_or_else(|told| panic!("{}", told.render(false, 100)));
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
        .unwrap_or_else(|told| panic!("{}", told.render(false, 100)));
    assert_eq!(scenario.data.len(), 8);
}
