//! Renders docs/guide/GATEWAYS.md, which is the same on every machine.

use std::fmt::Write as _;

use gatebench_model::gateway::{Feature, GatewayFolder, Support};
use gatebench_model::load::{CONFIGURE, WEIGHTS};
use gatebench_model::needs::RELOAD;
use gatebench_model::{Policy, Transport};
use gatebench_testbed::gateway::Folder;

use crate::terminal;

/// The width of a line, and the indentation of a list item's text, in columns.
const WIDTH: usize = 100;
const INDENT: usize = 2;

const HEAD: &str = "\
# Gateways

<!-- Written by `gatebench list gateways --markdown`; edit the folders under gateways/ instead. -->

Each gateway has a folder under [gateways/](../../gateways), which states how to find, install,
start and stop the gateway, and contains templates of its configuration ([how to add a
gateway](ADD-A-GATEWAY.md)). All gateways get the same settings: one worker per core, connections
kept open on both sides, no buffering to disk and, unless the scenario requires them, no retries and
no access log. The notes below name the differences that remain. `gatebench list gateways` shows
which gateways this machine has, `gatebench install NAME...` installs them, and `gatebench check
gateway NAME` tests the claims on this page.
";

pub fn page(folders: &[Folder]) -> String {
    let mut page = format!("{HEAD}\n## List of gateways\n\n");
    page.push_str("| gateway | name | tested with | installed by |\n|---|---|---|---|\n");
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
        "\n*Not yet run*: the folder was written from the gateway's documentation, and the\n\
         project has not run it. Gateways from PyPI and Maven are installed at the version in\n\
         the table. Debian's mirrors drop a version when a newer one arrives, so a package has\n\
         the version of the Debian release. If the folder was not tested with this version,\n\
         lists, checks and reports state this.\n",
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
    let proven = spec.proven();
    if proven.is_empty() {
        return "*not yet run*".into();
    }
    proven.join(", ")
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
    let vendor = install.vendor.as_ref();
    let vendor =
        vendor.map(|it| format!("[its vendor]({}): {}, with `--yes`", it.page, it.version));
    let ways = [apt, pypi, maven, vendor, install.other.clone()];
    let ways = Vec::from_iter(ways.into_iter().flatten()).join("; ");
    if ways.is_empty() { "–".into() } else { ways }
}

fn policies(folders: &[Folder]) -> String {
    let mut text = String::from(
        "\n## Policies\n\n\
         ●: by a feature of the gateway. ○: by a script in a language shipped with it. ◐ and\n\
         ◔: like ● and ○, but without a part of the policy, which the gateway's section names.\n\
         ·: the gateway has the feature, but its folder does not use it yet. Blank: no feature of\n\
         the gateway covers the whole policy; the gateway's section gives the reason. Blank and ·\n\
         are *not supported* in runs, and never emulated.\n\n\
         The rows below the policies list the protocols other than plain HTTP/1.1, `failover` to\n\
         another target, the changes that the gateway accepts while it runs (`reload`: it reloads\n\
         its files; `configure`: it gets new routes; `weights`: its targets get new weights), its\n\
         own `metrics`, an `admin` interface that changes a single route, and its `access_log`. In\n\
         these rows, blank means that the folder does not have the feature.\n\n",
    );
    let names = folders.iter().map(|folder| folder.spec.gateway.as_str());
    let _ = writeln!(text, "| | {} |", names.collect::<Vec<_>>().join(" | "));
    let _ = writeln!(text, "|---|{}", ":-:|".repeat(folders.len()));
    let others = [
        "failover",
        RELOAD,
        CONFIGURE,
        WEIGHTS,
        "metrics",
        "admin",
        "access_log",
    ];
    let words = Policy::KINDS.into_iter().chain(Transport::KINDS);
    for word in words.chain(others) {
        let marks = folders.iter().map(|folder| mark(&folder.spec, word));
        let _ = writeln!(text, "| {word} | {} |", Vec::from_iter(marks).join(" | "));
    }
    text
}

fn mark(spec: &GatewayFolder, word: &str) -> &'static str {
    let feature = spec.features.get(word);
    match feature.map(|it| (it.support(), it.without())) {
        Some((Support::Native, [])) => "●",
        Some((Support::Native, _)) => "◐",
        Some((Support::Script, [])) => "○",
        Some((Support::Script, _)) => "◔",
        Some((Support::Unused, _)) => "·",
        _ if spec.has(word) => "●",
        _ => " ",
    }
}

fn about(spec: &GatewayFolder) -> String {
    let mut text = format!("\n### {}\n\n", spec.title);
    let means = spec.features.iter();
    let means = means.filter_map(|(word, feature)| means_of(word, feature));
    let means = Vec::from_iter(means).join(", ");
    if !means.is_empty() {
        text.push_str(&item(&format!(
            "Features (and their implementation): {means}."
        )));
    }
    for note in &spec.notes {
        text.push_str(&item(note));
    }
    for (why, words) in unsupported(spec) {
        text.push_str(&item(&format!("No {}: {why}.", words.join(", "))));
    }
    let lacks = spec.features.iter().flat_map(|(word, feature)| {
        let parts = feature.without().iter();
        parts.map(move |part| format!("{word}.{part}"))
    });
    let lacks = Vec::from_iter(lacks).join(", ");
    if !lacks.is_empty() {
        text.push_str(&item(&format!("Missing parts of policies: {lacks}.")));
    }
    let min = spec
        .binary
        .version_min
        .iter()
        .map(|it| format!("from {it}"));
    let below = spec.binary.version_below.iter();
    let below = below.map(|it| format!("below {it}"));
    let versions = Vec::from_iter(min.chain(below)).join(", ");
    if !versions.is_empty() {
        let words = format!("Supported versions: {versions}.");
        text.push_str(&item(&words));
    }
    text
}

/// Groups the unsupported features of a gateway by their reasons.
fn unsupported(spec: &GatewayFolder) -> Vec<(&str, Vec<&str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (word, feature) in &spec.features {
        let Some(why) = feature.explanation() else {
            continue;
        };
        if feature.support() != Support::Unsupported {
            continue;
        }
        match all.iter_mut().find(|(known, _)| *known == why) {
            Some((_, words)) => words.push(word),
            None => all.push((why, vec![word])),
        }
    }
    all
}

/// Describes how a gateway implements a feature; `None` if its folder does not use the feature or
/// gives no explanation.
fn means_of(word: &str, feature: &Feature) -> Option<String> {
    let means = feature.explanation()?;
    let is_there = [Support::Native, Support::Script].contains(&feature.support());
    is_there.then(|| format!("{word} ({means})"))
}

fn item(text: &str) -> String {
    format!("- {}\n", terminal::column(text.trim(), WIDTH, INDENT))
}
