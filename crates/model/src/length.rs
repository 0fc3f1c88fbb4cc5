//! How long a run is: what a length makes of a load, and of a scenario.

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::{Closed, Shape};
use crate::{Group, LoadProfile, Order, Phase, Request, Scenario};

/// The one phase of the shortest length.
pub const SMOKE_PHASE: &str = "smoke";

/// The longest that the requests of the shortest length may take; they end it when all are answered.
const SMOKE_MAX: HumanDuration = HumanDuration::from_millis(10_000);

/// When something happens in the shortest length, how long a target is ill there, and for how long it is well again.
const SMOKE_PART: HumanDuration = HumanDuration::from_millis(500);

/// What a gateway has for a change, in the shortest length: some wait two seconds for more of it.
const SMOKE_CHANGE: HumanDuration = HumanDuration::from_millis(3_000);

/// How long a run is asked to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// As the suite says.
    #[default]
    Full,
    /// Minutes: at most 3 blocks, and phases of at most 2 s after 500 ms of warm-up, or after a thought where users
    /// think for longer; a suite that repeats a document is minutes long by itself.
    Quick,
    /// Seconds: whether everything works, not how fast. One block, in which one user of each group sends each
    /// request once.
    Smoke,
    /// The durations, ramps and users of the document that the suite repeats, and no header of gatebench's.
    AsPublished,
}

impl Length {
    /// The word on the command line, without its dashes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
            Self::Smoke => "smoke",
            Self::AsPublished => "as-published",
        }
    }
}

/// The length of a plan, and what it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedLength {
    /// Which one.
    pub length: Length,
    /// What is otherwise than the suite says, each in words without a full stop.
    pub changes: Vec<String>,
}

impl LoadProfile {
    /// Each request once, by one user, in place of all phases. Phases in which something happens to the gateway
    /// or to the upstream stay as they are but for their length.
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
    /// Whether something happens to the gateway or to the upstream meanwhile.
    pub fn is_disturbed(&self) -> bool {
        self.change.is_some() || self.failure.is_some()
    }

    /// With as little time as what happens in it needs.
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
        }
        phase.measure = HumanDuration(SMOKE_PART.0 + after);
        phase
    }
}

/// One connection that sends so many requests; it waits for them as long as the phase does.
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
    /// The scenario in which every group sends each of its requests once, one after the other. Where something
    /// happens meanwhile (`is_disturbed`), groups send as they do.
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

/// As often as the others.
fn evenly(request: &mut Request) {
    request.weight = 1.0;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
    fn what_happens_meanwhile_still_happens() {
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
