//! `gatebench list`.

pub mod gateways;
mod markdown;

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use gatebench_model::{LoadProfile, Published, Scenario, Specification, Suite};
use gatebench_runner::{Listed, Source};
use serde_json::{Value, json};

use super::values::Overlay;
use crate::exit::Exit;
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

/// The kinds that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListedKind {
    /// Gateways, with their installed version, their policies and how to install them
    Gateways,
    /// Scenarios: what a gateway does, and what clients send
    Scenarios,
    /// Suites: scenarios with gateways and a load
    Suites,
    /// Load profiles
    Loads,
    /// Specifications, for `gatebench spec run`
    Specifications,
    /// Published documents, in whose format `gatebench report --as` prints a run
    Published,
}

/// An entry of a list.
struct Entry {
    name: String,
    title: String,
    path: String,
    folder: String,
}

impl Entry {
    fn new(name: &str, title: &str, source: &Source) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            path: source.to_string(),
            folder: source.folder(),
        }
    }

    fn as_json(&self) -> Value {
        json!({ "name": self.name, "title": self.title, "path": self.path })
    }
}

/// A suite; its title states whether it repeats a document.
fn suite(one: &Listed<Suite>) -> Entry {
    let Suite { suite, title, .. } = &one.document;
    match one.document.as_published {
        None => Entry::new(suite, title, &one.source),
        Some(_) => {
            let title = format!("{title} (also --as-published)");
            Entry::new(suite, &title, &one.source)
        }
    }
}

/// A published document with its source.
fn published(one: &Listed<Published>) -> Entry {
    let Published {
        published, title, ..
    } = &one.document;
    match &one.document.source {
        None => Entry::new(published, title, &one.source),
        Some(source) => Entry::new(published, &format!("{title} ({source})"), &one.source),
    }
}

impl List {
    /// Prints the list.
    pub fn run(self) -> Result<Exit, Failure> {
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
        if self.json {
            terminal::say_data(&format!("{:#}", Value::Object(document)))?;
        } else {
            terminal::say(&sections.join("\n\n"))?;
        }
        Ok(Exit::Fine)
    }

    fn page(&self) -> Result<Exit, Failure> {
        if !matches!(self.kind, None | Some(ListedKind::Gateways)) {
            return Err(Failure::words(
                "--markdown",
                "only gateways can be printed as a page",
                "gatebench list gateways --markdown",
            ));
        }
        let folders = self.overlay.catalogue().list()?;
        terminal::say_data(markdown::page(&folders).trim_end())?;
        Ok(Exit::Fine)
    }

    /// The entries of a kind, as lines and as JSON.
    fn section(&self, kind: ListedKind) -> Result<(String, Value), Failure> {
        if kind == ListedKind::Gateways {
            let listed = gateways::all(&self.overlay.catalogue())?;
            let entries = listed.iter().map(gateways::Listed::as_json).collect();
            return Ok((gateways::lines(&listed, self.paths), entries));
        }
        let entries = self.entries(kind)?;
        let values = entries.iter().map(Entry::as_json).collect();
        Ok((self.lines(&entries), values))
    }

    fn entries(&self, kind: ListedKind) -> Result<Vec<Entry>, Failure> {
        let library = self.overlay.scenarios();
        Ok(match kind {
            ListedKind::Gateways => Vec::new(),
            ListedKind::Scenarios => {
                let entry = |one: &Listed<Scenario>| {
                    Entry::new(&one.document.scenario, &one.document.title, &one.source)
                };
                library.scenarios()?.iter().map(entry).collect()
            }
            ListedKind::Suites => library.suites()?.iter().map(suite).collect(),
            ListedKind::Loads => {
                let entry = |one: &Listed<LoadProfile>| {
                    Entry::new(&one.document.profile, &one.document.title, &one.source)
                };
                library.loads()?.iter().map(entry).collect()
            }
            ListedKind::Specifications => {
                let entry = |one: &Listed<Specification>| {
                    let it = &one.document;
                    Entry::new(&it.specification, &it.title, &one.source)
                };
                library.specifications()?.iter().map(entry).collect()
            }
            ListedKind::Published => library.published()?.iter().map(published).collect(),
        })
    }

    /// Prints the entries grouped by folder, each with its title.
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

/// The path after an entry, or nothing if paths are not shown.
fn in_brackets(path: &str, is_shown: bool) -> String {
    match is_shown {
        true => format!("  ({path})"),
        false => String::new(),
    }
}
