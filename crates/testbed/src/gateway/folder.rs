//! A gateway folder: its `gateway.yaml` and its templates, embedded or from a path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use gatebench_model::gateway::Extra;
use gatebench_model::{GatewayFolder, Policy, Scenario};
use serde::{Deserialize, Serialize};

use crate::error::{DriverError, Unsupported};

/// The file that makes a folder a gateway folder.
pub(crate) const SPEC_FILE: &str = "gateway.yaml";

/// The name of a program that stands for gatebench itself.
pub(crate) const OWN_NAME: &str = "gatebench";

/// Where a folder came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// This program carries it.
    Embedded,
    /// A folder of the file system.
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

/// A gateway as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Folder {
    /// What `gateway.yaml` says.
    pub spec: GatewayFolder,
    /// Where it came from.
    pub origin: Origin,
    root: PathBuf,
    spec_text: String,
    templates: BTreeMap<String, String>,
    config: Option<OwnConfig>,
}

/// A configuration of the user's in a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OwnConfig {
    /// The template that it stands for.
    pub template: String,
    /// Where it is.
    pub path: PathBuf,
}

impl Folder {
    /// Assembles a folder. `root` is what its files are called by, and `read` gives the text of one.
    pub(crate) fn load(
        origin: Origin,
        root: PathBuf,
        read: impl Fn(&str) -> Result<String, DriverError>,
    ) -> Result<Self, DriverError> {
        let name = root.join(SPEC_FILE).display().to_string();
        let spec_text = read(SPEC_FILE)?;
        let spec: GatewayFolder = gatebench_config::parse(&name, &spec_text)
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
        let names: BTreeSet<String> = files.chain(&spec.parts).chain(project).cloned().collect();
        for name in names {
            let text = read(&name)?;
            folder.templates.insert(name, text);
        }
        Ok(folder)
    }

    /// Whether its folder claims all that a scenario needs, be the extras of that there or not.
    ///
    /// # Errors
    /// What it does not claim.
    pub fn claims(&self, scenario: &Scenario) -> Result<(), Unsupported> {
        self.has_all(scenario, |_, _| None)
    }

    /// Reports whether the gateway has all that a scenario needs; `why_not` says why an extra
    /// cannot be used.
    ///
    /// # Errors
    /// What it lacks.
    pub(crate) fn has_all(
        &self,
        scenario: &Scenario,
        why_not: impl Fn(&str, &Extra) -> Option<String>,
    ) -> Result<(), Unsupported> {
        let wanted = || scenario.all_routes().flat_map(|route| &route.policies);
        let extras: BTreeSet<&str> = wanted().filter_map(Policy::extra).collect();
        let kinds: BTreeSet<&str> = wanted().map(Policy::kind).collect();
        let has_extra = |kind: &&str| self.spec.has(kind) && self.spec.extras.contains_key(*kind);
        let needs = scenario.needs().into_iter();
        let lacking = needs.filter(|need| !self.spec.has(need));
        let mut policies: Vec<String> = lacking.map(str::to_owned).collect();
        let extras = extras
            .into_iter()
            .chain(kinds.into_iter().filter(has_extra));
        policies.extend(extras.filter_map(|extra| self.lacks(extra, &why_not)));
        if policies.is_empty() || self.config.is_some() {
            Ok(())
        } else {
            Err(Unsupported {
                gateway: self.spec.gateway.clone(),
                policies,
            })
        }
    }

    /// The text of an error for an unusable extra.
    fn lacks(
        &self,
        name: &str,
        why_not: impl Fn(&str, &Extra) -> Option<String>,
    ) -> Option<String> {
        let Some(extra) = self.spec.extras.get(name) else {
            return Some(name.to_owned());
        };
        why_not(name, extra).map(|why| format!("{name} ({why})"))
    }

