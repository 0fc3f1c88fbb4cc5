//! `gatebench list`.

mod gateways;
mod markdown;

use clap::{Args, ValueEnum};
use gatebench_model::{Published, Suite};
use gatebench_runner::{Listed, Source};
use serde_json::{Value, json};

use super::values::Overlay;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// List gateways, scenarios, suites, loads and published documents
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

/// What can be listed.
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
    /// Published documents, in whose format `gatebench report --as` prints a run
    Published,
}

/// One of a kind.
struct Entry {
    name: String,
    title: String,
    path: String,
}

impl Entry {
    fn new(name: &str, title: &str, source: &Source) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            path: source.to_string(),
        }
    }

    fn as_json(&self) -> Value {
        json!({ "name": self.name, "title": self.title, "path": self.path })
    }
}

/// A suite, and whether it repeats a document.
fn suite(one: &Listed<Suite>) -> Entry {
    let Suite { suite, title, .. } = &one.document;
    match one.document.as_published {
        None => Entry::new(suite, title, &one.source),
        Some(_) => Entry::new(
            suite,
            &format!("{title} (also --as-published)"),
            &one.source,
        ),
    }
}

/// A published document, and where it was published.
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
    /// Lists it.
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

    /// What there is of a kind, as lines and as JSON.
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
                let all = library.scenarios()?;
                all.iter()
                    .map(|one| Entry::new(&one.document.scenario, &one.document.title, &one.source))
                    .collect()
            }
            ListedKind::Suites => {
                let all = library.suites()?;
                all.iter().map(suite).collect()
            }
            ListedKind::Loads => {
                let all = library.loads()?;
                all.iter()
                    .map(|one| Entry::new(&one.document.profile, &one.document.title, &one.source))
                    .collect()
            }
            ListedKind::Published => {
                let all = library.published()?;
                all.iter().map(published).collect()
            }
        })
    }

    fn lines(&self, entries: &[Entry]) -> String {
        let widest = entries
            .iter()
            .map(|entry| entry.name.chars().count())
            .max()
            .unwrap_or(0);
        let lines = entries.iter().map(|entry| {
            let path = if self.paths {
                format!("  ({})", entry.path)
            } else {
                String::new()
            };
            format!("  {:<widest$}  {}{path}", entry.name, entry.title)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
