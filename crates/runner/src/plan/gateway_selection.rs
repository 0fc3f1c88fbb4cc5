//! Selects the gateways of a run, which may be found, missing or already running.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use gatebench_model::plan::NULL;
use gatebench_model::{Blame, Elsewhere, Limits, Setup, Variant, label};
use gatebench_testbed::Testbed;
use gatebench_testbed::gateway::{Catalogue, FoundGateway, Limiter, NO_GROUPS};

use super::library::is_path;
use super::own_config;
use super::selection::Attach;
use crate::error::RunnerError;
use crate::warning::Warning;

/// The argument that selects all gateways that are found.
pub(super) const ALL: &str = "all";
/// The label of a gateway that someone else started.
const ATTACHED: &str = "attached";

/// The variants of each gateway: one for each combination of configuration, size and number of
/// cores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// The user's configurations; empty for the rendered one.
    pub(crate) configs: Vec<String>,
    /// Empty for no limits.
    pub(crate) sizes: Vec<Limits>,
    /// The host that the gateways run on; `None` for this machine.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// True if a gateway of each size runs on as many cores as the size has CPUs, rounded up.
    pub(crate) cores_follow_size: bool,
    /// The numbers of cores; empty if the size or the placement determines the number.
    pub(crate) cores: Vec<usize>,
}

impl Wanted {
    fn setups(&self, version: Option<&str>) -> Vec<Setup> {
        let mut setups = Vec::new();
        for config in each_or_none(&self.configs) {
            for limits in each_or_none(&self.sizes) {
                let limits = limits.unwrap_or_default();
                let of_size = limits.whole_cpus().filter(|_| self.cores_follow_size);
                setups.extend(each_or_none(&self.cores).map(|cores| Setup {
                    version: version.map(str::to_owned),
                    config: config.clone(),
                    limits,
                    cores: cores.or(of_size),
                    elsewhere: self.elsewhere.clone(),
                }));
            }
        }
        setups
    }
}

/// Returns each value, or a single `None` if there are no values.
fn each_or_none<T: Clone>(values: &[T]) -> impl Iterator<Item = Option<T>> {
    let none = values.is_empty().then_some(None);
    values.iter().cloned().map(Some).chain(none)
}

pub(crate) struct Places<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) testbed: &'a Testbed,
}

#[derive(Default)]
pub(crate) struct GatewaySelection {
    pub(crate) variants: Vec<Variant>,
    pub(crate) gateways: BTreeMap<String, FoundGateway>,
    pub(crate) warnings: Vec<Warning>,
    /// Labels, by argument.
    labels: BTreeMap<String, String>,
}

impl GatewaySelection {
    pub(crate) fn called(labels: &BTreeMap<String, String>) -> Self {
        let labels = labels.iter();
        let labels = labels.map(|(word, label)| (absolute(word), label.clone()));
        Self {
            labels: labels.collect(),
            ..Self::default()
        }
    }

