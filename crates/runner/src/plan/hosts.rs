//! Determines the sizes that gateways can have on this machine or another host, and assigns cores
//! to the parts of a run.

use gatebench_model::{Limits, Placement, Suite, Topology};
use gatebench_testbed::Testbed;
use gatebench_testbed::kubernetes::Pods;
use gatebench_testbed::probe::{allowed_cores, topology};

use super::duration_mode::millis;
use super::selection::Selection;
use crate::error::RunnerError;
use crate::warning::Warning;

pub(crate) struct Hosts<'a> {
    /// Cores that this process may use.
    here: Topology,
    /// The name and the available cores of the other host that the gateways run on.
    there: Option<(String, Vec<usize>)>,
    testbed: &'a Testbed,
}

impl<'a> Hosts<'a> {
    pub(crate) fn of(testbed: &'a Testbed) -> Self {
        let there = testbed.host();
        Self {
            here: topology(&allowed_cores()),
            there: there.map(|host| (host.name().to_owned(), host.cores.clone())),
            testbed,
        }
    }

    /// Returns the requested sizes, or otherwise the available sizes of the suite, with a warning
    /// about the others. A run with an attached gateway has none of the suite's sizes.
    ///
    /// # Errors
    /// The host does not report its limits.
    pub(crate) fn sizes(
        &self,
        selection: &Selection,
        suite: &Suite,
    ) -> Result<(Vec<Limits>, Option<Warning>), RunnerError> {
        if !selection.sizes.is_empty() || selection.attach.is_some() || suite.cpus.is_empty() {
            return Ok((selection.sizes.clone(), None));
        }
        let (mut had, mut missing) = (Vec::new(), Vec::new());
        for cpus in &suite.cpus {
            let limits = Limits {
                cpu_millis: Some(millis(*cpus)),
                memory_bytes: None,
            };
            match self.has(limits)? {
                true => had.push(limits),
                false => missing.push(limits.to_string()),
            }
        }
        if missing.is_empty() {
            return Ok((had, None));
        }
        let no_room = self.testbed.pods().and_then(|pods| pods.no_room());
        let warning = match no_room {
            Some(said) => Warning::SizesWithoutNode {
                sizes: missing,
                said: said.to_owned(),
            },
            None => Warning::SizesMissing {
                sizes: missing,
                cores: self.there.as_ref().map_or(self.here.len(), |it| it.1.len()),
                host: self.there.as_ref().map(|it| it.0.clone()),
            },
        };
        Ok((had, Some(warning)))
    }

    /// Reports whether gateways can have a size. In a cluster, the pods of a size exist only if a
    /// node has room for them.
    fn has(&self, limits: Limits) -> Result<bool, RunnerError> {
        if let Some(pods) = self.testbed.pods() {
            return Ok(pods.have_size(limits));
        }
        let cores = limits.whole_cpus().unwrap_or(1);
        let has_cores = self.placed(Some(cores)).is_ok();
        Ok(has_cores && self.testbed.can_hold(limits)?)
    }

    /// Returns the placement on cores, without the parts that run elsewhere. The gateway gets the
    /// requested number of cores, otherwise the largest of the variants' numbers, otherwise as many
    /// as the largest size can use.
    ///
    /// # Errors
    /// The machine or the host of the gateways has too few cores.
    pub(crate) fn placement(
        &self,
        selection: &Selection,
        sizes: &[Limits],
    ) -> Result<Placement, RunnerError> {
        let largest = sizes.iter().filter_map(Limits::whole_cpus).max();
        let most = selection.cores.iter().copied().max();
        let placed = self.placed(selection.gateway_cores.or(most).or(largest))?;
        Ok(placed.without_those_at(&selection.places))
    }

    fn placed(&self, count: Option<usize>) -> Result<Placement, RunnerError> {
        if let Some(pods) = self.testbed.pods() {
            return self.in_pods(pods, count.unwrap_or(1));
        }
        let (placed, which) = match (&self.there, count) {
            (None, None) => return Ok(Placement::automatic(&self.here)),
            (None, Some(count)) => (
                Placement::with_gateway_cores(&self.here, count),
                "a machine",
            ),
            (Some((host, there)), count) => {
                let count = count.unwrap_or(1);
                let placed = Placement::with_gateway_elsewhere(&self.here, host, there, count);
                (placed, "a host")
            }
        };
        placed.map_err(|error| {
            RunnerError::environment(
                error.to_string(),
                format!("use {which} with more cores, or give the gateway fewer"),
            )
        })
    }
}

