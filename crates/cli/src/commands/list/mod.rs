//! `gatebench list`.

pub mod gateways;
mod markdown;

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use gatebench_model::{Published, Suite};
use gatebench_runner::Listed;
use serde_json::{Value, json};

use super::values::Overlay;
use crate::failure::Failure;
use crate::terminal;

/// List gateways, scenarios, suites, loads, specifications and published documents
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench list gateways\n  gatebench list --paths\n  gatebench list scenarios --json"
)]
pub struct List {
    /// List only this kind
    kind: Option<ListedKind>,
    /// Show the source of each entry
    #[arg(long)]
    paths: bool,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
    /// Print the gateways as a Markdown page, which does not depend on this machine
    #[arg(long, conflicts_with_all = ["json", "paths"])]
    markdown: bool,
    #[command(flatten)]
    overlay: Overlay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListedKind {
    /// Gateways, with their installed versions, their policies and instructions for installing them
    Gateways,
    /// Scenarios: the policies of a gateway, and the requests of its clients
    Scenarios,
    /// Suites: scenarios with gateways and a load
    Suites,
    /// Load profiles
    Loads,
    /// Specifications, for `gatebench spec run`
    Specifications,
    /// Published documents, whose columns `gatebench report --as` can use to print a run
    Published,
}

struct Entry {
    name: String,
    title: String,
    path: String,
    folder: String,
}

/// Returns an entry for each document; `named` returns its name and title.
fn entries<T>(all: Vec<Listed<T>>, named: fn(T) -> (String, String)) -> Vec<Entry> {
    let entry = |it: Listed<T>| {
        let (name, title) = named(it.document);
        Entry {
            name,
            title,
            path: it.source.to_string(),
            folder: it.source.folder(),
        }
    };
    all.into_iter().map(entry).collect()
}

/// Returns the name and title of a suite, with a note if the suite reproduces a document.
fn suite(it: Suite) -> (String, String) {
    let note = it
        .as_published
        .map_or("", |_| " (also with --as-published)");
    (it.suite, it.title + note)
}

fn published(it: Published) -> (String, String) {
    let source = it.source.iter().map(|source| format!(" ({source})"));
    (it.published, it.title + &source.collect::<String>())
}

impl List {
    pub fn run(self) -> Result<(), Failure> {
        if self.markdown {
            return self.page();
        }
        let kinds = self
            .kind
            .map_or_else(|| ListedKind::value_variants().to_vec(), |kind| vec![kind]);
        let mut document = serde_json::Map::new();
        let mut sections = Vec::new();
        for kind in kinds {
            let title = kind
                .to_possible_value()
                .map(|word| word.get_name().to_owned())
                .unwrap_or_default();
            let (lines, entries) = self.section(kind)?;
            sections.push(format!("{title}\n{lines}"));
            document.insert(title, entries);
        }
        match self.json {
            true => terminal::say_json(&document.into()),
            false => terminal::say(&sections.join("\n\n")),
        }
    }

    fn page(&self) -> Result<(), Failure> {
        if !matches!(self.kind, None | Some(ListedKind::Gateways)) {
            return Err(Failure::words(
                "--markdown",
                "only gateways can be printed as a page",
                "name that kind: gatebench list gateways --markdown",
            ));
        }
        let folders = self.overlay.catalogue().list()?;
        terminal::say_data(markdown::page(&folders).trim_end())
    }

    fn section(&self, kind: ListedKind) -> Result<(String, Value), Failure> {
        let library = self.overlay.scenarios();
        let entries = match kind {
            ListedKind::Gateways => {
                let listed = gateways::all(&self.overlay.catalogue())?;
                let entries = listed.iter().map(gateways::Listed::as_json).collect();
                return Ok((gateways::lines(&listed, self.paths), entries));
            }
            ListedKind::Scenarios => entries(library.scenarios()?, |it| (it.scenario, it.title)),
            ListedKind::Suites => entries(library.suites()?, suite),
            ListedKind::Loads => entries(library.loads()?, |it| (it.profile, it.title)),
            ListedKind::Specifications => {
                entries(library.specifications()?, |it| (it.specification, it.title))
            }
            ListedKind::Published => entries(library.published()?, published),
        };
        let values = entries.iter();
        let values = values.map(|it| json!({"name": it.name, "title": it.title, "path": it.path}));
        Ok((self.lines(&entries), values.collect()))
    }

    fn lines(&self, entries: &[Entry]) -> String {
        let widest = terminal::widest(entries.iter().map(|it| &*it.name));
        let folders: BTreeSet<&str> = entries.iter().map(|it| it.folder.as_str()).collect();
        let mut lines = Vec::new();
        for folder in folders {
            lines.push(format!("  {folder}/"));
            for entry in entries.iter().filter(|it| it.folder == folder) {
                let path = in_brackets(&entry.path, self.paths);
                let Entry { name, title, .. } = entry;
                lines.push(format!("    {name:<widest$}  {title}{path}"));
            }
        }
        lines.join("\n")
    }
}

fn in_brackets(path: &str, is_shown: bool) -> String {
    match is_shown {
        true => format!("  ({path})"),
        false => String::new(),
    }
}
