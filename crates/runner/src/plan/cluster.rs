//! Determines the requirements of a run in a cluster before anything starts there.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatebench_model::plan::NULL;
use gatebench_model::{Cluster, Limits, LoadProfile, Placement, Plan, Scenario, Suite, Variant};
use gatebench_testbed::Interrupt;
use gatebench_testbed::gateway::{Catalogue, Folder};
use gatebench_testbed::kubernetes::{Demand, GatewayPod, Pods, run_name};

use super::duration_mode::{Asked, millis};
use super::expand::{Expansion, adapted_suite};
use super::gateway_selection::{ALL, split_version};
use super::library::{Library, Listed};
use super::own_config;
use super::prepare::{manifest_of_missing, select_scenarios};
use super::selection::Selection;
use super::suite::{resolve_path, suite_of};
use crate::error::RunnerError;

/// The time that the pods may exist in addition to twice the expected duration of the run.
const SPARE: Duration = Duration::from_secs(1_800);

/// The requirements of a run in a cluster.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    pub cluster: Cluster,
    title: String,
    gateways: Vec<GatewayPod>,
    is_attached: bool,
    needs_redis: bool,
    may_omit_sizes: bool,
    deadline: Duration,
}

impl ClusterPlan {
    /// Returns the requirements of a selection; `None` if it does not run in a cluster.
    ///
    /// # Errors
    /// A name is unknown, a file contains mistakes, or a gateway has no image.
    pub fn of(
        selection: &Selection,
        library: &Library,
        catalogue: &Catalogue,
    ) -> Result<Option<Self>, RunnerError> {
        let Some(cluster) = selection.cluster.clone() else {
            return Ok(None);
        };
        let (suite, base) = adapted_suite(selection, library)?;
        let sizes = sizes(selection, &suite);
        let mut gateways = gateways(selection, &suite, &base, &sizes, &cluster, catalogue)?;
        let scenarios = select_scenarios(selection, &suite, &base, library)?;
        let is_attached = selection.attach.is_some();
        let setups = selection.cores.len().max(1) * selection.configs.len().max(1);
        let mut measured = gateways.len() * setups + usize::from(is_attached);
        if selection.loads_null(&suite, &scenarios) {
            let folder = catalogue.resolve(NULL)?;
            gateways.push(pod_of(&folder, None, Limits::default(), &cluster)?);
            measured += 1;
        }
        let asked = Asked {
            selection,
            suite: &suite,
            base: &base,
            known: library,
            // A published document may have a separate load for each size. Here, only the duration
            // of the load matters, so the load of the first size is used.
            sizes: &sizes[..sizes.len().min(1)],
        };
        let needs_redis = scenarios.iter().any(|it| it.document.needs_redis());
        // Only the number of variants matters for the duration.
        let variants = (0..measured).map(|number| Variant::gateway(number.to_string(), ""));
        let expansion = Expansion::of(&asked, scenarios)?;
        let plan = expansion.plan(&asked, variants.collect(), Vec::new(), Placement::default());
        Ok(Some(Self {
            title: format!("{}: {}", suite.suite, suite.title),
            is_attached,
            needs_redis,
            may_omit_sizes: selection.sizes.is_empty(),
            deadline: deadline(&plan),
            cluster,
            gateways: without_duplicates(gateways),
        }))
    }

    /// Returns the requirements of the missing trials of the run in this directory; `None` if it
    /// does not run in a cluster.
    ///
    /// # Errors
    /// The run cannot be read, a folder is missing, or a gateway has no image.
    pub fn of_run(dir: &Path, catalogue: &Catalogue) -> Result<Option<Self>, RunnerError> {
        Self::of_plan(&manifest_of_missing(dir)?.plan, catalogue)
    }

    /// Returns the requirements of a plan that is resumed; `None` if it does not run in a cluster.
    ///
    /// # Errors
    /// A folder is missing, or a gateway has no image.
    pub(crate) fn of_plan(plan: &Plan, catalogue: &Catalogue) -> Result<Option<Self>, RunnerError> {
        let Some(cluster) = plan.places.cluster.as_deref() else {
            return Ok(None);
        };
        let mut gateways = Vec::new();
        for variant in &plan.variants {
            if let Variant::Gateway { folder, setup, .. } = variant {
                let folder = own_config::folder(folder, setup, catalogue)?;
                gateways.push(pod_of(
                    &folder,
                    setup.version.as_deref(),
                    setup.limits,
                    cluster,
                )?);
            }
        }
        let is_attached = |it: &Variant| matches!(it, Variant::Attached { .. });
        Ok(Some(Self {
            cluster: cluster.clone(),
            title: format!("{}: {}", plan.suite, plan.title),
            gateways: without_duplicates(gateways),
            is_attached: plan.variants.iter().any(is_attached),
            needs_redis: plan.scenarios.iter().any(Scenario::needs_redis),
            may_omit_sizes: false,
            deadline: deadline(plan),
        }))
    }

