//! Reads the user's own configurations and the files that they include, and adapts them to a trial.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatebench_import::{Files, ImportError, OwnConfig, wire};
use gatebench_model::{Setup, Variant};
use gatebench_report::format::counted;
use gatebench_testbed::gateway::{Catalogue, ConfigText, Folder};

use super::selection::Selection;
use crate::error::RunnerError;
use crate::warning::Warning;

/// The maximum size of an included file, in bytes. Larger files are ignored.
const INCLUDED_BYTES_MAX: u64 = 4 << 20;

impl From<ImportError> for RunnerError {
    fn from(error: ImportError) -> Self {
        let (message, remedy) = (error.to_string(), error.remedy());
        match error {
            ImportError::Mistakes(mistakes) => Self::Mistakes(vec![*mistakes]),
            _ => Self::words(message, remedy),
        }
    }
}

/// Reads a user's configuration and adapts it to a trial. Returns `None` if the configuration is a
/// template or its language is unknown; the file itself then serves as the template.
///
/// # Errors
/// The configuration cannot be read, has mistakes, or has parts that cannot run in a trial.
pub fn own_config(path: &Path) -> Result<Option<OwnConfig>, RunnerError> {
    let text = fs::read_to_string(path).map_err(|error| RunnerError::File {
        path: path.into(),
        message: format!("cannot read the configuration: {error}"),
        remedy: "name a readable UTF-8 text file".into(),
    })?;
    let base = path.parent().unwrap_or(Path::new("")).to_owned();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let files = Files {
        folder: absolute.parent().unwrap_or(Path::new("/")),
        read: &|pattern: &str| included(&base, pattern),
        is_file: &Path::is_file,
    };
    Ok(wire(&path.display().to_string(), &text, &files)?)
}

/// Returns the gateway folder with this name or path. If the user gives a configuration, it
/// replaces the rendered one.
pub(crate) fn folder(
    word: &str,
    setup: &Setup,
    catalogue: &Catalogue,
) -> Result<Folder, RunnerError> {
    let folder = catalogue.resolve(word)?;
    let Some(path) = setup.config.as_deref().map(Path::new) else {
        return Ok(folder);
    };
    Ok(match own_config(path)? {
        None => folder.with_config(path)?,
        Some(own) => folder.with_config_text(ConfigText {
            path,
            text: own.text,
            replaces: own.language.replaces(),
            environment: own.environment,
        })?,
    })
}

pub(crate) fn warnings(variants: &[Variant]) -> Result<Vec<Warning>, RunnerError> {
    let setups = variants.iter().filter_map(Variant::setup);
    let files: BTreeSet<&String> = setups.filter_map(|setup| setup.config.as_ref()).collect();
    let mut warnings = Vec::new();
    for file in files {
        let own = own_config(Path::new(file))?;
        warnings.extend(own.map(|own| Warning::ConfigChanged {
            file: file.clone(),
            lines: counted(own.changes.len() as u64, "line"),
        }));
    }
    Ok(warnings)
}

impl Selection {
    /// Completes a selection that has configurations. The default gateway is the one that reads the
    /// language of the first configuration, and the default scenario follows from the routes of
    /// that configuration.
    ///
    /// # Errors
    /// The first configuration cannot be read or has mistakes, or no gateway is given and the
    /// configuration's language is unknown.
    pub fn completed(mut self) -> Result<Self, RunnerError> {
        let Some(first) = self.configs.first() else {
            return Ok(self);
        };
        let needs_scenario = !self.has_scenarios();
        if !self.gateways.is_empty() && !needs_scenario {
            return Ok(self);
        }
        let own = own_config(Path::new(first))?;
        if self.gateways.is_empty() {
            let Some(own) = &own else {
                return Err(RunnerError::words(
                    format!(
                        "{first} is not recognized as a configuration of nginx, HAProxy, Envoy, Kong or APISIX"
                    ),
                    "name the gateway that reads it: --gateway NAME",
                ));
            };
            self.gateways = vec![own.language.gateway().into()];
        }
        if needs_scenario {
            self.scenario = own.and_then(|own| own.scenario);
        }
        Ok(self)
    }
}

/// Returns the path and the text of each file that matches a pattern relative to a folder.
fn included(base: &Path, pattern: &str) -> io::Result<Vec<(String, String)>> {
    let mut paths = vec![base.to_owned()];
    for component in Path::new(pattern).components() {
        let component = component.as_os_str().to_string_lossy().into_owned();
        paths = match component.contains(['*', '?']) {
            false => paths
                .into_iter()
                .map(|path| path.join(&component))
                .collect(),
            true => paths
                .iter()
                .flat_map(|path| matching(path, &component))
                .collect(),
        };
    }
    let mut files = Vec::new();
    for path in paths {
        let is_small =
            fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= INCLUDED_BYTES_MAX);
        if is_small {
            files.push((path.display().to_string(), fs::read_to_string(&path)?));
        }
    }
    Ok(files)
}

/// Returns the paths in a folder whose names match a pattern, ordered by name. Hidden files never
/// match.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let matches = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        !name.starts_with('.') && is_match(pattern.as_bytes(), name.as_bytes())
    });
    let mut paths: Vec<PathBuf> = matches.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn is_match(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|at| is_match(rest, &name[at..])),
        Some((first, rest)) => name
            .split_first()
            .is_some_and(|(byte, name)| (*first == b'?' || first == byte) && is_match(rest, name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        for name in ["b.conf", "a.conf", ".hidden.conf", "c.txt"] {
            fs::write(folder.path().join("conf.d").join(name), name).unwrap();
        }
        let texts = |pattern: &str| -> Vec<String> {
            let files = included(folder.path(), pattern).unwrap();
            files.into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts("conf.d/*.conf"), ["a.conf", "b.conf"]);
        assert_eq!(texts("conf.d/?.txt"), ["c.txt"]);
        assert!(texts("conf.d/absent").is_empty());
    }
}
