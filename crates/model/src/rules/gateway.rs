//! Rules of gateway folders.

use std::ops::Range;
use std::path::{Component, Path};

use gatebench_config::suggest::{listed, nearest};
use gatebench_config::{Data, Node, Problem};

use super::{not_zero, unique};
use crate::Policy;
use crate::gateway::CONTRACT_VERSION;
use crate::label::is_direct;
use crate::needs::{OTHER_CLAIMS, PARTS};
use crate::transport::Transport;

/// The mistakes of a gateway folder beyond its schema.
pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    if let Some(name) = root.get("gateway")
        && let Some(reserved) = name.text().filter(|it| is_direct(it))
    {
        let message = format!("`{reserved}` is the name of the load without a gateway");
        problems.push(Problem::new(
            name.span.clone(),
            message,
            "choose another name",
        ));
    }
    contract(root, problems);
    version_pattern(root, problems);
    files(root, problems);
    libraries(root, problems);
    parts(root, problems);
    each(root, problems);
    policies(root, problems);
    what_is_not_there(root, problems);
    changed_files(root, problems);
    sockets(root, problems);
    templates(root, problems);
    for (key, help) in [
        ("ready", "give it some time, as in 10s"),
        ("stop", "give it some time, as in 3s"),
    ] {
        if let Some(section) = root.get(key) {
            not_zero(section, "timeout", help, problems);
        }
    }
}

fn contract(root: &Node, problems: &mut Vec<Problem>) {
    let Some(node) = root.get("contract") else {
        return;
    };
    if let Data::Integer(version) = node.data
        && version != i64::from(CONTRACT_VERSION)
    {
        let message = format!("this program renders contract {CONTRACT_VERSION}, not {version}");
        let help = format!(
            "write `contract: {CONTRACT_VERSION}` and use what `gatebench schema gateway-input` lists"
        );
        problems.push(Problem::new(node.span.clone(), message, help));
    }
}

fn version_pattern(root: &Node, problems: &mut Vec<Problem>) {
    let Some(node) = root
        .get("binary")
        .and_then(|binary| binary.get("version_pattern"))
    else {
        return;
    };
    let Some(pattern) = node.text() else { return };
    let help = "put the version in a group, as in 'nginx/([0-9.]+)'";
    match regex_lite::Regex::new(pattern) {
        Ok(regex) if regex.captures_len() < 2 => {
            problems.push(Problem::new(
                node.span.clone(),
                "the pattern has no group for the version",
                help,
            ));
        }
        Ok(_) => {}
        Err(error) => {
            let message = format!("this is not a regular expression: {error}");
            problems.push(Problem::new(node.span.clone(), message, help));
        }
    }
}

/// Templates come from the folder, and what they become stays in the trial's working folder.
fn files(root: &Node, problems: &mut Vec<Problem>) {
    let files = root.list("files");
    unique(
        files.iter().filter_map(|file| file.get("to")),
        "files",
        "give each file a name of its own",
        problems,
    );
    for (key, folder) in [
        ("template", "the gateway's folder"),
        ("to", "the trial's working folder"),
    ] {
        for node in files.iter().filter_map(|file| file.get(key)) {
            let Some(path) = node.text() else { continue };
            if path.is_empty() || !is_inside(path) {
                let message = format!("`{path}` does not stay in {folder}");
                let help = "write a relative path without `..`, as in nginx.conf";
                problems.push(Problem::new(node.span.clone(), message, help));
            }
        }
    }
}

/// Pinned folders stay in what Maven builds, and a digest pins the files of one at least.
fn libraries(root: &Node, problems: &mut Vec<Problem>) {
    let install = root.get("install");
    let Some(maven) = install.and_then(|install| install.get("maven")) else {
        return;
    };
    let folders = maven.list("libraries");
    for node in folders {
        let Some(path) = node.text() else { continue };
        if path.is_empty() || !is_inside(path) {
            let message = format!("`{path}` does not stay in what Maven builds");
            let help = "write a relative path without `..`, as in target/lib";
            problems.push(Problem::new(node.span.clone(), message, help));
        }
    }
    if let Some(digest) = maven.get("libraries_sha256")
        && folders.is_empty()
    {
        problems.push(Problem::new(
            digest.span.clone(),
            "`libraries_sha256` pins nothing where `libraries` names no folder",
            "name the folders of the libraries, as in libraries: [target/lib]",
        ));
    }
}

/// What a file is made for each of is a policy.
fn each(root: &Node, problems: &mut Vec<Problem>) {
    for node in root
        .list("files")
        .iter()
        .filter_map(|file| file.get("each"))
    {
        let Some(kind) = node.text().filter(|kind| !Policy::KINDS.contains(kind)) else {
            continue;
        };
        let message = format!("there is no policy `{kind}`");
        let help = nearest(kind, Policy::KINDS).map_or_else(
            || format!("the policies are {}", listed(Policy::KINDS, "and")),
            |meant| format!("did you mean `{meant}`?"),
        );
        problems.push(Problem::new(node.span.clone(), message, help));
    }
}

