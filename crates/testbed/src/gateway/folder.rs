//! A gateway folder: `gateway.yaml` and its templates, embedded in the program or read from a path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatebench_model::gateway::Extra;
use gatebench_model::{GatewayFolder, Policy, Scenario};
use serde::{Deserialize, Serialize};

use crate::error::{DriverError, Unsupported};

/// The file that makes a folder a gateway folder.
pub(crate) const SPEC_FILE: &str = "gateway.yaml";

/// The name in `binary.names` that refers to gatebench itself.
pub(crate) const OWN_NAME: &str = "gatebench";

/// The source of a gateway folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The folder is embedded in this program.
    Embedded,
    Path(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A loaded gateway folder: `gateway.yaml` and the files that it names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Folder {
    pub spec: GatewayFolder,
    pub origin: Origin,
    root: PathBuf,
    spec_text: String,
    templates: BTreeMap<String, String>,
    pub(super) config: Option<OwnConfig>,
}

/// A user's configuration that replaces a template of a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OwnConfig {
    pub template: String,
    pub path: PathBuf,
}

/// A user's configuration, turned into a template.
#[derive(Clone, Debug)]
pub struct ConfigText<'c> {
    pub path: &'c Path,
    pub text: String,
    /// The name of the rendered file that the configuration replaces. If no file has this name, the
    /// configuration replaces the first file.
    pub replaces: &'c str,
    /// Additional environment variables of the gateway.
    pub environment: BTreeMap<String, String>,
}

impl Folder {
    pub fn is_gatebench(&self) -> bool {
        self.spec.binary.names.iter().any(|name| name == OWN_NAME)
    }

    /// Assembles a folder. `read` returns the text of a file, given its path relative to the
    /// folder. `root` is the folder's path, which for an embedded folder is only shown in messages.
    pub(crate) fn load(
        origin: Origin,
        root: PathBuf,
        read: impl Fn(&str) -> Result<String, DriverError>,
    ) -> Result<Self, DriverError> {
        let name = root.join(SPEC_FILE).display().to_string();
        let spec_text = read(SPEC_FILE)?;
        let read_bytes = |path: &Path| {
            let text = read(&path.display().to_string()).map_err(io::Error::other)?;
            Ok(text.into_bytes())
        };
        let spec: GatewayFolder =
            gatebench_config::parse_with_files(&name, &spec_text, &read_bytes)
                .map_err(|mistakes| DriverError::Mistakes(Box::new(mistakes)))?;
        let mut folder = Self {
            spec,
            origin,
            root,
            spec_text,
            templates: BTreeMap::new(),
            config: None,
        };
        let spec = &folder.spec;
        let project = spec.install.maven.iter().flat_map(|maven| &maven.files);
        let files = spec.files.iter().map(|file| &file.template);
        let base = spec.extends.as_ref().map(|name| format!("../{name}"));
        let base_spec = base.iter().map(|base| format!("{base}/{SPEC_FILE}"));
        let names: BTreeSet<String> = files
            .chain(&spec.parts)
            .chain(project)
            .cloned()
            .chain(base_spec)
            .collect();
        for name in names {
            let in_base = |base: &String| read(&format!("{base}/{name}")).ok();
            let text = read(&name).or_else(|own| base.as_ref().and_then(in_base).ok_or(own))?;
            folder.templates.insert(name, text);
        }
        Ok(folder)
    }

    /// Checks that, according to the folder, the gateway supports everything that a scenario needs.
    /// The required extras may be missing.
    ///
    /// # Errors
    /// [`Unsupported`] lists the features that the gateway does not support.
    pub fn claims(&self, scenario: &Scenario) -> Result<(), Unsupported> {
        self.has_all(scenario, |_, _| None)
    }

    /// Checks that the gateway has everything that a scenario needs; `why_not` returns the reason
    /// why an extra cannot be used. A folder with a user's configuration always passes.
    ///
    /// # Errors
    /// [`Unsupported`] lists the features that the gateway lacks.
    pub(crate) fn has_all(
        &self,
        scenario: &Scenario,
        why_not: impl Fn(&str, &Extra) -> Option<String>,
    ) -> Result<(), Unsupported> {
        let policies = scenario.all_routes().flat_map(|route| &route.policies);
        let needs = scenario.needs().into_iter();
        let needs: BTreeSet<&str> = needs.chain(policies.filter_map(Policy::extra)).collect();
        let extras = self.spec.extras();
        let lacking = |need: &str| match extras.get(need) {
            _ if !self.spec.has(need) => Some(need.to_owned()),
            Some(extra) => why_not(need, extra).map(|why| format!("{need} ({why})")),
            None => None,
        };
        let mut policies: Vec<String> = needs.into_iter().filter_map(lacking).collect();
        policies.extend(scenario.not_understood.iter().cloned());
        if policies.is_empty() || self.config.is_some() {
            Ok(())
        } else {
            Err(Unsupported {
                gateway: self.spec.gateway.clone(),
                policies,
            })
        }
    }

