//! `gatebench list`.

use clap::{Args, ValueEnum};
use gatebench_drivers::Origin;
use gatebench_lab::Source;
use serde_json::json;

use super::words::{Overlay, launcher};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// Lists what there is: gateways, scenarios, suites, load profiles
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench list gateways\n  gatebench list --paths\n  gatebench list scenarios --json"
)]
pub struct List {
    /// Only this kind
    kind: Option<ListedKind>,
    /// Say where each one comes from
    #[arg(long)]
    paths: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    overlay: Overlay,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListedKind {
    /// Gateway folders, with the version that is installed
    Gateways,
    /// Scenarios
    Scenarios,
    /// Suites
    Suites,
    /// Load profiles
    Loads,
}

/// One line.
struct Entry {
    name: String,
    title: String,
    path: String,
    /// What is installed, or how it is; for gateways alone.
    program: Option<String>,
}

impl Entry {
    fn new(name: &str, title: &str, source: &Source) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            path: source.to_string(),
            program: None,
        }
    }

    fn as_json(&self) -> serde_json::Value {
        json!({ "name": self.name, "title": self.title, "path": self.path, "program": self.program })
    }
}

impl List {
    /// Lists it.
    pub fn run(self) -> Result<Exit, Failure> {
        let kinds = self
            .kind
            .map_or_else(|| ListedKind::value_variants().to_vec(), |kind| vec![kind]);
        let mut document = serde_json::Map::new();
        let mut sections = Vec::new();
        for kind in kinds {
            let entries = self.entries(kind)?;
            let title = kind
                .to_possible_value()
                .map(|word| word.get_name().to_owned())
                .unwrap_or_default();
            sections.push(format!("{title}\n{}", self.lines(&entries)));
            document.insert(title, entries.iter().map(Entry::as_json).collect());
        }
        if self.json {
            terminal::say(&format!("{:#}", serde_json::Value::Object(document)))?;
        } else {
            terminal::say(&sections.join("\n\n"))?;
        }
        Ok(Exit::Fine)
    }

    fn entries(&self, kind: ListedKind) -> Result<Vec<Entry>, Failure> {
        let library = self.overlay.library();
        Ok(match kind {
            ListedKind::Gateways => return self.gateways(),
            ListedKind::Scenarios => {
                let all = library.scenarios()?;
                all.iter()
                    .map(|one| Entry::new(&one.document.scenario, &one.document.title, &one.source))
                    .collect()
            }
            ListedKind::Suites => {
                let all = library.suites()?;
                all.iter()
                    .map(|one| Entry::new(&one.document.suite, &one.document.title, &one.source))
                    .collect()
            }
            ListedKind::Loads => {
                let all = library.loads()?;
                all.iter()
                    .map(|one| Entry::new(&one.document.profile, &one.document.title, &one.source))
                    .collect()
            }
        })
    }

    fn gateways(&self) -> Result<Vec<Entry>, Failure> {
        let launcher = launcher()?;
        let folders = self.overlay.catalogue().list()?;
        Ok(folders
            .iter()
            .map(|folder| Entry {
                name: folder.spec.gateway.clone(),
                title: folder.spec.title.clone(),
                path: match &folder.origin {
                    Origin::Embedded => format!("embedded {}", folder.spec.gateway),
                    Origin::Path(path) => path.display().to_string(),
                },
                program: Some(match folder.find_binary(&launcher) {
                    Ok(found) => found.version,
                    Err(error) => format!("not found: {}", error.remedy()),
                }),
            })
            .collect())
    }

    fn lines(&self, entries: &[Entry]) -> String {
        let widest = entries
            .iter()
            .map(|entry| entry.name.chars().count())
            .max()
            .unwrap_or(0);
        let lines = entries.iter().map(|entry| {
            let program = entry
                .program
                .as_ref()
                .map(|program| format!(", {program}"))
                .unwrap_or_default();
            let path = if self.paths {
                format!("  ({})", entry.path)
            } else {
                String::new()
            };
            format!("  {:<widest$}  {}{program}{path}", entry.name, entry.title)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