/// What an action writes anew is one of the files.
fn changed_files(root: &Node, problems: &mut Vec<Problem>) {
    let files = root.list("files").iter();
    let names: Vec<&str> = files.filter_map(|file| file.get("to")?.text()).collect();
    let named = actions(root).flat_map(|action| {
        let sent = action.get("send").and_then(|lines| lines.get("file"));
        action.list("watched").iter().chain(sent)
    });
    for node in named {
        let Some(name) = node.text().filter(|name| !names.contains(name)) else {
            continue;
        };
        let help = nearest(name, names.iter().copied()).map_or_else(
            || "name a file as it is called under `to` of `files`".into(),
            |meant| format!("did you mean `{meant}`?"),
        );
        let message = format!("none of the `files` becomes `{name}`");
        problems.push(Problem::new(node.span.clone(), message, help));
    }
}

/// A socket at which a gateway takes orders is in the trial's working folder.
fn sockets(root: &Node, problems: &mut Vec<Problem>) {
    let sent = actions(root).filter_map(|action| action.get("send")?.get("to"));
    let admin = root.get("admin").and_then(|admin| admin.get("socket"));
    for node in sent.chain(admin) {
        let Some(path) = node.text() else { continue };
        if path.is_empty() || !is_inside(path) {
            let message = format!("`{path}` does not stay in the trial's working folder");
            let help = "write a relative path without `..`, as in admin.sock";
            problems.push(Problem::new(node.span.clone(), message, help));
        }
    }
}

fn actions(root: &Node) -> impl Iterator<Item = &Node> {
    let entries = root.get("actions").map_or(&[][..], Node::entries);
    entries.iter().map(|entry| &entry.value)
}

/// Parts come from the folder, or from a gateway folder beside it.
fn parts(root: &Node, problems: &mut Vec<Problem>) {
    for node in root.list("parts") {
        let Some(path) = node.text() else { continue };
        let beside = path.strip_prefix("../");
        let fits = match beside {
            Some(rest) => is_inside(rest) && rest.contains('/'),
            None => !path.is_empty() && is_inside(path),
        };
        if !fits {
            let message = format!("`{path}` is in neither this folder nor one beside it");
            let help = "write part.conf, or ../NAME/FILE of another gateway folder";
            problems.push(Problem::new(node.span.clone(), message, help));
        }
    }
}

fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

fn policies(root: &Node, problems: &mut Vec<Problem>) {
    let policies = Words {
        one: "policy",
        all: "policies",
        words: &Policy::KINDS,
    };
    for entry in root.get("policies").map_or(&[][..], Node::entries) {
        policies.must_have(&entry.key, &entry.key_span, problems);
    }
    let parts = Words {
        one: "part of a policy",
        all: "parts",
        words: &PARTS,
    };
    let transports = Words {
        one: "transport",
        all: "transports",
        words: &Transport::KINDS,
    };
    for (key, words) in [("lacks", parts), ("transport", transports)] {
        for node in root.list(key) {
            if let Some(word) = node.text() {
                words.must_have(word, &node.span, problems);
            }
        }
    }
}

/// Who tells of what a gateway does not have, or does not use, does not claim it as well.
fn what_is_not_there(root: &Node, problems: &mut Vec<Problem>) {
    let all: Vec<&str> = [&Policy::KINDS[..], &Transport::KINDS, &OTHER_CLAIMS].concat();
    let claims = Words {
        one: "claim",
        all: "claims",
        words: &all,
    };
    let claimed = |word: &str| {
        let under = |key: &str| root.get(key).is_some_and(|it| it.get(word).is_some());
        let mut spoken = root.list("transport").iter();
        under("policies")
            || under("actions")
            || spoken.any(|it| it.text() == Some(word))
            || root.get(word).is_some()
    };
    let unused = root.list("unused").iter();
    let unused = unused.filter_map(|node| Some((node.text()?, &node.span)));
    let without = root.get("without").map_or(&[][..], Node::entries).iter();
    let without = without.map(|entry| (entry.key.as_str(), &entry.key_span));
    for (word, span) in unused.chain(without) {
        claims.must_have(word, span, problems);
        if all.contains(&word) && claimed(word) {
            let message = format!("`{word}` is claimed above, and said not to be there");
            let help = "keep one of them";
            problems.push(Problem::new(span.clone(), message, help));
        }
    }
}

/// The words that may stand somewhere, and what they are called.
struct Words<'a> {
    one: &'static str,
    all: &'static str,
    words: &'a [&'static str],
}

impl Words<'_> {
    /// Reports a word that is none of them.
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

/// Commands and environment are templates: their syntax is checked before anything starts.
fn templates(root: &Node, problems: &mut Vec<Problem>) {
    let environment = minijinja::Environment::new();
    let commands = actions(root).filter_map(|action| action.get("command"));
    let lists = ["check", "start"]
        .into_iter()
        .filter_map(|key| root.get(key))
        .chain(commands);
    let values = root
        .get("environment")
        .map_or(&[][..], Node::entries)
        .iter()
        .map(|entry| &entry.value);
    for node in lists.flat_map(Node::items).chain(values) {
        let Some(text) = node.text() else { continue };
        if let Err(error) = environment.template_from_str(text) {
            let message = format!(
                "this is not a template: {}",
                error.detail().unwrap_or("its syntax is wrong")
            );
            let help = "write `{{ name }}` for a value, as in {{ work }}/nginx.conf; the values are in `gatebench schema gateway-input`";
            problems.push(Problem::new(node.span.clone(), message, help));
        }
    }
}