    /// What a reader must know of a version with which nobody of the project has run the folder; none where somebody
    /// has, and of folders of the user's own that do not say with which they were proven.
    pub fn unproven(&self, version: &str) -> Option<String> {
        let (name, proven) = (&self.spec.gateway, &self.spec.proven_with);
        let own = self.spec.binary.names.iter().any(|it| it == OWN_NAME);
        // What a distribution adds behind it (`2.6.12-1+deb12u4`) names its package.
        let is_of = |it: &String| {
            let rest = version.strip_prefix(it.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '+', '~']))
        };
        if own || proven.iter().any(is_of) {
            return None;
        }
        if !proven.is_empty() {
            let proven = proven.join(", ");
            return Some(format!(
                "the folder of {name} was proven with {proven}, and not with {version}"
            ));
        }
        let written = "was written from its documentation, and nobody of the project has run it";
        (self.origin == Origin::Embedded).then(|| format!("the folder of {name} {written}"))
    }

    /// The folder with a configuration of the user's in place of the file of that name, or else of the
    /// first one that it renders. It is a template like those of the folder.
    ///
    /// # Errors
    /// [`DriverError::BadConfig`] where the file cannot be read or the folder renders none.
    pub fn with_config(mut self, path: &Path) -> Result<Self, DriverError> {
        let bad = |message: String, remedy: &str| DriverError::BadConfig {
            path: path.into(),
            message,
            remedy: remedy.into(),
        };
        let text = fs::read_to_string(path).map_err(|error| {
            let remedy = "name a readable file of UTF-8 text";
            bad(format!("cannot read the configuration: {error}"), remedy)
        })?;
        let files = &self.spec.files;
        let named = files
            .iter()
            .find(|file| Path::new(&file.to).file_name() == path.file_name());
        let Some(file) = named.or(files.first()) else {
            let message = format!("{} is started without a configuration", self.spec.gateway);
            return Err(bad(message, "omit --config"));
        };
        let template = file.template.clone();
        self.templates.insert(template.clone(), text);
        self.config = Some(OwnConfig {
            template,
            path: path.into(),
        });
        Ok(self)
    }

    /// Where the user's own configuration is, if it has one.
    pub fn own_config(&self) -> Option<&Path> {
        self.config.as_ref().map(|config| config.path.as_path())
    }

    /// The user's own configuration.
    pub(crate) fn config(&self) -> Option<&OwnConfig> {
        self.config.as_ref()
    }

    /// Whether a package registry carries it, so that `gatebench install` can install it.
    pub fn can_be_installed(&self) -> bool {
        let install = &self.spec.install;
        !install.apt.is_empty() || install.pypi.is_some() || install.maven.is_some()
    }

    /// How it is installed, as a sentence without its end.
    pub fn install_hint(&self) -> String {
        let (name, install) = (&self.spec.gateway, &self.spec.install);
        let apt =
            (!install.apt.is_empty()).then(|| format!("apt-get install {}", install.apt.join(" ")));
        if install.pypi.is_some() || install.maven.is_some() {
            return format!("gatebench install {name}");
        }
        match (apt, &install.other) {
            (Some(apt), None) => format!("gatebench install {name}, or install it yourself: {apt}"),
            (Some(apt), Some(other)) => {
                format!("gatebench install {name}, or install it yourself: {apt}; or {other}")
            }
            (None, Some(other)) => other.clone(),
            (None, None) => format!("install {name} and put it on PATH"),
        }
    }

    /// Every file of the folder that a run depends on, with its text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let templates = self.templates.iter();
        std::iter::once((SPEC_FILE, self.spec_text.as_str()))
            .chain(templates.map(|(file, text)| (file.as_str(), text.as_str())))
    }

    /// What templates extend, include or import, by name.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = |name: &String| self.templates.get_key_value(name);
        let parts = self.spec.parts.iter().filter_map(named);
        parts.map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The text of a template.
    pub(crate) fn template(&self, name: &str) -> Result<&str, DriverError> {
        self.templates
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| DriverError::BadFolder {
                path: self.file_path(Path::new(name)),
                line: None,
                message: "there is no such template".into(),
                remedy: "correct `files` in gateway.yaml".into(),
            })
    }

    /// A file of the folder as a user would name it.
    pub(crate) fn file_path(&self, file: &Path) -> PathBuf {
        match &self.config {
            Some(config) if file == Path::new(&config.template) => config.path.clone(),
            _ => self.root.join(file),
        }
    }
}