    /// Adds the gateways that an argument names. A gateway that the user did not name may be
    /// missing.
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
        // Paths are made absolute, because the run may be resumed from another directory.
        let kept = |word: &str, is_path: bool| match is_path {
            true => absolute(word),
            false => word.to_owned(),
        };
        let word = kept(word, is_path(word));
        // A version with a colon is a reference to an image, not a path.
        let version = version.map(|it| kept(it, is_path(it) && !it.contains(':')));
        self.add_folder(&word, &wanted.setups(version.as_deref()), named, places)
    }

    /// Adds the null gateway, before the others.
    pub(crate) fn add_null(
        &mut self,
        elsewhere: Option<&Elsewhere>,
        places: &Places<'_>,
    ) -> Result<(), RunnerError> {
        let setup = Setup {
            elsewhere: elsewhere.cloned(),
            ..Setup::default()
        };
        self.add_folder(NULL, &[setup], true, places)?;
        self.variants.rotate_right(1);
        Ok(())
    }

    pub(crate) fn add_attached(&mut self, attach: &Attach) {
        let name = self.unique_label(ATTACHED);
        self.variants.push(Variant::Attached {
            name,
            url: attach.url.clone(),
            pid: attach.pid,
            pod: attach.pod.clone(),
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
            let folder = own_config::folder(word, setup, places.catalogue)?;
            let gateway = folder.spec.gateway.clone();
            match places.testbed.find(folder, setup) {
                Ok(found) => self.add(word, found, setup),
                Err(error) if error.is_missing() && !named => {
                    self.warnings.push(Warning::GatewayMissing {
                        gateway,
                        reason: error.to_string(),
                        remedy: error.remedy(),
                    });
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn add(&mut self, word: &str, gateway: FoundGateway, setup: &Setup) {
        let versioned = setup.version.as_ref().map(|it| format!("{word}@{it}"));
        let argument = versioned.as_deref().unwrap_or(word);
        let given = self.labels.get(argument).cloned();
        let name = given.unwrap_or_else(|| label(&gateway.folder.spec.gateway, setup));
        let name = self.unique_label(&name);
        let unproven = gateway.folder.unproven(&gateway.binary.version);
        let unproven = unproven.map(|what| Warning::GatewayUnproven {
            gateway: word.to_owned(),
            what,
        });
        // This warning appears once per gateway, even if there are several sizes.
        let unproven = unproven.filter(|it| !self.warnings.contains(it));
        let limited = limited_by_cores(&name, &gateway, setup);
        self.warnings.extend(unproven.into_iter().chain(limited));
        self.variants.push(Variant::Gateway {
            name: name.clone(),
            folder: word.to_owned(),
            setup: setup.clone(),
        });
        self.gateways.insert(name, gateway);
    }

    /// Returns the name, with a number appended if it is taken. A run may contain the same gateway
    /// twice, to measure the differences that are due to noise.
    fn unique_label(&self, name: &str) -> String {
        let taken = |it: &str| {
            // A trial refers to its variant by label, so no two variants may share a label, and no
            // gateway may have a label that is reserved for the direct variant.
            label::is_direct(it) || self.variants.iter().any(|known| known.label() == it)
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|label| !taken(label))
            .unwrap_or_default()
    }

    pub(crate) fn must_not_be_empty(&self) -> Result<(), RunnerError> {
        if !self.variants.is_empty() {
            return Ok(());
        }
        let remedies: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
        Err(RunnerError::environment(
            "no gateway of this suite can be measured",
            remedies.join("; "),
        ))
    }
}

/// Returns a warning if the gateway's limits are enforced by its number of cores, not by a control
/// group.
pub(crate) fn limited_by_cores(
    label: &str,
    gateway: &FoundGateway,
    setup: &Setup,
) -> Option<Warning> {
    let Limiter::Cores(why) = &gateway.limiter else {
        return None;
    };
    Some(Warning::LimitsByCores {
        gateway: label.into(),
        limits: setup.limits.to_string(),
        why: why.clone(),
        remedy: NO_GROUPS,
    })
}

/// Splits `nginx@1.22` or `nginx@/opt/nginx-1.26` into a gateway and one of its programs. The path
/// of a folder is not split, because it may contain an `@`.
pub(crate) fn split_version(word: &str) -> (&str, Option<&str>) {
    match word.split_once('@') {
        Some((name, version)) if !is_path(name) && !version.is_empty() => (name, Some(version)),
        _ => (word, None),
    }
}

/// Returns the default label of a variant, such as `nginx@1.22-mine-0.5cpu-256mib` or
/// `nginx-2core`.
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
    fn an_at_sign_separates_a_version_or_a_program() {
        assert_eq!(split_version("nginx@1.22"), ("nginx", Some("1.22")));
        assert_eq!(split_version("nginx@/opt/n"), ("nginx", Some("/opt/n")));
        assert_eq!(split_version("./a@b"), ("./a@b", None));
        assert_eq!(split_version("nginx@"), ("nginx@", None));
    }

    #[test]
    fn labels_distinguish_variants() {
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
