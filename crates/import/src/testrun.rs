//! Imports TestRuns of the k6 operator. Their scripts become scenarios and loads, and their runners
//! become options of `gatebench run --kubernetes`.

mod arguments;
mod runner;

use std::collections::BTreeMap;

use gatebench_config::{Data, Node};
use gatebench_model::{Request, Scenario, ScenarioLoads, Shape, Suite};

use crate::defaults;
use crate::error::ImportError;
use crate::folder::{Folder, SUITE_FILE};
use crate::k6;
use crate::keys::Keys;
use crate::kubernetes::documents;
use crate::log::{Log, Note};
use crate::name::Names;
use crate::options::Options;
use runner::Runner;

const KIND: &str = "TestRun";
const API: &str = "k6.io/";

/// The label that names the scenario of a TestRun that gatebench wrote.
const SCENARIO_LABEL: &str = "gatebench/scenario";

/// The operator's resource for Grafana Cloud.
const CLOUD_KIND: &str = "PrivateLoadZone";

/// A file with TestRuns and possibly the ConfigMaps of their scripts.
#[derive(Clone, Debug)]
pub struct TestRunFile<'a> {
    /// The name by which messages refer to the file.
    pub name: &'a str,
    pub text: &'a str,
}

/// A suite and its scenarios. Each scenario comes with a name or a path by which a suite file in
/// any folder can refer to it.
#[derive(Clone, Debug)]
pub struct KnownSuite {
    pub suite: Suite,
    pub scenarios: Vec<(String, Scenario)>,
}

/// The result of reading TestRuns.
#[derive(Clone, Debug, Default)]
pub struct TestRuns {
    /// The suite, with its scenarios, loads and scripts.
    pub folder: Folder,
    /// The options of `gatebench run` that set the number of agents, their nodes and their limits.
    pub words: Vec<String>,
}

struct TestRun {
    name: String,
    script_file: String,
    script: String,
    /// The scenario that a label names.
    scenario: Option<String>,
    runner: Runner,
}

/// Converts TestRuns. `read` returns the text of a script by its file name. If a suite is given,
/// each script stands for one of the suite's scenarios: the one that a label of the TestRun names,
/// or else the one whose first request matches the script's.
///
/// # Errors
/// Returns all mistakes in a file, each with its line. Also fails if there is no TestRun, or if a
/// script corresponds to no scenario of the suite. A script without a request that can be read is
/// an error too, unless a label names a scenario of the suite.
pub fn read_testruns(
    files: &[TestRunFile<'_>],
    read: &dyn Fn(&str) -> Option<String>,
    known: Option<&KnownSuite>,
    options: &Options,
) -> Result<TestRuns, ImportError> {
    let mut result = TestRuns::default();
    let mut all = Vec::new();
    for file in files {
        let mut log = Log::new(file.name, file.text);
        let nodes = documents::read(file.name, file.text)?;
        let found = testruns(&nodes, read, &mut log);
        let notes = log.finish()?;
        result.folder.notes.extend(of_file(notes, file.name));
        all.extend(found);
    }
    if all.is_empty() {
        let message = "there is no TestRun";
        let remedy = "name files that contain TestRun resources (k6.io/v1alpha1)";
        return Err(ImportError::nothing(&options.file, message, remedy));
    }
    let mut suite = suite_of(known, options);
    let mut names = Names::default();
    for run in &all {
        let name = names.unique(&run.name);
        let scenario = add(run, &name, known, &mut result.folder)?;
        suite
            .scenarios
            .push(gatebench_model::SuiteScenario::Loaded(ScenarioLoads {
                scenario,
                load: Some(format!("./{name}-load.yaml")),
                as_published: None,
            }));
        if suite.load.is_empty() {
            suite.load = format!("./{name}-load.yaml");
        }
    }
    let comments = [format!("From {}.", options.file)];
    result.folder.add(SUITE_FILE, &comments, &suite)?;
    let runners: Vec<&Runner> = all.iter().map(|run| &run.runner).collect();
    result.words = runner::words(&runners);
    let facts = &mut result.folder.facts;
    facts.push(format!("TestRuns: {}", all.len()));
    facts.extend(runner::differences(&runners));
    Ok(result)
}

/// Adds the file's name to each note, because the notes of all files are printed together.
fn of_file<'a>(notes: Vec<Note>, file: &'a str) -> impl Iterator<Item = Note> + 'a {
    notes.into_iter().map(move |note| Note {
        what: format!("{file}: {}", note.what),
        ..note
    })
}

