//! The workload of a trial: the groups of its scenario for its variant, and the data for their
//! requests.

use std::path::PathBuf;
use std::sync::Arc;

use gatebench_engine::{DataError, DataSet, Group as EngineGroup, Target, sample};
use gatebench_model::group::{Group, TooFewConnections, divide};
use gatebench_model::load::{CONFIGURE, FailingPart, WEIGHTS};
use gatebench_model::{Phase, Request, Scenario, Shape, Variant};

use crate::error::RunnerError;

#[derive(Clone, Debug)]
pub(crate) struct Workload {
    /// The groups, at least one. For the direct variant and the null gateway, which strip no
    /// prefixes, the prefixes are already stripped from the paths.
    groups: Vec<Group>,
    data: Arc<DataSet>,
    /// A rendered sample of each request of each group, for requests that are sent outside the
    /// loads.
    pub(crate) samples: Vec<Request>,
    /// For each request of each group: true if the gateway itself must serve it.
    pub(crate) answered_by_gateway: Vec<Vec<bool>>,
}

impl Workload {
    /// # Errors
    /// The scenario's values cannot be generated, or do not fit its templates.
    pub(crate) fn of(scenario: &Scenario, variant: &Variant) -> Result<Self, DataError> {
        let mut groups = scenario.groups();
        let by_gateway = |request: &Request| scenario.gateway_responds_to(request);
        let each = groups.iter().map(|group| group.requests.iter());
        let answered_by_gateway = each.map(|it| it.map(by_gateway).collect()).collect();
        if variant.is_control() {
            let requests = groups.iter_mut().flat_map(|group| &mut group.requests);
            requests.for_each(|request| make_direct(request, scenario));
        }
        let data = Arc::new(DataSet::new(&scenario.data)?);
        let requests = groups.iter().flat_map(|group| &group.requests);
        let samples = requests.map(|request| sample(request, &data));
        let samples = samples.collect::<Result<_, _>>()?;
        Ok(Self {
            groups,
            data,
            samples,
            answered_by_gateway,
        })
    }

    /// Returns the groups in a phase, each with its share of the load.
    ///
    /// # Errors
    /// The phase has fewer connections than groups that share them.
    pub(crate) fn in_phase(
        &self,
        phase: &Phase,
        target: &Target,
    ) -> Result<Vec<EngineGroup>, TooFewConnections> {
        let shapes = divide(&phase.shape, &self.groups)?;
        let group = |(group, shape): (&Group, Shape)| EngineGroup {
            name: group.name.clone(),
            target: target.clone(),
            requests: group.requests.clone(),
            order: group.order,
            shape,
            timeout: phase.timeout.0,
        };
        Ok(self.groups.iter().zip(shapes).map(group).collect())
    }

    pub(crate) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.groups.iter().flat_map(|group| &group.requests)
    }

    pub(crate) fn data(&self) -> Arc<DataSet> {
        Arc::clone(&self.data)
    }
}

/// Turns a request to a gateway into one to the upstream, with the path that the gateway would
/// send.
pub(crate) fn make_direct(request: &mut Request, scenario: &Scenario) {
    *request = request.to_direct();
    if let Some(route) = scenario.route_of(&request.path) {
        request.path = route.upstream_path(&request.path).into_owned();
    }
}

/// Returns the largest number of connections in any phase of a scenario, multiplied by the number
/// of HTTP/2 streams, because a gateway may need that many connections to the upstream.
pub(crate) fn connections(scenario: &Scenario, phases: &[Phase]) -> u32 {
    let groups = scenario.groups();
    let of_phase = |phase: &Phase| {
        let parts = divide(&phase.shape, &groups).unwrap_or_default();
        let each = parts.iter().map(connections_max);
        each.fold(0, u32::saturating_add)
    };
    let most = phases.iter().map(of_phase).max().unwrap_or(0);
    most.saturating_mul(scenario.transport.http2_streams.unwrap_or(1))
}

/// Returns the largest number of simultaneous connections of a load.
pub fn connections_max(shape: &Shape) -> u32 {
    match shape {
        Shape::Closed(closed) => {
            let stages = closed.stages.iter().map(|stage| stage.connections);
            stages.fold(closed.connections, u32::max)
        }
        Shape::Open(open) => open.connections_max,
    }
}

/// Checks before the first trial that each scenario can be run in each of its phases. `files` are
/// the scenarios' files, and `phases_of` returns the phases of a scenario.
///
/// # Errors
/// Scenarios cannot be run; the error lists all of them, each with its file.
pub(crate) fn check(
    scenarios: &[Scenario],
    files: &[PathBuf],
    phases_of: impl Fn(&Scenario) -> Vec<Phase>,
) -> Result<(), RunnerError> {
    let mut mistakes: Vec<RunnerError> = Vec::new();
    for (scenario, file) in scenarios.iter().zip(files) {
        let wrong = cannot(scenario, &phases_of(scenario));
        mistakes.extend(wrong.map(|(message, remedy)| RunnerError::File {
            path: file.clone(),
            message,
            remedy,
        }));
    }
    RunnerError::unless_none(mistakes)
}

