//! The gateways of a run: those that were found, are missing, or run already.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use gatebench_model::plan::NULL;
use gatebench_model::{Blame, Elsewhere, Limits, Setup, Variant, label};
use gatebench_testbed::{Catalogue, Folder, FoundBinary, Launcher};

use super::library::is_path;
use super::selection::Attach;
use crate::error::RunnerError;
use crate::testbed::remote::{RemoteHost, RemoteHosts};
use crate::testbed::resolve_gateway::{self, PreparedGateway};
use crate::warning::Warning;

/// The word for every gateway that is found.
const ALL: &str = "all";
/// The label of a gateway that someone else started.
const ATTACHED: &str = "attached";

/// What every gateway of a run is wanted in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Configurations of the user's, one variant for each; none is what the folder renders.
    pub(crate) configs: Vec<String>,
    /// Sizes, one variant for each; none is without limits.
    pub(crate) sizes: Vec<Limits>,
    /// The host that they run on; this machine without.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// Whether each size runs on as many cores as it has CPUs, rounded up.
    pub(crate) cores_follow_size: bool,
    /// Numbers of cores, one variant for each; none is what its size says.
    pub(crate) cores: Vec<usize>,
}

impl Wanted {
    /// Each combination.
    fn setups(&self, version: Option<&str>) -> Vec<Setup> {
        let configs = self.configs.iter().cloned().map(Some);
        let configs: Vec<_> = configs
            .chain(self.configs.is_empty().then_some(None))
            .collect();
        let unlimited = self.sizes.is_empty().then(Limits::default);
        let sizes: Vec<Limits> = self.sizes.iter().copied().chain(unlimited).collect();
        let of_config = |config: Option<String>| {
            sizes.iter().map(move |&limits| Setup {
                version: version.map(str::to_owned),
                config: config.clone(),
                limits,
                cores: limits.whole_cpus().filter(|_| self.cores_follow_size),
                elsewhere: self.elsewhere.clone(),
            })
        };
        let setups: Vec<Setup> = configs.into_iter().flat_map(of_config).collect();
        if self.cores.is_empty() {
            return setups;
        }
        let with_cores = |setup: Setup| {
            self.cores.iter().map(move |&cores| Setup {
                cores: Some(cores),
                ..setup.clone()
            })
        };
        setups.into_iter().flat_map(with_cores).collect()
    }
}

/// Where gateways are looked for.
pub(crate) struct Places<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) launcher: &'a Launcher,
}

/// The variants selected so far.
#[derive(Default)]
pub(crate) struct GatewaySelection {
    pub(crate) variants: Vec<Variant>,
    pub(crate) gateways: BTreeMap<String, PreparedGateway>,
    pub(crate) warnings: Vec<Warning>,
    hosts: RemoteHosts,
    /// By word.
    labels: BTreeMap<String, String>,
}

impl GatewaySelection {
    /// Nothing yet. Gateways of some words have labels that the user gave them; some hosts are connected already.
    pub(crate) fn called(labels: &BTreeMap<String, String>, hosts: RemoteHosts) -> Self {
        let labels = labels.iter();
        Self {
            hosts,
            labels: labels
                .map(|(word, label)| (absolute(word), label.clone()))
                .collect(),
            ..Self::default()
        }
    }

    /// Adds what a word names. What the user did not name may be missing.
    pub(crate) fn add_word(
        &mut self,
        word: &str,
        named: bool,
        wanted: &Wanted,
        places: &Places<'_>,
    ) -> Result<(), RunnerError> {
        if word == ALL {
            for folder in places.catalogue.list()? {
                let word = folder.spec.gateway.clone();
                self.add_folder(&word, &wanted.setups(None), false, places)?;
            }
            return Ok(());
        }
        let (word, version) = split_version(word);
        // The plan is read again from another directory when a run is resumed.
        let word = if is_path(word) {
            absolute(word)
        } else {
            word.to_owned()
        };
        let version = version.map(|version| {
            // An image has a name of its own.
            if is_path(version) && !version.contains(':') {
                absolute(version)
            } else {
                version.to_owned()
            }
        });
        self.add_folder(&word, &wanted.setups(version.as_deref()), named, places)
    }

    /// Adds the null gateway, before the others.
    pub(crate) fn add_null(&mut self, places: &Places<'_>) -> Result<(), RunnerError> {
        self.add_folder(NULL, &[Setup::default()], true, places)?;
        self.variants.rotate_right(1);
        Ok(())
    }

    /// Adds a gateway that someone else started.
    pub(crate) fn add_attached(&mut self, attach: &Attach) {
        let name = self.unique_label(ATTACHED);
        self.variants.push(Variant::Attached {
            name,
            url: attach.url.clone(),
            pid: attach.pid,
        });
    }

