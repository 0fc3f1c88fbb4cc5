//! Rules for gateway folders.

use std::ops::Range;
use std::path::{Component, Path};

use gatebench_config::suggest::{did_you_mean, listed, nearest};
use gatebench_config::{Data, Node, Problem};

use super::not_zero;
use crate::Policy;
use crate::gateway::CONTRACT_VERSION;
use crate::label::is_direct;
use crate::needs::{ACCESS_LOG, CONTROL_PLANE, OTHER_FEATURES, PARTS, SECTIONS};
use crate::transport::Transport;

const WORKING_FOLDER: &str = "the trial's working folder";

pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    if let Some(name) = root.get("gateway")
        && let Some(reserved) = name.text().filter(|it| is_direct(it))
    {
        let message = format!("`{reserved}` is reserved for the load without a gateway");
        problems.push(name.problem(message, "choose another name"));
    }
    contract(root, problems);
    version_pattern(root, problems);
    files(root, problems);
    libraries(root, problems);
    parts(root, problems);
    each(root, problems);
    features(root, problems);
    changed_files(root, problems);
    sockets(root, problems);
    templates(root, problems);
    for (key, example) in [("ready", "10s"), ("stop", "3s")] {
        if let Some(section) = root.get(key) {
            not_zero(section, "timeout", example, problems);
        }
    }
}

fn contract(root: &Node, problems: &mut Vec<Problem>) {
    if let Some(node) = root.get("contract")
        && let Data::Integer(version) = node.data
        && version != i64::from(CONTRACT_VERSION)
    {
        let message =
            format!("this program supports contracts 1 and {CONTRACT_VERSION}, not {version}");
        let help = format!(
            "write `contract: {CONTRACT_VERSION}`, and use the values that `gatebench schema gateway-input` lists"
        );
        problems.push(node.problem(message, help));
    }
}

fn version_pattern(root: &Node, problems: &mut Vec<Problem>) {
    let node = root.at(&["binary", "version_pattern"]);
    let Some((node, pattern)) = node.and_then(|node| Some((node, node.text()?))) else {
        return;
    };
    let help = "put the version in a group, as in 'nginx/([0-9.]+)'";
    match regex_lite::Regex::new(pattern) {
        Ok(regex) if regex.captures_len() < 2 => {
            problems.push(node.problem("the pattern has no group for the version", help));
        }
        Ok(_) => {}
        Err(error) => {
            let message = format!("this is not a regular expression: {error}");
            problems.push(node.problem(message, help));
        }
    }
}

/// Checks that files stay in the trial's working folder and have unique names.
fn files(root: &Node, problems: &mut Vec<Problem>) {
    let files = root.list("files");
    for (index, file) in files.iter().enumerate() {
        let earlier = || files[..index].iter().filter_map(made);
        if let Some(name) = made(file).filter(|name| earlier().any(|it| it == *name)) {
            let place = file.get("to").unwrap_or(file);
            let message = format!("two files have the name `{name}`");
            problems.push(place.problem(message, "give each file a unique name"));
        }
    }
    let named = files.iter().filter_map(|file| file.get("to"));
    stay_in(named, WORKING_FOLDER, "nginx.conf", problems);
}

/// Returns the name of the resulting file in the working folder.
fn made(file: &Node) -> Option<&str> {
    let template = || file.text_of("template")?.rsplit('/').next();
    file.get("to").map_or_else(template, Node::text)
}

/// Checks that pinned folders are inside Maven's build folder, and that a digest pins at least one
/// folder.
fn libraries(root: &Node, problems: &mut Vec<Problem>) {
    let Some(maven) = root.at(&["install", "maven"]) else {
        return;
    };
    let folders = maven.list("libraries");
    stay_in(folders, "Maven's build folder", "target/lib", problems);
    if let Some(digest) = maven.get("libraries_sha256")
        && folders.is_empty()
    {
        let message = "`libraries_sha256` has no effect unless `libraries` names a folder";
        let help = "name the folders of the libraries, as in libraries: [target/lib]";
        problems.push(digest.problem(message, help));
    }
}

fn each(root: &Node, problems: &mut Vec<Problem>) {
    let files = root.list("files").iter();
    for node in files.filter_map(|file| file.get("each")) {
        let Some(kind) = node.text().filter(|kind| !Policy::KINDS.contains(kind)) else {
            continue;
        };
        let message = format!("there is no policy `{kind}`");
        let all = || format!("the policies are {}", listed(Policy::KINDS, "and"));
        problems.push(node.problem(message, did_you_mean(kind, Policy::KINDS, all)));
    }
}

