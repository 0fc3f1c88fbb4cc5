//! The lengths of a run, and the changes that each makes to loads and scenarios.

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::{Closed, Shape};
use crate::{Group, LoadProfile, Order, Phase, Request, Scenario};

/// The name of the only phase of the shortest length, unless a phase of the load has a change or a
/// failure.
pub const SMOKE_PHASE: &str = "smoke";

/// The time limit of the single phase of the shortest length. The phase normally ends earlier, once
/// each request has been sent.
const SMOKE_MAX: HumanDuration = HumanDuration::from_millis(10_000);

/// In the shortest length: the time before a change or a failure, the duration of the failure, and
/// the time after it.
const SMOKE_PART: HumanDuration = HumanDuration::from_millis(500);

/// The time after a change in the shortest length. Some gateways wait 2 s for further changes.
const SMOKE_CHANGE: HumanDuration = HumanDuration::from_millis(3_000);

/// The requested length of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// The length that the suite defines.
    #[default]
    Full,
    /// Minutes: at most 3 blocks, and phases of at most 2 s, each after a warm-up whose minimum is
    /// at most 500 ms or, if that is longer, the longest think time. Phases with a change or a
    /// failure keep their length. A suite that repeats a document keeps its load and its blocks,
    /// which take minutes anyway.
    Quick,
    /// Seconds, to test that everything works rather than how fast it is: one block, in which one
    /// user of each group sends each of the group's requests once. A load with changes or failures
    /// instead keeps the phases in which they occur, shortened to a few seconds.
    Smoke,
    /// The durations, ramps and users of the document that the suite repeats, without gatebench's
    /// own header in requests.
    AsPublished,
}

impl Length {
    /// The option on the command line, without the dashes; there is no option for `full`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
            Self::Smoke => "smoke",
            Self::AsPublished => "as-published",
        }
    }
}

/// The length of a plan, and the resulting changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedLength {
    pub length: Length,
    /// The differences from the suite, each as a phrase without a final period.
    pub changes: Vec<String>,
}

impl LoadProfile {
    /// Returns a profile with a single phase, in which one user sends each request once. If some
    /// phases have a change or a failure, returns only these phases, shortened.
    pub fn smoke(&self, scenario: &Scenario) -> Self {
        let disturbed = self.phases.iter().filter(|phase| phase.is_disturbed());
        let mut phases: Vec<Phase> = disturbed.map(Phase::in_seconds).collect();
        if phases.is_empty() {
            let requests = scenario.load_requests().count();
            phases.extend(self.phases.first().map(|first| each_once(first, requests)));
        }
        Self {
            phases,
            ..self.clone()
        }
    }
}

impl Phase {
    pub fn is_disturbed(&self) -> bool {
        self.change.is_some() || self.failure.is_some()
    }

    /// Returns the phase without its warm-up and sweep, and with the times of the shortest length.
    fn in_seconds(&self) -> Self {
        let mut phase = self.clone();
        phase.warm_up = HumanDuration::default();
        phase.sweep = None;
        let mut after = SMOKE_PART.0 * 2;
        if let Some(change) = &mut phase.change {
            change.at = SMOKE_PART;
            after = SMOKE_CHANGE.0;
        }
        if let Some(failure) = &mut phase.failure {
            failure.from = SMOKE_PART;
            failure.until = HumanDuration(SMOKE_PART.0 * 2);
            if let Some(change) = &mut phase.change {
                change.at = failure.until;
                after += SMOKE_PART.0;
            }
        }
        phase.measure = HumanDuration(SMOKE_PART.0 + after);
        phase
    }
}

/// A phase that ends when one connection has sent this many requests, or after [`SMOKE_MAX`].
fn each_once(phase: &Phase, requests: usize) -> Phase {
    Phase {
        name: SMOKE_PHASE.into(),
        shape: Shape::Closed(once(requests)),
        sweep: None,
        warm_up: HumanDuration::default(),
        measure: SMOKE_MAX,
        ..phase.clone()
    }
}