    fn add_folder(
        &mut self,
        word: &str,
        setups: &[Setup],
        named: bool,
        places: &Places<'_>,
    ) -> Result<(), RunnerError> {
        for setup in setups {
            let folder = resolve_gateway::folder(word, setup.config.as_deref(), places.catalogue)?;
            let host = self.hosts.of(setup, places.launcher)?;
            match resolve_gateway::binary(&folder, setup, places.launcher, host.as_deref()) {
                Ok(binary) => self.add(word, folder, binary, setup, host)?,
                Err(error) if error.is_missing() && !named => {
                    let (reason, remedy) = (error.to_string(), error.remedy());
                    self.warnings.push(Warning::GatewayMissing {
                        gateway: folder.spec.gateway.clone(),
                        reason,
                        remedy,
                    });
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        word: &str,
        folder: Folder,
        binary: FoundBinary,
        setup: &Setup,
        host: Option<Arc<RemoteHost>>,
    ) -> Result<(), RunnerError> {
        let told = self.labels.get(word).cloned();
        let name = told.unwrap_or_else(|| label(&folder.spec.gateway, setup));
        let name = self.unique_label(&name);
        let unproven = folder.unproven(&binary.version);
        let unproven = unproven.map(|what| Warning::GatewayUnproven {
            gateway: word.to_owned(),
            what,
        });
        // Each once, in however many sizes the gateway is there.
        self.warnings
            .extend(unproven.filter(|it| !self.warnings.contains(it)));
        let (gateway, warning) = resolve_gateway::gateway(&name, folder, binary, setup, host)?;
        self.variants.push(Variant::Gateway {
            name: name.clone(),
            folder: word.to_owned(),
            setup: setup.clone(),
        });
        self.gateways.insert(name, gateway);
        self.warnings.extend(warning);
        Ok(())
    }

    /// The name itself, or with a number: the same gateway twice is how a run measures its own noise.
    fn unique_label(&self, name: &str) -> String {
        let taken = |it: &str| {
            // A label that is read as another one would lose its trials.
            label::is_direct(it) || self.variants.iter().any(|known| known.label() == it)
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|label| !taken(label))
            .unwrap_or_default()
    }

    /// Sees that there is something to measure.
    pub(crate) fn must_not_be_empty(&self) -> Result<(), RunnerError> {
        if !self.variants.is_empty() {
            return Ok(());
        }
        let remedies: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
        Err(RunnerError::environment(
            "no gateway of this suite is installed",
            remedies.join("; "),
        ))
    }
}

/// `nginx@1.22`, or `nginx@/opt/nginx-1.26`: a gateway and which of its programs. A folder may have an
/// `@` in its path.
pub(crate) fn split_version(word: &str) -> (&str, Option<&str>) {
    match word.split_once('@') {
        Some((name, version)) if !is_path(name) && !version.is_empty() => (name, Some(version)),
        _ => (word, None),
    }
}

/// What tells a variant from others of the same gateway: `nginx@1.22-mine-0.5cpu-256mib`, `nginx-2core`.
fn label(gateway: &str, setup: &Setup) -> String {
    let last = |path: &str, name: fn(&Path) -> Option<&OsStr>| {
        let name = name(Path::new(path)).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let mut label = gateway.to_owned();
    if let Some(version) = &setup.version {
        label += &format!("@{}", last(version, Path::file_name).replace(':', "-"));
    }
    if let Some(config) = &setup.config {
        label += &format!("-{}", last(config, Path::file_stem));
    }
    if !setup.limits.is_none() {
        let size = setup.limits.to_string().to_lowercase();
        label += &format!("-{}", size.replace(" and ", "-").replace(' ', ""));
    } else if let Some(cores) = setup.cores {
        label += &format!("-{cores}core");
    }
    label
}

fn absolute(path: &str) -> String {
    Path::new(path)
        .canonicalize()
        .map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_at_sign_asks_for_a_version_or_a_program() {
        assert_eq!(split_version("nginx@1.22"), ("nginx", Some("1.22")));
        assert_eq!(split_version("nginx@/opt/n"), ("nginx", Some("/opt/n")));
        assert_eq!(split_version("./a@b"), ("./a@b", None));
        assert_eq!(split_version("nginx@"), ("nginx@", None));
    }

    #[test]
    fn labels_tell_variants_apart() {
        let wanted = Wanted {
            configs: vec!["/x/mine.conf".into()],
            sizes: vec![Limits {
                cpu_millis: Some(500),
                memory_bytes: Some(256 << 20),
            }],
            elsewhere: None,
            cores_follow_size: true,
            cores: vec![],
        };
        let labels: Vec<String> = wanted
            .setups(Some("1.22"))
            .iter()
            .map(|setup| label("nginx", setup))
            .collect();
        assert_eq!(labels, ["nginx@1.22-mine-0.5cpu-256mib"]);
        assert_eq!(label("nginx", &Setup::default()), "nginx");
        let wanted = Wanted {
            cores: vec![1, 2],
            ..Wanted::default()
        };
        let setups = wanted.setups(None);
        let labels = setups.iter().map(|setup| label("nginx", setup));
        assert_eq!(labels.collect::<Vec<_>>(), ["nginx-1core", "nginx-2core"]);
        assert_eq!(Wanted::default().setups(None), [Setup::default()]);
    }
}
