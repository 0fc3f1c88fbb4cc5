//! Finds the suite and scenarios of a run, or a single scenario and load.

use std::path::{Path, PathBuf};

use gatebench_import::KnownSuite;
use gatebench_model::{LoadProfile, Scenario, Suite};

use super::library::{Library, Listed, Named, Source, is_path};
use super::selection::Selection;
use crate::error::RunnerError;

const TOUR: &str = "tour";
/// The maximum number of scenarios in the name of a run.
const NAMES_MAX: usize = 3;

/// Returns the suite of a selection with the base folder of its relative paths: the suite of a
/// specification, the named suite, a suite of the named scenarios, or the tour.
pub(crate) fn suite_of(
    selection: &Selection,
    library: &Library,
) -> Result<(Suite, PathBuf), RunnerError> {
    if let Some(specification) = &selection.specification {
        let base = base_of(&specification.source);
        return Ok((specification.document.suite(), base));
    }
    let mut suite: Option<Listed<Suite>> = None;
    let mut scenarios: Vec<Listed<Scenario>> = Vec::new();
    for word in &selection.words {
        match library.find_suite_or_scenarios(word)? {
            Named::Suite(_) if suite.is_some() => {
                return Err(RunnerError::words(
                    format!("the argument '{word}' names a second suite"),
                    "name one suite; several scenarios can be named together",
                ));
            }
            Named::Suite(listed) => suite = Some(*listed),
            Named::Scenarios(listed) => scenarios.extend(listed),
        }
    }
    if suite.is_none() && scenarios.is_empty() {
        // If only --scenario names scenarios, the run consists of those scenarios.
        let words = selection.scenarios.iter().map(String::as_str);
        scenarios = scenarios_of(words, Path::new(""), library)?;
    }
    if let Some(listed) = suite {
        if !scenarios.is_empty() {
            return Err(RunnerError::words(
                "a suite and scenarios cannot be combined",
                "name either one suite, or scenarios",
            ));
        }
        let base = base_of(&listed.source);
        return Ok((listed.document, base));
    }
    let mut suite = library.find::<Suite>(TOUR, Path::new(""))?.document;
    if let Some(scenario) = &selection.scenario {
        suite.suite.clone_from(&scenario.scenario);
        suite.title.clone_from(&scenario.title);
        suite.null_gateway = false;
    } else if !scenarios.is_empty() {
        let words = match &selection.words[..] {
            [] => &selection.scenarios[..],
            words => words,
        };
        let documents = || scenarios.iter().map(|it| &it.document);
        // The default name of the run directory contains the suite's name.
        let names = documents().map(|it| it.scenario.as_str());
        suite.suite = joined(names, "-", "-and-", "-more");
        let titles = documents().map(|it| it.title.as_str());
        suite.title = joined(titles, "; ", "; and ", " more");
        suite.scenarios = words.iter().cloned().map(Into::into).collect();
        suite.null_gateway = false;
    }
    Ok((suite, PathBuf::new()))
}

/// Joins at most [`NAMES_MAX`] of the strings. If there are more, appends the number of the others
/// between `and` and `more`.
fn joined<'t>(
    texts: impl Iterator<Item = &'t str>,
    separator: &str,
    and: &str,
    more: &str,
) -> String {
    let texts: Vec<&str> = texts.collect();
    match texts.split_at_checked(NAMES_MAX) {
        Some((first, rest @ [_, ..])) => {
            format!("{}{and}{}{more}", first.join(separator), rest.len())
        }
        _ => texts.join(separator),
    }
}

fn base_of(source: &Source) -> PathBuf {
    match source {
        Source::Embedded(_) => "".into(),
        Source::File(path) => path.parent().map(Into::into).unwrap_or_default(),
    }
}

/// Returns the scenario and the load with these names or from these files, with a phase for each
/// number of a sweep. The default load is the tour's.
///
/// # Errors
/// A name is unknown, or a file contains mistakes.
pub fn scenario_and_load(
    scenario: &str,
    load: Option<&str>,
    library: &Library,
) -> Result<(Scenario, LoadProfile), RunnerError> {
    let here = Path::new("");
    let scenario = library.find::<Scenario>(scenario, here)?.document;
    let load = match load {
        Some(word) => library.find::<LoadProfile>(word, here)?,
        None => {
            let tour = library.find::<Suite>(TOUR, here)?.document;
            library.find::<LoadProfile>(&tour.load, here)?
        }
    };
    Ok((scenario, load.document.expanded()))
}

/// # Errors
/// A name is unknown, a scenario is named twice, or a file contains mistakes.
pub fn known_suite(word: &str, library: &Library) -> Result<KnownSuite, RunnerError> {
    let listed = library.find::<Suite>(word, Path::new(""))?;
    let base = base_of(&listed.source);
    let words = listed.document.scenarios.iter().map(|it| it.word());
    let scenarios = scenarios_of(words, &base, library)?;
    // The caller may write the word into a file in another folder, so a path must be absolute.
    let word = |listed: &Listed<Scenario>| match &listed.source {
        Source::Embedded(_) => listed.document.scenario.clone(),
        Source::File(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            path.display().to_string()
        }
    };
    let named = scenarios.iter().map(|it| (word(it), it.document.clone()));
    Ok(KnownSuite {
        scenarios: named.collect(),
        suite: listed.document,
    })
}

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
                "name each scenario once; each block repeats it",
            ));
        }
    }
    Ok(scenarios)
}

/// Resolves a path relative to the suite's folder; returns a name unchanged.
pub(crate) fn resolve_path(word: &str, base: &Path) -> String {
    if is_path(word) {
        base.join(word).display().to_string()
    } else {
        word.to_owned()
    }
}

pub(crate) fn file_next_to(file: &Path, word: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(word)
}

#[cfg(test)]
mod tests {
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
    fn scenarios_that_replace_those_of_the_tour_also_name_the_run() {
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