fn suite_of(known: Option<&KnownSuite>, options: &Options) -> Suite {
    let title = format!("The TestRuns of {}", options.file);
    let gateways = match known {
        Some(known) => known.suite.gateways.clone(),
        None => defaults::gateways(&["reference"]),
    };
    let suite = defaults::suite(options, &title, gateways, Vec::new(), "");
    Suite { blocks: 1, ..suite }
}

/// Adds the files of a TestRun, and returns the name or path by which a suite can refer to its
/// scenario.
fn add(
    run: &TestRun,
    name: &str,
    known: Option<&KnownSuite>,
    folder: &mut Folder,
) -> Result<String, ImportError> {
    let file = format!("{} of the TestRun {}", run.script_file, run.name);
    let options = Options::new(file.as_str(), name);
    let overrides = &run.runner.overrides;
    let (word, mut load) = match (known, &run.scenario) {
        // The requests of a script that gatebench wrote are computed, so they cannot be read here.
        (Some(known), Some(named)) => (
            known.named(named, &file)?,
            k6::load(&run.script, overrides, &options),
        ),
        (known, _) => {
            let parts = k6::parts(&run.script, overrides, &options)?;
            folder.notes.extend(of_file(parts.notes, &run.script_file));
            let word = match known {
                Some(known) => known.sending(&parts.scenario, &file)?,
                None => {
                    folder.add_scenario(&format!("{name}.yaml"), &[], &parts.scenario)?;
                    format!("./{name}.yaml")
                }
            };
            (word, parts.load)
        }
    };
    for phase in &mut load.phases {
        // k6 drops an arrival when all users are busy.
        if let Shape::Open(open) = &mut phase.shape {
            open.queue_max = 0;
        }
    }
    load.profile = format!("{name}-load");
    folder.add(&format!("{name}-load.yaml"), &[], &load)?;
    folder.add_text(&format!("{name}.js"), &run.script, false);
    Ok(word)
}

impl KnownSuite {
    /// Returns the name or path by which a suite can refer to the scenario with this name.
    fn named(&self, name: &str, file: &str) -> Result<String, ImportError> {
        self.word_of(|it| it.scenario == name).ok_or_else(|| {
            let message = format!("the suite '{}' has no scenario '{name}'", self.suite.suite);
            let remedy = format!("correct the label {SCENARIO_LABEL}, or name another suite");
            ImportError::nothing(file, &message, &remedy)
        })
    }

    /// Returns the name or path by which a suite can refer to the scenario whose first request
    /// matches that of `own` (see [`is_same`]).
    fn sending(&self, own: &Scenario, file: &str) -> Result<String, ImportError> {
        let own = first_request(own);
        let is_it = |it: &Scenario| {
            first_request(it)
                .zip(own)
                .is_some_and(|(it, own)| is_same(it, own))
        };
        self.word_of(is_it).ok_or_else(|| {
            let sends = own.map(Request::label).unwrap_or_default();
            let message = format!(
                "no scenario of the suite '{}' begins with the request {sends} and its headers",
                self.suite.suite
            );
            let remedy = "correct the script's first request (method, path or header names), or omit --suite to get a scenario without policies";
            ImportError::nothing(file, &message, remedy)
        })
    }

    fn word_of(&self, is_it: impl Fn(&Scenario) -> bool) -> Option<String> {
        let found = self.scenarios.iter().find(|(_, scenario)| is_it(scenario));
        found.map(|(word, _)| word.clone())
    }
}

fn first_request(scenario: &Scenario) -> Option<&Request> {
    let group = scenario
        .groups
        .first()
        .and_then(|group| group.requests.first());
    scenario.requests.first().or(group)
}

/// Reports whether two requests have the same method, path and header names. X-Response-Status is
/// ignored.
fn is_same(one: &Request, other: &Request) -> bool {
    let names = |request: &Request| -> Vec<String> {
        let names = request.headers.keys().map(|it| it.to_ascii_lowercase());
        let mut names = Vec::from_iter(names.filter(|it| it != "x-response-status"));
        names.sort();
        names
    };
    (&one.method, &one.path, names(one)) == (&other.method, &other.path, names(other))
}