    /// Returns a warning if the folder was not tested with this version. There is no warning for a
    /// gateway that is part of gatebench, or for a user's folder that names no tested versions.
    pub fn unproven(&self, version: &str) -> Option<String> {
        let (name, proven) = (&self.spec.gateway, self.spec.proven());
        let own = self.spec.binary.names.iter().any(|it| it == OWN_NAME);
        // The suffix of a distribution's package (as in `2.6.12-1+deb12u4`) is not part of the
        // gateway's version.
        let is_of = |it: &&str| {
            let rest = version.strip_prefix(it);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '+', '~']))
        };
        if own || proven.iter().any(is_of) {
            return None;
        }
        if !proven.is_empty() {
            let proven = proven.join(", ");
            return Some(format!(
                "the gateway folder {name} was tested with {name} {proven}, not with {version}"
            ));
        }
        let written =
            "was written from the gateway's documentation, and the project has never tested it";
        (self.origin == Origin::Embedded).then(|| format!("the gateway folder {name} {written}"))
    }

    /// Returns the folder with a user's configuration in place of the file of the same name, or of
    /// the first file if none has this name. The configuration is a template like those of the
    /// folder.
    ///
    /// # Errors
    /// [`DriverError::BadFile`] if the file cannot be read, or if `files` in `gateway.yaml` is
    /// empty.
    pub fn with_config(self, path: &Path) -> Result<Self, DriverError> {
        let text = fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot read the configuration: {error}");
            DriverError::bad_file(path, message, "name a readable UTF-8 text file")
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let config = ConfigText {
            path,
            text,
            replaces: &name,
            environment: BTreeMap::new(),
        };
        self.with_config_text(config)
    }

    /// Like [`Folder::with_config`], with a template that was derived from the user's file.
    ///
    /// # Errors
    /// [`DriverError::BadFile`] if `files` in `gateway.yaml` is empty.
    pub fn with_config_text(mut self, config: ConfigText<'_>) -> Result<Self, DriverError> {
        let path = config.path;
        let files = &self.spec.files;
        let named = files
            .iter()
            .find(|file| Path::new(file.to()).file_name() == Some(config.replaces.as_ref()));
        let file = named.or(files.first());
        let file = file.ok_or_else(|| {
            let message = format!("{} is started without a configuration", self.spec.gateway);
            DriverError::bad_file(path, message, "omit --config")
        })?;
        let template = file.template.clone();
        self.templates.insert(template.clone(), config.text);
        self.spec.environment.extend(config.environment);
        self.config = Some(OwnConfig {
            template,
            path: path.into(),
        });
        Ok(self)
    }

    pub fn own_config(&self) -> Option<&Path> {
        self.config.as_ref().map(|config| config.path.as_path())
    }

    /// Returns the path of the rendered file that is the user's configuration, if there is one.
    pub(super) fn own_file(&self) -> Option<PathBuf> {
        let template = &self.config.as_ref()?.template;
        let mut files = self.spec.files.iter();
        let file = files.find(|file| file.template == *template)?;
        Some(PathBuf::from(file.to()))
    }

    /// Reports whether `gatebench install` can install the gateway with apt, from PyPI or with
    /// Maven.
    pub fn can_be_installed(&self) -> bool {
        let install = &self.spec.install;
        !install.apt.is_empty() || install.pypi.is_some() || install.maven.is_some()
    }

    /// Describes how to install the gateway, as the text of a remedy.
    pub fn install_hint(&self) -> String {
        let install = &self.spec.install;
        // `gatebench install` finds the user's folders by their path.
        let name = match &self.origin {
            Origin::Embedded => self.spec.gateway.clone(),
            Origin::Path(path) => path.display().to_string(),
        };
        let program = &self.spec.gateway;
        if install.pypi.is_some() || install.maven.is_some() {
            return format!("gatebench install {name}");
        }
        let other = install.other.as_ref();
        if install.apt.is_empty() {
            let on_path = || format!("install {program} and put it on PATH");
            let other = other.cloned().unwrap_or_else(on_path);
            return match install.vendor {
                Some(_) => {
                    format!("gatebench install {name} prints its vendor's steps; or {other}")
                }
                None => other,
            };
        }
        let packages = install.apt.join(" ");
        let other = other.map_or(String::new(), |other| format!("; or {other}"));
        format!(
            "gatebench install {name}, or install it yourself: apt-get install {packages}{other}"
        )
    }

    /// Returns the names and contents of `gateway.yaml` and of the files that it names.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let templates = self.templates.iter();
        std::iter::once((SPEC_FILE, self.spec_text.as_str()))
            .chain(templates.map(|(file, text)| (file.as_str(), text.as_str())))
    }

    /// Returns the names and contents of the templates that other templates extend, include or
    /// import.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = |name: &String| self.templates.get_key_value(name);
        let parts = self.spec.parts.iter().filter_map(named);
        parts.map(|(name, text)| (name.as_str(), text.as_str()))
    }

    pub(crate) fn template(&self, name: &str) -> Result<&str, DriverError> {
        let text = self.templates.get(name).map(String::as_str);
        text.ok_or_else(|| {
            let path = self.file_path(Path::new(name));
            let remedy = "correct `files` in gateway.yaml";
            DriverError::bad_file(path, "there is no such template", remedy)
        })
    }

    /// Returns the path of one of the folder's files, or of the user's configuration if it replaces
    /// that file.
    pub(crate) fn file_path(&self, file: &Path) -> PathBuf {
        match &self.config {
            Some(config) if file == Path::new(&config.template) => config.path.clone(),
            _ => self.root.join(file),
        }
    }
}
