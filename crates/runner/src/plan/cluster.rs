//! The needs of a run in a cluster, known before anything starts there.

use std::time::Duration;

use gatebench_model::{Cluster, Limits, LoadProfile, Scenario, Suite};
use gatebench_testbed::gateway::{Catalogue, Folder};
use gatebench_testbed::kubernetes::{Demand, GatewayPod};

use super::duration_mode::{Asked, millis};
use super::gateway_selection::split_version;
use super::library::{Library, Listed};
use super::prepare::select_scenarios;
use super::selection::Selection;
use super::suite::suite_of;
use crate::error::RunnerError;

/// The pods may exist for this time in addition to twice the expected duration of the run.
const SPARE: Duration = Duration::from_secs(1_800);

/// The needs of a run in a cluster.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    pub cluster: Cluster,
    /// A description of the run.
    title: String,
    gateways: Vec<GatewayPod>,
    is_attached: bool,
    needs_redis: bool,
    deadline: Duration,
}

impl ClusterPlan {
    /// Returns the needs of a selection; none if it does not run in a cluster.
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
        let (suite, base) = suite_of(selection, library)?;
        let sizes = sizes(selection, &suite);
        let gateways = gateways(selection, &suite, &sizes, &cluster.gateway.image, catalogue)?;
        let scenarios = select_scenarios(selection, &suite, &base, library)?;
        let asked = Asked {
            selection,
            suite: &suite,
            base: &base,
            known: library,
            // Several sizes have no common published load, but a similar duration.
            sizes: &sizes[..sizes.len().min(1)],
        };
        let loads = asked.loads(&scenarios)?;
        let trial: Duration = loads
            .common
            .phases
            .iter()
            .map(|it| it.warm_up.0 + it.measure.0)
            .sum();
        let variants = u32::try_from(gateways.len() + 1).unwrap_or(u32::MAX);
        let trials = variants.saturating_mul(u32::try_from(scenarios.len()).unwrap_or(u32::MAX));
        let run = trial.saturating_mul(trials).saturating_mul(loads.blocks);
        Ok(Some(Self {
            title: format!("{}: {}", suite.suite, suite.title),
            is_attached: selection.attach.is_some(),
            needs_redis: needs_redis(&scenarios),
            deadline: SPARE.saturating_add(run.saturating_mul(2)),
            cluster,
            gateways,
        }))
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

    /// The objects of the run with this name.
    pub fn demand<'a>(&'a self, run: &'a str) -> Demand<'a> {
        Demand {
            cluster: &self.cluster,
            run,
            title: &self.title,
            gateways: &self.gateways,
            is_attached: self.is_attached,
            needs_redis: self.needs_redis,
            deadline_seconds: self.deadline.as_secs(),
        }
    }
}

/// Returns the requested sizes, or those of the suite.
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

/// Returns a pod for each gateway and size. `image` is the user's choice for all; empty if there is
/// none.
fn gateways(
    selection: &Selection,
    suite: &Suite,
    sizes: &[Limits],
    image: &str,
    catalogue: &Catalogue,
) -> Result<Vec<GatewayPod>, RunnerError> {
    let of_suite = suite.gateways.iter().map(|it| it.word());
    let named = selection.gateways.iter().map(String::as_str);
    let words: Vec<&str> = match (&selection.attach, selection.gateways.is_empty()) {
        (_, false) => named.collect(),
        (None, true) => of_suite.collect(),
        (Some(_), true) => Vec::new(),
    };
    let plain = [Limits::default()];
    let sizes = if sizes.is_empty() { &plain[..] } else { sizes };
    let mut pods = Vec::new();
    for word in words {
        let (name, version) = split_version(word);
        let folder = catalogue.resolve(name)?;
        let image = match version.filter(|it| it.contains(':')) {
            Some(image) => image.to_owned(),
            None => image_of(&folder, image, selection)?,
        };
        let gateway = &folder.spec.gateway;
        pods.extend(sizes.iter().map(|size| GatewayPod {
            gateway: gateway.clone(),
            image: image.clone(),
            size: *size,
        }));
    }
    Ok(pods)
}

fn image_of(folder: &Folder, chosen: &str, selection: &Selection) -> Result<String, RunnerError> {
    let name = &folder.spec.gateway;
    if !chosen.is_empty() {
        return Ok(chosen.to_owned());
    }
    if let Some(container) = &folder.spec.container {
        return Ok(container.image.clone());
    }
    let cluster = selection.cluster.as_ref().filter(|_| folder.is_gatebench());
    cluster.map(|it| it.engine.image.clone()).ok_or_else(|| {
        RunnerError::words(
            format!("gateway {name} has no image"),
            format!("name one with --image; `gatebench kubernetes image {name} --file {name}.tar` writes one from this machine's installation"),
        )
    })
}

fn needs_redis(scenarios: &[Listed<Scenario>]) -> bool {
    scenarios.iter().any(|it| it.document.needs_redis())
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
