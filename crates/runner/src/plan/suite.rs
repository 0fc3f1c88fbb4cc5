//! The suite, the scenarios and the load of a run.

use std::path::{Path, PathBuf};

use gatebench_model::{Scenario, Suite};

use super::library::{Library, Listed, Named, Source, is_path};
use super::selection::Selection;
use crate::error::RunnerError;

/// The suite of a run without words.
const TOUR: &str = "tour";
/// Scenarios that are told in the name of a run.
const NAMES_MAX: usize = 3;

/// The suite that the words name, or one made of the scenarios that they name, and the folder from
/// which its paths are seen.
pub(crate) fn suite_of(
    selection: &Selection,
    library: &Library,
) -> Result<(Suite, PathBuf), RunnerError> {
    if let Some(specification) = selection.study.specification() {
        let base = base_of(&specification.source);
        return Ok((specification.document.suite(), base));
    }
    let mut suite: Option<Listed<Suite>> = None;
    let mut scenarios: Vec<(String, Scenario)> = Vec::new();
    for word in &selection.words {
        match library.find_suite_or_scenario(word)? {
            Named::Suite(_) if suite.is_some() => {
                return Err(RunnerError::words(
                    format!("'{word}' is a second suite"),
                    "name one suite; several scenarios can be named together",
                ));
            }
            Named::Suite(listed) => suite = Some(*listed),
            Named::Scenario(listed) => scenarios.push((word.clone(), listed.document)),
        }
    }
    if suite.is_none() && scenarios.is_empty() {
        // Named by --scenario alone, they are what the run is of.
        let words = selection.scenarios.iter().map(String::as_str);
        let listed = scenarios_of(words, Path::new(""), library)?;
        let documents = listed.into_iter().map(|listed| listed.document);
        scenarios.extend(selection.scenarios.iter().cloned().zip(documents));
    }
    match (suite, scenarios.is_empty()) {
        (Some(_), false) => Err(RunnerError::words(
            "a suite and scenarios cannot be combined",
            "name either one suite, or scenarios",
        )),
        (Some(listed), true) => {
            let base = base_of(&listed.source);
            Ok((listed.document, base))
        }
        (None, true) => Ok((
            library.find::<Suite>(TOUR, Path::new(""))?.document,
            "".into(),
        )),
        (None, false) => {
            let tour = library.find::<Suite>(TOUR, Path::new(""))?.document;
            let (title, name) = (title_of(&scenarios), name_of(&scenarios));
            let words = scenarios.into_iter().map(|(word, _)| word.into()).collect();
            Ok((
                Suite {
                    suite: name,
                    title,
                    scenarios: words,
                    null_gateway: false,
                    ..tour
                },
                "".into(),
            ))
        }
    }
}

/// The name of a run of scenarios, and so of its directory.
fn name_of(scenarios: &[(String, Scenario)]) -> String {
    let names: Vec<&str> = scenarios
        .iter()
        .map(|(_, scenario)| scenario.scenario.as_str())
        .collect();
    match names.split_at_checked(NAMES_MAX) {
        Some((first, rest @ [_, ..])) => format!("{}-and-{}-more", first.join("-"), rest.len()),
        _ => names.join("-"),
    }
}

/// What a run of scenarios is about.
fn title_of(scenarios: &[(String, Scenario)]) -> String {
    let titles: Vec<&str> = scenarios
        .iter()
        .map(|(_, scenario)| scenario.title.as_str())
        .collect();
    match titles.split_at_checked(NAMES_MAX) {
        Some((first, rest @ [_, ..])) => format!("{}; and {} more", first.join("; "), rest.len()),
        _ => titles.join("; "),
    }
}

fn base_of(source: &Source) -> PathBuf {
    match source {
        Source::Embedded(_) => "".into(),
        Source::File(path) => path.parent().map(Into::into).unwrap_or_default(),
    }
}

/// The scenarios of these words; the mistakes of all files at once.
pub(crate) fn scenarios_of<'w>(
    words: impl IntoIterator<Item = &'w str>,
    base: &Path,
    library: &Library,
) -> Result<Vec<Listed<Scenario>>, RunnerError> {
    let scenarios = library.find_all::<Scenario>(words, base)?;
    for (index, listed) in scenarios.iter().enumerate() {
        let name = &listed.document.scenario;
        let mut before = scenarios[..index].iter();
        if before.any(|known| known.document.scenario == *name) {
            return Err(RunnerError::words(
                format!("the scenario '{name}' is named twice"),
                "name each scenario once; blocks repeat it",
            ));
        }
    }
    Ok(scenarios)
}

/// A word as it is meant beside the suite's file.
pub(crate) fn beside(word: &str, base: &Path) -> String {
    if is_path(word) {
        base.join(word).display().to_string()
    } else {
        word.to_owned()
    }
}

/// A file beside another one.
pub(crate) fn beside_file(file: &Path, word: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(word)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_run_of_scenarios_is_named_after_them() {
        let named = |words: &[&str]| {
            let selection = Selection {
                words: words.iter().map(ToString::to_string).collect(),
                ..Selection::default()
            };
            suite_of(&selection, &Library::default()).unwrap().0.suite
        };
        assert_eq!(named(&["api-key"]), "api-key");
        assert_eq!(named(&["api-key", "echo"]), "api-key-echo");
        let five = ["api-key", "echo", "mock", "shop", "proxy-json"];
        assert_eq!(named(&five), "api-key-echo-mock-and-2-more");
        assert_eq!(named(&[]), "tour");
    }

    #[test]
    fn scenarios_in_place_of_the_tours_name_the_run_too() {
        let of = |scenarios: &[&str], words: &[&str]| {
            let selection = Selection {
                words: words.iter().map(ToString::to_string).collect(),
                scenarios: scenarios.iter().map(ToString::to_string).collect(),
                ..Selection::default()
            };
            let (suite, _) = suite_of(&selection, &Library::default()).unwrap();
            (suite.suite, suite.title)
        };
        let (name, title) = of(&["mock"], &[]);
        let mock = Library::default().find::<Scenario>("mock", Path::new(""));
        assert_eq!(
            (name.as_str(), title),
            ("mock", mock.unwrap().document.title)
        );
        let (name, title) = of(&["api-key", "echo", "mock", "shop"], &[]);
        assert_eq!(name, "api-key-echo-mock-and-1-more");
        assert!(title.ends_with("; and 1 more"), "{title}");
        assert_eq!(of(&["mock"], &["soap"]).0, "soap");
    }
}
