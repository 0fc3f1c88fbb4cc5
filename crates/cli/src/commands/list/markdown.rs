//! The gateways as a page: docs/GATEWAYS.md. It says the same on every machine.

use std::fmt::Write as _;

use gatebench_model::gateway::{GatewayFolder, Support};
use gatebench_model::load::{CONFIGURE, WEIGHTS};
use gatebench_model::{Policy, Transport};
use gatebench_testbed::Folder;

const HEAD: &str = "\
# Gateways

<!-- Written by `gatebench list gateways --markdown`; edit the folders under gateways/ instead. -->

Each gateway is a folder under [gateways/](../gateways): how it is found, installed, started and stopped, and
its policies as templates of its own configuration ([how to add one](ADD-A-GATEWAY.md)). All of them get the
same: one worker per core, connections kept open on both sides, no retries, no access log, no buffering to disk.
What cannot be made equal is told below. `gatebench list gateways` says which of them this machine has,
`gatebench install NAME...` installs them, and `gatebench check gateway NAME` proves what is claimed here.
";

/// The page.
pub fn page(folders: &[Folder]) -> String {
    let mut page = format!("{HEAD}\n## Which there are\n\n");
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
        "\n*Not yet run*: written from the gateway's documentation; nobody of the project has run it. What comes from PyPI and\n\
         Maven is installed at the version named here. Debian's mirrors drop a version when its successor comes, so from there it\n\
         is that of the release; where a version is none of those proven, lists, checks and reports say so.\n",
    );
    page.push_str(&policies(folders));
    page.push_str("\n## What to know of each\n");
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
         ●: by a feature of the gateway. ○: by a script in a language that its makers ship. ◐, ◔: so too, but without\n\
         a part of the policy, which is told below. Blank: the gateway has nothing of its own that does the whole of it; why is\n\
         told below where one would expect it. ·: it has, and its folder does not use it yet. Both are *not supported* in\n\
         runs, and never emulated. Then follow what it\n\
         speaks besides plain HTTP/1.1, whether it can try another target when one fails, the changes it can be asked for\n\
         while it runs (`reload`: it reads its files again; `configure`: it is given other routes; `weights`: its targets\n\
         are given other weights), whether it tells its own metrics, and whether it has an admin interface through which\n\
         a single route is changed.\n\n",
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
