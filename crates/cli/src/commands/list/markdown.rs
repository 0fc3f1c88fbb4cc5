//! The gateways as a page: docs/GATEWAYS.md. It says the same on every machine.

use std::fmt::Write as _;

use gatebench_model::gateway::{GatewayFolder, Support};
use gatebench_model::load::{CONFIGURE, WEIGHTS};
use gatebench_model::{Policy, Transport};
use gatebench_testbed::Folder;

const HEAD: &str = "\
# Gateways

<!-- Written by `gatebench list gateways --markdown`; edit the folders under gateways/ instead. -->

Each gateway is a folder under [gateways/](../gateways), which states how to find, install, start
and stop it, and contains its policies as templates of its own configuration ([how to add
one](ADD-A-GATEWAY.md)). All gateways get the same settings: one worker per core, connections kept
open on both sides, no retries, no access log, no buffering to disk. The notes below name the
differences that remain. `gatebench list gateways` shows which gateways this machine has,
`gatebench install NAME...` installs them, and `gatebench check gateway NAME` tests the claims of
this page.
";

/// The page.
pub fn page(folders: &[Folder]) -> String {
    let mut page = format!("{HEAD}\n## List of gateways\n\n");
    page.push_str("| gateway | name | proven with | installed by |\n|---|---|---|---|\n");
    for folder in folders {
        let spec = &folder.spec;
        let title = match &spec.homepage {
            Some(homepage) => format!("[{}]({homepage})", spec.title),
            None => spec.title.clone(),
        };
        let _ = writeln!(
            page,
            "| {title} | `{}` | {} | {} |",
            spec.gateway,
            proven_with(spec),
            means(spec)
        );
    }
    page.push_str(
        "\n*Not yet run*: written from the gateway's documentation; the project has not run it.\n\
         Gateways from PyPI and Maven are installed at the version in the table. Debian's\n\
         mirrors drop a version when its successor arrives, so a Debian package has the version\n\
         of the release; lists, checks and reports say if it is none of the proven versions.\n",
    );
    page.push_str(&policies(folders));
    page.push_str("\n## Notes on each gateway\n");
    for folder in folders {
        page.push_str(&about(&folder.spec));
    }
    page
}

fn proven_with(spec: &GatewayFolder) -> String {
    if spec.binary.names == [env!("CARGO_PKG_NAME")] {
        return "the same program".into();
    }
    if spec.proven_with.is_empty() {
        return "*not yet run*".into();
    }
    spec.proven_with.join(", ")
}

fn means(spec: &GatewayFolder) -> String {
    let install = &spec.install;
    let apt = (!install.apt.is_empty()).then(|| format!("Debian: {}", install.apt.join(", ")));
    let pypi = install.pypi.as_ref();
    let pypi = pypi.map(|it| format!("PyPI: {} {}", it.package, it.version));
    let maven = install.maven.as_ref().map(|it| {
        let java = it.java.map(|first| format!(" (JDK {first} or later)"));
        format!("Maven Central: {}{}", it.version, java.unwrap_or_default())
    });
    let ways: Vec<String> = [apt, pypi, maven, install.other.clone()]
        .into_iter()
        .flatten()
        .collect();
    if ways.is_empty() {
        "–".into()
    } else {
        ways.join("; ")
    }
}

/// What each gateway does by its own means.
fn policies(folders: &[Folder]) -> String {
    let mut text = String::from(
        "\n## Policies\n\n\
         ●: by a feature of the gateway. ○: by a script in a language that its makers ship. ◐,\n\
         ◔: likewise, but without a part of the policy, which its section names. Blank: no\n\
         feature of the gateway covers the whole policy; its section gives the reason if one\n\
         would expect it. ·: the gateway has the feature, but its folder does not use it yet.\n\
         Blank and · are *not supported* in runs, and never emulated. The rows below the\n\
         policies list the protocols apart from plain HTTP/1.1, `failover` to another target,\n\
         the changes that the gateway accepts while it runs (`reload`: it reloads its files;\n\
         `configure`: it gets other routes; `weights`: its targets get other weights), its own\n\
         `metrics`, and an `admin` interface that changes a single route.\n\n",
    );
    let names = folders.iter().map(|folder| folder.spec.gateway.as_str());
    let _ = writeln!(text, "| | {} |", names.collect::<Vec<_>>().join(" | "));
    let _ = writeln!(text, "|---|{}", ":-:|".repeat(folders.len()));
    for kind in Policy::KINDS {
        text.push_str(&row(kind, folders, |spec| policy_mark(spec, kind)));
    }
    for kind in Transport::KINDS.into_iter().chain(["failover"]) {
        let has = |spec: &GatewayFolder| told(spec, kind, spec.has(kind));
        text.push_str(&row(kind, folders, has));
    }
    for action in ["reload", CONFIGURE, WEIGHTS] {
        let can = |spec: &GatewayFolder| told(spec, action, spec.actions.contains_key(action));
        text.push_str(&row(action, folders, can));
    }
    for kind in ["metrics", "admin"] {
        let has = |spec: &GatewayFolder| told(spec, kind, spec.has(kind));
        text.push_str(&row(kind, folders, has));
    }
    text
}

/// The mark of what a gateway has or has not.
fn told(spec: &GatewayFolder, word: &str, has: bool) -> &'static str {
    match (has, spec.unused.iter().any(|unused| unused == word)) {
        (true, _) => "●",
        (false, true) => "·",
        (false, false) => " ",
    }
}

fn row(kind: &str, folders: &[Folder], mark: impl Fn(&GatewayFolder) -> &'static str) -> String {
    let marks: Vec<&str> = folders.iter().map(|folder| mark(&folder.spec)).collect();
    format!("| {kind} | {} |\n", marks.join(" | "))
}

fn policy_mark(spec: &GatewayFolder, kind: &str) -> &'static str {
    let part_of = |part: &String| part.split_once('.').is_some_and(|(of, _)| of == kind);
    match (spec.policies.get(kind), spec.lacks.iter().any(part_of)) {
        (Some(Support::Native), false) => "●",
        (Some(Support::Native), true) => "◐",
        (Some(Support::Script), false) => "○",
        (Some(Support::Script), true) => "◔",
        (None, _) => told(spec, kind, false),
    }
}

fn about(spec: &GatewayFolder) -> String {
    let mut text = format!("\n### {}\n\n", spec.title);
    for note in &spec.notes {
        let _ = writeln!(text, "- {}", note.trim());
    }
    for (word, why) in &spec.without {
        let _ = writeln!(text, "- No {word}: {}", why.trim());
    }
    if !spec.lacks.is_empty() {
        let _ = writeln!(text, "- It lacks {}.", spec.lacks.join(", "));
    }
    let version = match (&spec.binary.version_min, &spec.binary.version_below) {
        (Some(min), Some(below)) => Some(format!("from {min}, below {below}")),
        (Some(min), None) => Some(format!("from {min}")),
        (None, Some(below)) => Some(format!("below {below}")),
        (None, None) => None,
    };
    if let Some(version) = version {
        let _ = writeln!(text, "- Versions that the templates fit: {version}.");
    }
    text
}