/// Checks that actions render only files that the folder lists.
fn changed_files(root: &Node, problems: &mut Vec<Problem>) {
    let files = root.list("files").iter();
    let names: Vec<&str> = files.filter_map(made).collect();
    let named = actions(root).flat_map(|action| {
        let sent = [["send", "file"], ["call", "file"]];
        let sent = sent.into_iter().filter_map(|path| action.at(&path));
        action.list("watched").iter().chain(sent)
    });
    for node in named {
        let Some(name) = node.text().filter(|name| !names.contains(name)) else {
            continue;
        };
        let all = || "name one of the `files` by its name in the working folder".into();
        let message = format!("none of the `files` is rendered to `{name}`");
        let help = did_you_mean(name, names.iter().copied(), all);
        problems.push(node.problem(message, help));
    }
}

fn sockets(root: &Node, problems: &mut Vec<Problem>) {
    let sent = actions(root).flat_map(|action| {
        let sent = [["send", "to"], ["call", "to"]];
        sent.into_iter().filter_map(|path| action.at(&path))
    });
    let admin = root.at(&["admin", "socket"]);
    stay_in(sent.chain(admin), WORKING_FOLDER, "admin.sock", problems);
}

fn actions(root: &Node) -> impl Iterator<Item = &Node> {
    let of_control_plane = root.at(&["control_plane", "actions"]);
    let of_control_plane = of_control_plane.map_or(&[][..], Node::entries);
    let entries = root.mapping("actions").iter().chain(of_control_plane);
    entries.map(|entry| &entry.value)
}

/// Checks that the names under `database.postgres` are known features, and that the section
/// `control_plane` and the feature of this name occur only together.
fn roles(root: &Node, words: &Words<'_>, problems: &mut Vec<Problem>) {
    for node in root
        .at(&["database", "postgres"])
        .map_or(&[][..], Node::items)
    {
        if let Some(word) = node.text() {
            words.must_have(word, &node.span, problems);
        }
    }
    let claim = root.at(&["features", CONTROL_PLANE]);
    let claim = claim.filter(|feature| is_claim(feature));
    let help = "write both: the section with the command, and the feature with the kind of support";
    match (root.entry(CONTROL_PLANE), claim) {
        (Some(section), None) => {
            let message = "`features` does not claim `control_plane`";
            problems.push(section.problem(message, help));
        }
        (None, Some(claim)) => {
            let message = "`control_plane` is claimed without its section";
            problems.push(claim.problem(message, help));
        }
        _ => {}
    }
}

/// Checks that templates and parts are in the folder or in a folder next to it.
fn parts(root: &Node, problems: &mut Vec<Problem>) {
    let templates = root.list("files").iter();
    let templates = templates.filter_map(|file| file.get("template"));
    for node in templates.chain(root.list("parts")) {
        let Some(path) = node.text() else { continue };
        let fits = match path.strip_prefix("../") {
            Some(rest) => is_inside(rest) && rest.contains('/'),
            None => !path.is_empty() && is_inside(path),
        };
        if !fits {
            let message = format!("`{path}` is in neither this folder nor one next to it");
            let help = "write a name such as nginx.conf, or ../NAME/FILE of a folder next to it";
            problems.push(node.problem(message, help));
        }
    }
}

/// Reports paths that leave a folder; `example` is a path that does not.
fn stay_in<'n>(
    paths: impl IntoIterator<Item = &'n Node>,
    folder: &str,
    example: &str,
    problems: &mut Vec<Problem>,
) {
    for node in paths {
        let Some(path) = node.text() else { continue };
        if path.is_empty() || !is_inside(path) {
            let message = format!("`{path}` is not inside {folder}");
            let help = format!("write a relative path without `..`, as in {example}");
            problems.push(node.problem(message, help));
        }
    }
}