fn once(requests: usize) -> Closed {
    Closed {
        requests_max: Some(requests.max(1) as u64),
        ..Closed::new(1)
    }
}

impl Scenario {
    /// Returns the scenario with one round of admin calls, and with groups that send each of their
    /// requests once, in turn. Returns the scenario unchanged if the load has a change or a failure
    /// (`is_disturbed`).
    #[must_use]
    pub fn smoke(mut self, is_disturbed: bool) -> Self {
        if is_disturbed {
            return self;
        }
        self.order = Order::InTurn;
        if let Some(admin) = &mut self.admin {
            admin.rounds = 1;
        }
        self.requests.iter_mut().for_each(evenly);
        for group in &mut self.groups {
            group_once(group);
        }
        self
    }
}

fn group_once(group: &mut Group) {
    group.requests.iter_mut().for_each(evenly);
    group.order = Order::InTurn;
    group.share = None;
    group.load = Some(Shape::Closed(once(group.requests.len())));
}

fn evenly(request: &mut Request) {
    request.weight = 1.0;
}

#[cfg(test)]
mod tests {
    use gatebench_config::parse;

    use super::*;
    use crate::group::divide;

    const SCENARIO: &str = "
scenario: s
title: t
upstream: go-bench
routes: [{name: r, path: /}]
groups:
  - {name: a, share: 3, order: random, requests: [{path: /a, weight: 9}, {path: /b}]}
  - {name: b, requests: [{path: /c}], load: {open: {rate_per_second: 5}}}
";

    fn profile(phases: &str) -> LoadProfile {
        parse(
            "l.yaml",
            &format!("{{profile: l, title: t, phases: [{phases}]}}"),
        )
        .unwrap()
    }

    #[test]
    fn every_group_sends_each_of_its_requests_once() {
        let scenario: Scenario = parse("s.yaml", SCENARIO).unwrap();
        let load = profile(
            "{name: a, closed: {connections: 64}, warm_up: 1s, measure: 1h}, \
             {name: b, open: {rate_per_second: 5}, measure: 1h}",
        );
        let load = load.smoke(&scenario);
        assert_eq!(load.phases.len(), 1);
        assert_eq!(load.phases[0].warm_up, HumanDuration::default());
        let scenario = scenario.smoke(false);
        let shapes = divide(&load.phases[0].shape, &scenario.groups()).unwrap();
        let each: Vec<_> = shapes
            .iter()
            .map(|shape| match shape {
                Shape::Closed(closed) => (closed.connections, closed.requests_max),
                Shape::Open(_) => (0, None),
            })
            .collect();
        assert_eq!(each, [(1, Some(2)), (1, Some(1))]);
        let weights = scenario.groups[0].requests.iter().map(|it| it.weight);
        assert!(weights.eq([1.0, 1.0]));
        assert_eq!(scenario.groups[0].order, Order::InTurn);
    }

    #[test]
    fn phases_with_changes_and_failures_are_kept() {
        let scenario: Scenario = parse("s.yaml", SCENARIO).unwrap();
        let load = profile(
            "{name: a, closed: {connections: 64}, measure: 1h}, \
             {name: b, open: {rate_per_second: 5}, warm_up: 1s, measure: 1h, change: {action: reload, at: 30m}}, \
             {name: c, open: {rate_per_second: 5}, measure: 1h, failure: {how: refusing, from: 10m, until: 20m}}",
        );
        let load = load.smoke(&scenario);
        let [change, failure] = &load.phases[..] else {
            panic!("{:?}", load.phases)
        };
        assert_eq!(change.measure.to_string(), "3500ms");
        assert_eq!(change.change.as_ref().unwrap().at.to_string(), "500ms");
        assert_eq!(failure.measure.to_string(), "1500ms");
        let failure = failure.failure.as_ref().unwrap();
        assert_eq!(
            (failure.from.to_string(), failure.until.to_string()),
            ("500ms".into(), "1s".into())
        );
        assert_eq!(scenario.clone().smoke(true), scenario);
    }
}
