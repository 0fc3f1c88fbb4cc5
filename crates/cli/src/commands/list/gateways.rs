//! The known gateways, and which of them are installed.

use std::collections::BTreeMap;
use std::path::Path;

use gatebench_model::gateway::{Feature, Support};
use gatebench_model::{Blame, Policy};
use gatebench_testbed::DriverError;
use gatebench_testbed::gateway::{Catalogue, Folder, FoundBinary, Origin};
use serde_json::{Value, json};

use crate::commands::values::launcher;
use crate::failure::Failure;
use crate::terminal;

/// A gateway, with its program if it is installed.
pub struct Listed {
    folder: Folder,
    program: Result<FoundBinary, DriverError>,
}

pub fn all(catalogue: &Catalogue) -> Result<Vec<Listed>, Failure> {
    let launcher = launcher()?;
    let listed = |folder: Folder| Listed {
        program: folder.find_binary(&launcher),
        folder,
    };
    Ok(catalogue.list()?.into_iter().map(listed).collect())
}

fn feature_in_words(word: &str, feature: &Feature) -> String {
    let script = (feature.support() == Support::Script).then(|| "script".to_owned());
    let lacks = feature.without().iter().map(|part| format!("no {part}"));
    let notes = Vec::from_iter(script.into_iter().chain(lacks));
    match notes.is_empty() {
        true => word.to_owned(),
        false => format!("{word} ({})", notes.join(", ")),
    }
}

fn is_this_program(path: &Path) -> bool {
    std::env::current_exe().is_ok_and(|own| own == path)
}

pub fn lines(listed: &[Listed], paths: bool) -> String {
    let widest = terminal::widest(listed.iter().map(|it| &*it.folder.spec.gateway));
    let lines = listed.iter().map(|it| it.lines(widest, paths));
    Vec::from_iter(lines).join("\n")
}

impl Listed {
    /// Returns the gateway's name and version if the gateway is installed.
    pub fn installed(&self) -> Option<(&str, &str)> {
        let found = self.program.as_ref().ok()?;
        Some((&self.folder.spec.gateway, &found.version))
    }

    fn lines(&self, widest: usize, paths: bool) -> String {
        let style = terminal::stdout_style();
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
        let path = super::in_brackets(&self.path(), paths);
        let indent = widest + 6;
        let column = |text: &str| terminal::column(text, terminal::WIDTH, indent);
        let below = |text: &str| format!("\n{:indent$}{}", "", column(text));
        let mut text = format!(
            "  {mark} {:<widest$}  {} {state}{run}{path}",
            spec.gateway, spec.title
        );
        text.push_str(&below(&self.features_in_words()));
        if let Some(remedy) = remedy {
            text.push_str(&below(&format!("→ {remedy}")));
        }
        text
    }

    fn features_in_words(&self) -> String {
        let spec = &self.folder.spec;
        if spec.claimed().next().is_none() {
            return "proxy only, no policies".into();
        }
        let found = self.program.as_ref().ok();
        let missing = found.map(|found| self.missing(found)).unwrap_or_default();
        let words = spec.claimed().map(|(word, feature)| {
            let missing = missing.get(word).map(|why| format!("not {word} ({why})"));
            missing.unwrap_or_else(|| feature_in_words(word, feature))
        });
        Vec::from_iter(words).join(", ")
    }

    fn proven_in_words(&self) -> String {
        let found = self.program.as_ref();
        let unproven = found.is_ok_and(|found| self.folder.unproven(&found.version).is_some());
        match &self.folder.spec.proven()[..] {
            _ if !self.is_run() => ", not yet run by the project".into(),
            versions if unproven => format!(", tested only with {}", versions.join(", ")),
            _ => String::new(),
        }
    }

    /// Reports whether the project has run this gateway. Also returns true for this program itself
    /// and for folders that are not embedded.
    fn is_run(&self) -> bool {
        let spec = &self.folder.spec;
        let program = self.program.as_ref();
        let own = program.is_ok_and(|found| is_this_program(&found.path));
        !spec.proven().is_empty() || own || self.folder.origin != Origin::Embedded
    }

    /// Returns the features that need an extra that cannot be used, each with the reason or, if the
    /// extra is missing, with the command that installs it.
    fn missing(&self, found: &FoundBinary) -> BTreeMap<&str, String> {
        let extras = self.folder.spec.extras().into_iter();
        extras
            .filter_map(|(name, extra)| Some((name, found.lacks(name, extra)?)))
            .collect()
    }

    fn path(&self) -> String {
        match &self.folder.origin {
            Origin::Embedded => format!("embedded {}", self.folder.spec.gateway),
            Origin::Path(path) => path.display().to_string(),
        }
    }

    pub fn as_json(&self) -> Value {
        let spec = &self.folder.spec;
        let found = self.program.as_ref().ok();
        let problem = self.program.as_ref().err();
        let policies = spec.claimed();
        let policies = policies.filter(|(word, _)| Policy::KINDS.contains(word));
        let policies: BTreeMap<&str, Support> = policies
            .map(|(kind, feature)| (kind, feature.support()))
            .collect();
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
            "features": spec.features,
            "policies": policies,
            "extras_missing": found.map(|found| self.missing(found)),
            "proven_with": spec.proven(),
            "not_yet_run": !self.is_run(),
            "version_proven": found.map(|found| self.folder.unproven(&found.version).is_none()),
            "notes": spec.notes,
        })
    }
}