/// Reports whether a path consists only of names, with neither a root nor `..`.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Checks the names of features and parts, and that no feature is stated twice. A feature of
/// [`SECTIONS`], except `access_log`, can be claimed only by its section.
fn features(root: &Node, problems: &mut Vec<Problem>) {
    let all = [&Policy::KINDS[..], &Transport::KINDS, &OTHER_FEATURES].concat();
    let words = Words {
        one: "feature",
        all: "features",
        words: &all,
    };
    roles(root, &words, problems);
    let entries = root.mapping("features");
    for (index, entry) in entries.iter().enumerate() {
        words.must_have(&entry.key, &entry.key_span, problems);
        parts_of(&entry.key, &entry.value, problems);
        let section = || root.at(&["actions", &entry.key]).or(root.get(&entry.key));
        let is_section = SECTIONS.contains(&entry.key.as_str());
        if entries[..index].iter().any(|it| it.key == entry.key)
            || is_section && section().is_some()
        {
            let message = format!("`{}` is stated twice", entry.key);
            problems.push(entry.problem(message, "keep one of the statements"));
        } else if is_section && entry.key != ACCESS_LOG && is_claim(&entry.value) {
            let message = format!("`{}` is claimed without its settings", entry.key);
            let help = "write its section instead, as in docs/guide/ADD-A-GATEWAY.md";
            problems.push(entry.problem(message, help));
        }
    }
}

/// Checks that `without` lists only parts of the policy, and that only claimed features have
/// `without` and `needs`.
fn parts_of(policy: &str, feature: &Node, problems: &mut Vec<Problem>) {
    let own = PARTS.iter().filter_map(|part| part.split_once('.'));
    let own: Vec<&str> = own.filter(|it| it.0 == policy).map(|it| it.1).collect();
    let parts = Words {
        one: "part",
        all: "parts",
        words: &own,
    };
    for node in feature.list("without") {
        match node.text() {
            Some(_) if own.is_empty() => {
                let message = format!("`{policy}` has no parts that a gateway may lack");
                problems.push(node.problem(message, "remove `without`"));
            }
            Some(word) => parts.must_have(word, &node.span, problems),
            None => {}
        }
    }
    for key in ["without", "needs"] {
        if let Some(entry) = feature.entry(key).filter(|_| !is_claim(feature)) {
            let message = format!("`{key}` is only for features that the gateway has");
            problems.push(entry.problem(message, "remove it, or write `native` or `script`"));
        }
    }
}

fn is_claim(feature: &Node) -> bool {
    let mut words = ["native", "script"].iter();
    words.any(|word| feature.text() == Some(word) || feature.get(word).is_some())
}

/// The permitted names, and the nouns for them in messages.
struct Words<'a> {
    one: &'static str,
    all: &'static str,
    words: &'a [&'static str],
}

impl Words<'_> {
    fn must_have(&self, word: &str, span: &Range<usize>, problems: &mut Vec<Problem>) {
        let words = || self.words.iter().copied();
        if words().any(|known| known == word) {
            return;
        }
        let mut help = format!("the {} are {}", self.all, listed(words(), "and"));
        if let Some(near) = nearest(word, words()) {
            help = format!("did you mean `{near}`? {help}");
        }
        let message = format!("there is no {} `{word}`", self.one);
        problems.push(Problem::new(span.clone(), message, help));
    }
}

/// Checks the syntax of commands and environments, which are templates, before anything starts.
fn templates(root: &Node, problems: &mut Vec<Problem>) {
    let environment = minijinja::Environment::new();
    let commands = actions(root).filter_map(|action| action.get("command"));
    let systems = root.at(&["install", "vendor", "systems"]);
    let systems = systems.map_or(&[][..], Node::items).iter();
    let lists = [&["check"][..], &["start"], &["control_plane", "start"]];
    let lists = lists.into_iter().filter_map(|path| root.at(path));
    let lists = lists.chain(commands);
    let lists = lists.chain(systems.filter_map(|system| system.get("commands")));
    let of_program = root.at(&["binary", "environment"]);
    let of_program = of_program.map_or(&[][..], Node::entries);
    let values = root.mapping("environment").iter().chain(of_program);
    let values = values.map(|entry| &entry.value);
    for node in lists.flat_map(Node::items).chain(values) {
        let Some(text) = node.text() else { continue };
        if let Err(error) = environment.template_from_str(text) {
            let detail = error.detail().unwrap_or("its syntax is wrong");
            let message = format!("this is not a template: {detail}");
            let help = "write `{{ name }}` for a value, as in {{ work }}/nginx.conf; the values are in `gatebench schema gateway-input`";
            problems.push(node.problem(message, help));
        }
    }
}