/// Returns the reason why a scenario cannot be run, and the remedy; `None` if it can.
fn cannot(scenario: &Scenario, phases: &[Phase]) -> Option<(String, String)> {
    if let Err(error) = Workload::of(scenario, &Variant::Direct) {
        let remedy = "correct the scenario's `data`, or the template that uses it";
        return Some((error.to_string(), remedy.into()));
    }
    let undefined = [
        (
            WEIGHTS,
            scenario.weights.is_empty(),
            "changes the weights of the targets, but the scenario does not define the new weights",
            "write the weights under `weights:`, as in scenarios/change/balancer-weights.yaml",
        ),
        (
            CONFIGURE,
            scenario.later.is_none(),
            "reconfigures the gateway, but the scenario does not define the new configuration",
            "write the added routes under `later:`, as in scenarios/change/route-added.yaml",
        ),
    ];
    for (action, is_undefined, what, remedy) in undefined {
        let does = |phase: &&Phase| phase.change.as_ref().is_some_and(|it| it.action == action);
        if let Some(phase) = phases.iter().find(does).filter(|_| is_undefined) {
            let message = format!("the phase '{}' {what}", phase.name);
            return Some((message, remedy.into()));
        }
    }
    let fails = |phase: &&Phase| {
        let failure = phase.failure.as_ref();
        failure.is_some_and(|it| it.part == FailingPart::ControlPlane)
    };
    if let Some(phase) = phases
        .iter()
        .find(fails)
        .filter(|_| !scenario.control_plane)
    {
        let what = "kills the control plane, but the scenario does not use one";
        let remedy = "write `control_plane: true`, as in scenarios/change/control-plane.yaml";
        return Some((format!("the phase '{}' {what}", phase.name), remedy.into()));
    }
    let groups = scenario.groups();
    phases.iter().find_map(|phase| {
        let few = divide(&phase.shape, &groups).err()?;
        let (groups, connections) = (few.groups, few.connections);
        let phase = &phase.name;
        let message = format!(
            "the scenario's {groups} groups need a connection each, but the phase '{phase}' has only {connections}"
        );
        let remedy = format!(
            "use at least {groups} connections (--connections, or another --load), or give some of the groups a separate `load`"
        );
        Some((message, remedy))
    })
}

#[cfg(test)]
mod tests {
    use gatebench_config::parse;
    use gatebench_model::LoadProfile;

    use super::*;

    const SCENARIO: &str = "
scenario: s
title: t
upstream: go-bench
routes: [{name: r, path: /r, strip_path: true, policies: [api_key: {header: X-Key}]}]
consumers: [{name: a, keys: [k]}]
data: {id: {sequence: {from: 7}}}
groups:
  - {name: good, share: 3, requests: [{path: '/r/resource/{{ id }}', headers: {X-Key: k}}]}
  - {name: failing, share: 1, requests: [{path: /r/json, checks: [status: 401]}]}
  - {name: own, load: {open: {rate_per_second: 5, connections_max: 9}}, requests: [{path: /r/json}]}
";

    fn scenario() -> Scenario {
        parse("s.yaml", SCENARIO).unwrap()
    }

    fn phases(connections: u32) -> Vec<Phase> {
        let text = format!(
            "{{profile: l, title: t, phases: [{{name: p, closed: {{connections: {connections}}}, measure: 1s}}]}}"
        );
        parse::<LoadProfile>("l.yaml", &text).unwrap().phases
    }

    #[test]
    fn each_group_has_its_part_and_the_direct_variant_has_stripped_paths() {
        let target = Target::new(std::net::SocketAddr::from(([127, 0, 0, 1], 9)), "h");
        let gateway = Variant::gateway("g", "g");
        for (variant, prefix) in [(gateway, "/r"), (Variant::Direct, "")] {
            let workload = Workload::of(&scenario(), &variant).unwrap();
            let groups = workload.in_phase(&phases(8)[0], &target).unwrap();
            let parts: Vec<_> = groups
                .iter()
                .map(|group| (group.name.as_str(), connections_max(&group.shape)))
                .collect();
            assert_eq!(parts, [("good", 6), ("failing", 2), ("own", 9)]);
            let path = format!("{prefix}/resource/{{{{ id }}}}");
            assert_eq!(groups[0].requests[0].path, path);
            assert_eq!(workload.samples[0].path, format!("{prefix}/resource/7"));
            assert_eq!(workload.samples.len(), 3);
            let answered = workload.answered_by_gateway;
            assert_eq!(answered, [[false], [true], [false]]);
        }
    }

    #[test]
    fn connections_are_those_of_all_groups() {
        assert_eq!(connections(&scenario(), &phases(8)), 17);
        let staged = "{profile: l, title: t, phases: [{name: p, closed: {connections: 2, stages: \
                      [{connections: 40, over: 1s}]}, measure: 2s}]}";
        let staged = parse::<LoadProfile>("l.yaml", staged).unwrap().phases;
        assert_eq!(connections(&scenario(), &staged), 49);
    }

    #[test]
    fn the_culprit_of_an_impossible_load_is_the_file() {
        let mut undefined = scenario();
        undefined.data.clear();
        let files: [PathBuf; 2] = ["a.yaml".into(), "b.yaml".into()];
        let both = [scenario(), undefined];
        let (one, two) = (phases(1), phases(2));
        let error = check(&both[..1], &files[..1], |_| one.clone()).unwrap_err();
        let text = error.one_line();
        assert!(
            text.contains("2 groups need a connection each, but the phase 'p' has only 1"),
            "{text}"
        );
        assert!(text.contains("a.yaml"), "{text}");
        assert!(check(&both[..1], &files[..1], |_| two.clone()).is_ok());
        let text = check(&both, &files, |_| one.clone())
            .unwrap_err()
            .one_line();
        assert!(text.contains("a.yaml") && text.contains("b.yaml"), "{text}");
        assert!(text.contains("there is no data source 'id'"), "{text}");
    }
}