    /// Creates the pods of the run, and waits until they run. Signals are not caught until the run
    /// begins, so nothing raises the interrupt that this wait checks.
    ///
    /// # Errors
    /// The cluster's own message, with a remedy.
    pub(crate) fn start(&self) -> Result<Arc<Pods>, RunnerError> {
        let run = run_name();
        Ok(Arc::new(Pods::open(&self.demand(&run), &Interrupt::new())?))
    }

    /// Returns the scenarios of a selection, each with its load.
    ///
    /// # Errors
    /// A name is unknown, or a file contains mistakes.
    pub fn loads(
        selection: &Selection,
        library: &Library,
    ) -> Result<Vec<(Scenario, LoadProfile)>, RunnerError> {
        let (suite, base) = suite_of(selection, library)?;
        let scenarios = select_scenarios(selection, &suite, &base, library)?;
        let asked = Asked {
            selection,
            suite: &suite,
            base: &base,
            known: library,
            sizes: &selection.sizes,
        };
        let loads = asked.loads(&scenarios)?;
        let of = |listed: Listed<Scenario>| {
            let own = loads.of_scenarios.get(&listed.document.scenario);
            let load = own.unwrap_or(&loads.common).clone().expanded();
            (listed.document, load)
        };
        Ok(scenarios.into_iter().map(of).collect())
    }

    /// Returns the objects that the cluster must create for the run with this name.
    pub fn demand<'a>(&'a self, run: &'a str) -> Demand<'a> {
        Demand {
            cluster: &self.cluster,
            run,
            title: &self.title,
            gateways: &self.gateways,
            is_attached: self.is_attached,
            needs_redis: self.needs_redis,
            may_omit_sizes: self.may_omit_sizes,
            deadline_seconds: self.deadline.as_secs(),
        }
    }
}

/// Returns the requested sizes. If none are requested and no gateway is attached, returns the
/// suite's sizes.
fn sizes(selection: &Selection, suite: &Suite) -> Vec<Limits> {
    if !selection.sizes.is_empty() || selection.attach.is_some() {
        return selection.sizes.clone();
    }
    let size = |cpus: &f64| Limits {
        cpu_millis: Some(millis(*cpus)),
        memory_bytes: None,
    };
    suite.cpus.iter().map(size).collect()
}

fn gateways(
    selection: &Selection,
    suite: &Suite,
    base: &Path,
    sizes: &[Limits],
    cluster: &Cluster,
    catalogue: &Catalogue,
) -> Result<Vec<GatewayPod>, RunnerError> {
    let of_suite = suite.gateways.iter();
    let of_suite = of_suite.map(|it| resolve_path(it.word(), base));
    let named = selection.gateways.iter().cloned();
    let words: Vec<String> = match (&selection.attach, selection.gateways.is_empty()) {
        (_, false) => named.collect(),
        (None, true) => of_suite.collect(),
        (Some(_), true) => Vec::new(),
    };
    let plain = [Limits::default()];
    let sizes = if sizes.is_empty() { &plain[..] } else { sizes };
    let mut pods = Vec::new();
    for word in &words {
        if word == ALL {
            return Err(RunnerError::words(
                format!(
                    "a run in a cluster does not support the gateway name '{ALL}', because each gateway needs an image"
                ),
                "name the gateways: --gateway NAME",
            ));
        }
        let (name, version) = split_version(word);
        let folder = catalogue.resolve(name)?;
        for size in sizes {
            pods.push(pod_of(&folder, version, *size, cluster)?);
        }
    }
    Ok(pods)
}

fn pod_of(
    folder: &Folder,
    version: Option<&str>,
    size: Limits,
    cluster: &Cluster,
) -> Result<GatewayPod, RunnerError> {
    Ok(GatewayPod {
        gateway: folder.spec.gateway.clone(),
        version: version.map(str::to_owned),
        image: match version.filter(|it| it.contains(':')) {
            Some(image) => image.to_owned(),
            None => image_of(folder, cluster)?,
        },
        size,
        is_gatebench: folder.is_gatebench(),
    })
}

/// Keeps one pod for a gateway that is measured several times with the same size.
fn without_duplicates(pods: Vec<GatewayPod>) -> Vec<GatewayPod> {
    let mut places = BTreeSet::new();
    let is_new = |pod: &GatewayPod| places.insert(pod.place());
    pods.into_iter().filter(is_new).collect()
}