fn testruns(
    nodes: &[Node],
    read: &dyn Fn(&str) -> Option<String>,
    log: &mut Log<'_>,
) -> Vec<TestRun> {
    let documents = flattened(nodes);
    let scripts = scripts(&documents);
    let mut found = Vec::new();
    for node in documents {
        match node.text_of("kind") {
            Some(KIND) => found.extend(testrun(node, &scripts, read, log)),
            Some(CLOUD_KIND) => {
                let message = format!("a {CLOUD_KIND} belongs to Grafana Cloud");
                let help = "remove it; gatebench runs in your own cluster";
                log.problem(&node.head(), message, help);
            }
            _ => {}
        }
    }
    found
}

/// Returns the documents, with each list replaced by its items.
fn flattened(nodes: &[Node]) -> Vec<&Node> {
    fn items(node: &Node) -> Vec<&Node> {
        match node.text_of("kind") {
            Some("List") => node.list("items").iter().collect(),
            _ => vec![node],
        }
    }
    nodes.iter().flat_map(items).collect()
}

/// Returns the files in the ConfigMaps, by the names of the ConfigMap and the file.
fn scripts(documents: &[&Node]) -> BTreeMap<(String, String), String> {
    let mut scripts = BTreeMap::new();
    for node in documents
        .iter()
        .filter(|it| it.text_of("kind") == Some("ConfigMap"))
    {
        let name = node
            .at(&["metadata", "name"])
            .and_then(Node::text)
            .unwrap_or_default();
        for entry in node.get("data").map(Node::entries).unwrap_or_default() {
            if let Some(text) = entry.value.text() {
                scripts.insert((name.to_owned(), entry.key.clone()), text.to_owned());
            }
        }
    }
    scripts
}

fn testrun(
    node: &Node,
    scripts: &BTreeMap<(String, String), String>,
    read: &dyn Fn(&str) -> Option<String>,
    log: &mut Log<'_>,
) -> Option<TestRun> {
    if !node
        .text_of("apiVersion")
        .is_some_and(|it| it.starts_with(API))
    {
        let message = "the TestRun does not belong to the API k6.io";
        log.problem(&node.head(), message, "write `apiVersion: k6.io/v1alpha1`");
        return None;
    }
    let name = node.at(&["metadata", "name"]).and_then(Node::text);
    let labels = node.at(&["metadata", "labels"]);
    let scenario = labels.and_then(|it| it.text_of(SCENARIO_LABEL));
    let Some(spec) = node.get("spec") else {
        let message = "the TestRun has no `spec`";
        log.problem(
            &node.head(),
            message,
            "add `spec:` with `script:` and `parallelism:`",
        );
        return None;
    };
    let mut keys = Keys::of(spec, "`spec`", log);
    let (script_file, script) = script_of(&mut keys, scripts, read, log)?;
    let runner = Runner::read(keys, log);
    Some(TestRun {
        name: name.unwrap_or("testrun").to_owned(),
        scenario: scenario.map(str::to_owned),
        script_file,
        script,
        runner,
    })
}

/// Reads the script of a TestRun, and returns its file name and text.
fn script_of(
    keys: &mut Keys<'_>,
    scripts: &BTreeMap<(String, String), String>,
    read: &dyn Fn(&str) -> Option<String>,
    log: &mut Log<'_>,
) -> Option<(String, String)> {
    let span = keys.span.clone();
    let Some(script) = keys.node("script") else {
        let help = "add `script: {configMap: {name: NAME, file: FILE.js}}`";
        log.problem(&span, "`spec` has no `script`", help);
        return None;
    };
    let file = |node: &Node| node.text_of("file").unwrap_or("test.js").to_owned();
    let (map, file) = if let Some(map) = script.get("configMap") {
        (map.text_of("name").map(str::to_owned), file(map))
    } else if let Some(volume) = script.get("volumeClaim") {
        (None, file(volume))
    } else if let Some(Data::Text(path)) = script.get("localFile").map(|it| &it.data) {
        (None, path.clone())
    } else {
        let message = "`script` names no configMap, volumeClaim or localFile";
        let help = "write `script: {configMap: {name: NAME, file: FILE.js}}`";
        log.problem(&script.head(), message, help);
        return None;
    };
    let of_map = map.and_then(|map| scripts.get(&(map, file.clone())).cloned());
    let base = file.rsplit('/').next().unwrap_or(&file).to_owned();
    let text = of_map.or_else(|| read(&base));
    if text.is_none() {
        let message = format!("the script {base} was not found");
        let help = "put the script next to this file, or add its ConfigMap to this file";
        log.problem(&script.head(), message, help);
    }
    Some((base, text?))
}