impl Hosts<'_> {
    /// Returns the placement in pods. The run creates no pod for an attached gateway.
    fn in_pods(&self, pods: &Pods, count: usize) -> Result<Placement, RunnerError> {
        let Some((name, cores)) = &self.there else {
            let words = format!(
                "{} The attached gateway has its own upstream; the upstream of the run serves only \
                 the trials without a gateway.",
                whereabouts("The load came from pods", pods)
            );
            return Ok(Placement::in_pods(words, Vec::new()));
        };
        let Some(first) = cores.len().checked_sub(count) else {
            return Err(RunnerError::environment(
                format!(
                    "the gateway cannot have {count} cores on {name}: it can have at most {}",
                    cores.len()
                ),
                "choose larger nodes (--gateway-node), or give the gateway fewer cores (--gateway-cores)",
            ));
        };
        Ok(Placement::in_pods(
            whereabouts("Everything ran in pods", pods),
            cores[first..].to_vec(),
        ))
    }
}

/// Names the node of each pod, with its type and zone if they are known.
fn whereabouts(what: &str, pods: &Pods) -> String {
    let words = pods.all().iter().map(|pod| {
        let node = pods.node(pod);
        let further = [
            node.and_then(|it| it.instance_type.as_deref()),
            node.and_then(|it| it.zone.as_deref()),
        ];
        let further = further.into_iter().flatten().map(|it| format!(", {it}"));
        format!(
            "{} on {}{}",
            pod.place,
            pod.node,
            String::from_iter(further)
        )
    });
    format!("{what}: {}.", Vec::from_iter(words).join("; "))
}

#[cfg(test)]
mod tests {
    use gatebench_config::parse;
    use gatebench_model::Places;
    use gatebench_testbed::Launcher;

    use super::*;

    const SUITE: &str = "{suite: s, title: t, gateways: [nginx], scenarios: [proxy-json], load: tour, blocks: 1, \
                         cpus: [1, 4, 16]}";

    fn sizes(hosts: &Hosts<'_>) -> (Vec<String>, Option<Warning>) {
        let suite: Suite = parse("s.yaml", SUITE).unwrap();
        let (had, warning) = hosts.sizes(&Selection::default(), &suite).unwrap();
        (had.iter().map(ToString::to_string).collect(), warning)
    }

    #[test]
    fn sizes_depend_on_the_host_of_the_gateways() {
        let launcher = Launcher::own().unwrap();
        let mut hosts = Hosts {
            here: Topology::flat(&[0, 1]),
            there: None,
            testbed: &Testbed::open(&launcher, None, &Places::default(), None).unwrap(),
        };
        let (had, warning) = sizes(&hosts);
        assert_eq!(had, ["1 CPU"]);
        let text = warning.unwrap().to_string();
        assert!(
            text.starts_with("gateways of 4 CPU and 16 CPU are left out: this machine has 2"),
            "{text}"
        );
        hosts.there = Some(("far".into(), (0..8).collect()));
        let (had, warning) = sizes(&hosts);
        assert_eq!(had, ["1 CPU", "4 CPU"]);
        let text = warning.unwrap().to_string();
        assert!(
            text.starts_with("gateways of 16 CPU are left out: far has 8 cores"),
            "{text}"
        );
        let placement = hosts
            .placement(
                &Selection::default(),
                &[Limits {
                    cpu_millis: Some(4_000),
                    memory_bytes: None,
                }],
            )
            .unwrap();
        assert_eq!(placement.gateway, [4, 5, 6, 7]);
        assert_eq!((placement.engine, placement.upstream), (vec![0], vec![1]));
        let asked = Selection {
            gateway_cores: Some(9),
            ..Selection::default()
        };
        let error = hosts.placement(&asked, &[]).unwrap_err().to_string();
        assert!(
            error.contains("the gateway cannot have 9 cores on far: it can have at most 8"),
            "{error}"
        );
    }
}