/// The image of a gateway: the user's choice (except for the null gateway), otherwise that of the
/// folder, otherwise gatebench's own if the gateway is part of gatebench.
fn image_of(folder: &Folder, cluster: &Cluster) -> Result<String, RunnerError> {
    let name = &folder.spec.gateway;
    let chosen = &cluster.gateway.image;
    let own = folder.is_gatebench().then_some(&cluster.engine.image);
    let of_folder = folder.spec.container.as_ref().map(|it| &it.image);
    let chosen = Some(chosen).filter(|it| !it.is_empty() && name != NULL);
    let image = chosen.or(of_folder).or(own).cloned();
    image.ok_or_else(|| {
        RunnerError::words(
            format!("gateway {name} has no image"),
            format!("name one with --image; `gatebench kubernetes image {name} --file {name}.tar` writes one from this machine's installation"),
        )
    })
}

/// Returns the time after which the cluster ends the pods of a run.
fn deadline(plan: &Plan) -> Duration {
    SPARE.saturating_add(plan.expected_duration().saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_document_needs_redis_and_three_sizes() {
        let of = |selection: Selection| {
            let plan = ClusterPlan::of(&selection, &Library::default(), &Catalogue::default());
            let plan = plan.unwrap();
            plan.map(|plan| (plan.gateways.len(), plan.needs_redis, plan.deadline))
        };
        let in_cluster = |word: &str| Selection {
            words: vec![word.into()],
            cluster: Some(Cluster::default()),
            ..Selection::default()
        };
        let (sizes, needs_redis, deadline) = of(in_cluster("gravitee")).unwrap();
        assert_eq!((sizes, needs_redis), (3, true));
        assert!(deadline > SPARE);
        let mut selection = in_cluster("proxy-json");
        selection.gateways = vec!["kong".into(), "reference".into()];
        let (gateways, needs_redis, _) = of(selection).unwrap();
        assert_eq!((gateways, needs_redis), (2, false));
        assert!(of(Selection::default()).is_none());
    }

    #[test]
    fn the_deadline_covers_twice_the_whole_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("swept.yaml");
        let load = "profile: swept\ntitle: Swept\nphases:\n- {name: a, closed: {connections: 1}, \
                    sweep: {connections: [1, 2, 4]}, warm_up: 0s, measure: 1h}\n";
        std::fs::write(&file, load).unwrap();
        let deadline = |selection: Selection| {
            let selection = Selection {
                words: vec!["proxy-json".into()],
                load: Some(file.display().to_string()),
                blocks: Some(5),
                cluster: Some(Cluster::default()),
                ..selection
            };
            let plan = ClusterPlan::of(&selection, &Library::default(), &Catalogue::default());
            plan.unwrap().unwrap().deadline.as_secs() / 3_600
        };
        // The same gateway twice and the direct variant, each with three loads in five blocks.
        let twice = || vec!["reference".to_owned(), "reference".to_owned()];
        let of_twice = deadline(Selection {
            gateways: twice(),
            ..Selection::default()
        });
        assert_eq!(of_twice, 2 * 3 * 3 * 5);
        // Two numbers of cores, without the direct variant.
        let of_cores = deadline(Selection {
            gateways: twice(),
            cores: vec![1, 2],
            no_direct: true,
            ..Selection::default()
        });
        assert_eq!(of_cores, 2 * 4 * 3 * 5);
    }

    #[test]
    fn folders_of_a_suite_are_next_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let kong = concat!(env!("CARGO_MANIFEST_DIR"), "/../../gateways/kong");
        std::os::unix::fs::symlink(kong, folder.path().join("mine")).unwrap();
        let suite = "suite: own\ntitle: Own\ngateways: [./mine]\nscenarios: [proxy-json]\n\
                     load: smoke\nblocks: 1\n";
        let file = folder.path().join("suite.yaml");
        std::fs::write(&file, suite).unwrap();
        let mut selection = Selection {
            words: vec![file.display().to_string()],
            cluster: Some(Cluster::default()),
            ..Selection::default()
        };
        let of = |selection: &Selection| {
            ClusterPlan::of(selection, &Library::default(), &Catalogue::default())
        };
        let plan = of(&selection).unwrap().unwrap();
        assert_eq!(plan.gateways[0].gateway, "kong");
        selection.gateways = vec!["all".into()];
        let error = of(&selection).unwrap_err();
        assert!(error.remedy().contains("name the gateways"), "{error}");
    }

    #[test]
    fn a_gateway_without_an_image_is_refused() {
        let selection = Selection {
            words: vec!["proxy-json".into()],
            gateways: vec!["nginx".into()],
            cluster: Some(Cluster::default()),
            ..Selection::default()
        };
        let plan = ClusterPlan::of(&selection, &Library::default(), &Catalogue::default());
        let error = plan.unwrap_err();
        assert_eq!(error.to_string(), "gateway nginx has no image");
        assert!(error.remedy().contains("gatebench kubernetes image nginx"));
    }
}
