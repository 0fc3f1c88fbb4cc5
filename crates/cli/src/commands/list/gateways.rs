//! The gateways there are, and which of them this machine has.

use std::collections::BTreeMap;
use std::path::Path;

use console::Style;
use gatebench_model::Blame;
use gatebench_model::gateway::Support;
use gatebench_testbed::{Catalogue, DriverError, Folder, FoundBinary, Origin};
use serde_json::{Value, json};

use crate::commands::values::launcher;
use crate::failure::Failure;
use crate::terminal;

/// A gateway, and its program where this machine has it.
pub struct Listed {
    folder: Folder,
    program: Result<FoundBinary, DriverError>,
}

/// Looks for every gateway.
pub fn all(catalogue: &Catalogue) -> Result<Vec<Listed>, Failure> {
    let launcher = launcher()?;
    let folders = catalogue.list()?;
    Ok(folders
        .into_iter()
        .map(|folder| Listed {
            program: folder.find_binary(&launcher),
            folder,
        })
        .collect())
}

fn is_this_program(path: &Path) -> bool {
    std::env::current_exe().is_ok_and(|own| own == path)
}

/// The gateways, two lines each.
pub fn lines(listed: &[Listed], paths: bool) -> String {
    let widest = listed
        .iter()
        .map(|it| it.folder.spec.gateway.chars().count())
        .max()
        .unwrap_or(0);
    let lines = listed.iter().map(|it| it.lines(widest, paths));
    lines.collect::<Vec<_>>().join("\n")
}

impl Listed {
    fn lines(&self, widest: usize, paths: bool) -> String {
        let style = Style::new().force_styling(terminal::stdout_colors());
        let spec = &self.folder.spec;
        let (mark, state, remedy) = match &self.program {
            Ok(found) => (style.green().apply_to("✓"), found.version.clone(), None),
            Err(error) => {
                let state = match error {
                    DriverError::BinaryMissing { .. } => "not found".into(),
                    other => other.to_string(),
                };
                (style.yellow().apply_to("–"), state, Some(error.remedy()))
            }
        };
        let run = self.proven_in_words();
        let path = if paths {
            format!("  ({})", self.path())
        } else {
            String::new()
        };
        let indent = widest + 6;
        let column = |text: &str| terminal::column(text, terminal::WIDTH, indent);
        let below = |text: &str| format!("\n{:indent$}{}", "", column(text));
        let mut text = format!(
            "  {mark} {:<widest$}  {} {state}{run}{path}",
            spec.gateway, spec.title
        );
        text.push_str(&below(&self.policies_in_words()));
        if let Some(remedy) = remedy {
            text.push_str(&below(&format!("→ {remedy}")));
        }
        text
    }

    fn policies_in_words(&self) -> String {
        let spec = &self.folder.spec;
        let policies = &spec.policies;
        if policies.is_empty() {
            return "proxy only, no policies".into();
        }
        let found = self.program.as_ref().ok();
        let missing = found.map(|found| self.missing(found)).unwrap_or_default();
        let there = policies
            .iter()
            .filter(|(kind, _)| !missing.contains_key(kind.as_str()));
        let words = there.map(|(kind, support)| match support {
            Support::Native => kind.clone(),
            Support::Script => format!("{kind} (script)"),
        });
        let speaks = spec.transport.iter().cloned();
        let lacks = spec.lacks.iter().map(|part| format!("not {part}"));
        let absent = missing.iter();
        let absent = absent.map(|(name, why)| format!("not {name} ({why})"));
        words
            .chain(speaks)
            .chain(lacks)
            .chain(absent)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// What there is to say of the versions that the project has run; nothing where it has run the one that is here.
    fn proven_in_words(&self) -> String {
        let found = self.program.as_ref();
        let unproven = found.is_ok_and(|found| self.folder.unproven(&found.version).is_some());
        match &self.folder.spec.proven_with[..] {
            _ if !self.is_run() => ", not yet run by the project".into(),
            versions if unproven => format!(", proven with {} only", versions.join(", ")),
            _ => String::new(),
        }
    }

    /// Whether the project has run it. The reference gateway is the project's own.
    fn is_run(&self) -> bool {
        let spec = &self.folder.spec;
        let own = self
            .program
            .as_ref()
            .is_ok_and(|found| is_this_program(&found.path));
        !spec.proven_with.is_empty() || own || self.folder.origin != Origin::Embedded
    }

    /// What is missing that policies need beyond the program, and how it is installed.
    fn missing(&self, found: &FoundBinary) -> BTreeMap<&str, String> {
        let extras = self.folder.spec.extras.iter();
        extras
            .filter_map(|(name, extra)| Some((name.as_str(), found.lacks(name, extra)?)))
            .collect()
    }

    fn path(&self) -> String {
        match &self.folder.origin {
            Origin::Embedded => format!("embedded {}", self.folder.spec.gateway),
            Origin::Path(path) => path.display().to_string(),
        }
    }

    /// Everything about it, for machines.
    pub fn as_json(&self) -> Value {
        let spec = &self.folder.spec;
        let found = self.program.as_ref().ok();
        let problem = self.program.as_ref().err();
        json!({
            "name": spec.gateway,
            "title": spec.title,
            "path": self.path(),
            "found": found.is_some(),
            "version": found.map(|found| &found.version),
            "binary": found.map(|found| found.path.display().to_string()),
            "problem": problem.map(ToString::to_string),
            "remedy": problem.map(DriverError::remedy),
            "install": self.folder.install_hint(),
            "policies": spec.policies,
            "extras_missing": found.map(|found| self.missing(found)),
            "lacks": spec.lacks,
            "unused": spec.unused,
            "without": spec.without,
            "transport": spec.transport,
            "proven_with": spec.proven_with,
            "not_yet_run": !self.is_run(),
            "version_proven": found.map(|found| self.folder.unproven(&found.version).is_none()),
            "notes": spec.notes,
        })
    }
}
