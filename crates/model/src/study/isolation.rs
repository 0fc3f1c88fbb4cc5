//! A test of isolation that a plan is made for: whether requests that fail harm others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Scenario;

/// A scenario whose groups fail but for one, beside the same in which none fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// Name of the scenario with failing groups.
    pub failing: String,
    /// Name of the scenario in which every group sends what the good one sends.
    pub healthy: String,
    /// Name of that scenario once more: what differs between the two is the noise of the machine.
    pub again: String,
    /// The good group.
    pub group: String,
}

/// Why a scenario cannot show isolation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotIsolable {
    /// It has no second group.
    #[error("'{scenario}' has no second group whose requests could fail")]
    OneGroup {
        /// The scenario.
        scenario: String,
    },
    /// None of its groups has the name that was given.
    #[error("'{scenario}' has no group '{group}', but {known}")]
    NoSuchGroup {
        /// The scenario.
        scenario: String,
        /// What was asked for.
        group: String,
        /// The groups it has, in words.
        known: String,
    },
}

/// What the good group is called where nobody says it.
const GOOD: &str = "good";

impl Isolation {
    /// The three scenarios of a test, the given one first. The good group is the one of that name, else the one
    /// called `good`, else the first.
    ///
    /// # Errors
    /// The scenario has one group only, or none of that name.
    pub fn of(
        failing: &Scenario,
        group: Option<&str>,
    ) -> Result<(Self, [Scenario; 3]), NotIsolable> {
        let groups = &failing.groups;
        if groups.len() < 2 {
            return Err(NotIsolable::OneGroup {
                scenario: failing.scenario.clone(),
            });
        }
        let named = |name: &str| groups.iter().find(|group| group.name == name);
        let good = match group {
            Some(name) => named(name).ok_or_else(|| NotIsolable::NoSuchGroup {
                scenario: failing.scenario.clone(),
                group: name.to_owned(),
                known: groups
                    .iter()
                    .map(|group| format!("'{}'", group.name))
                    .collect::<Vec<_>>()
                    .join(", "),
            })?,
            None => named(GOOD).unwrap_or(&groups[0]),
        };
        let healthy = |suffix: &str| {
            let mut scenario = failing.clone();
            scenario.scenario = format!("{}-{suffix}", failing.scenario);
            scenario.title = format!(
                "{}: with every group sending what '{}' sends",
                failing.title, good.name
            );
            for group in &mut scenario.groups {
                group.requests.clone_from(&good.requests);
            }
            scenario
        };
        let scenarios = [
            failing.clone(),
            healthy("healthy"),
            healthy("healthy-again"),
        ];
        let [failing, first, second] = scenarios.each_ref().map(|it| it.scenario.clone());
        let isolation = Self {
            failing,
            healthy: first,
            again: second,
            group: good.name.clone(),
        };
        Ok((isolation, scenarios))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::parse;

    use super::*;

    fn scenario(groups: &str) -> Scenario {
        let text = format!(
            "{{scenario: s, title: t, upstream: ping, routes: [{{name: r, path: /}}], groups: [{groups}]}}"
        );
        parse::<Scenario>("s.yaml", &text).unwrap()
    }

    #[test]
    fn the_healthy_twin_sends_the_good_requests_in_every_group() {
        let one = "{name: bad, share: 3, requests: [{path: /bad}]}";
        let two = "{name: good, share: 1, requests: [{path: /ping}]}";
        let failing = scenario(&format!("{one}, {two}"));
        let (isolation, [first, healthy, again]) = Isolation::of(&failing, None).unwrap();
        assert_eq!(isolation.group, "good");
        assert_eq!(
            (isolation.healthy.as_str(), isolation.again.as_str()),
            ("s-healthy", "s-healthy-again")
        );
        assert_eq!(first, failing);
        let paths = |of: &Scenario| -> Vec<String> {
            of.load_requests()
                .map(|request| request.path.clone())
                .collect()
        };
        assert_eq!(paths(&healthy), ["/ping", "/ping"]);
        assert_eq!(healthy.groups[0].share, Some(3.0), "the rates stay");
        assert_eq!(healthy.groups, again.groups);
        let named = Isolation::of(&failing, Some("bad")).unwrap().0;
        assert_eq!(named.group, "bad");
    }

    #[test]
    fn what_cannot_show_isolation_says_why() {
        let one = scenario("{name: good, requests: [{path: /ping}]}");
        let error = Isolation::of(&one, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'s' has no second group whose requests could fail"
        );
        let two = scenario("{name: a, requests: [{path: /a}]}, {name: b, requests: [{path: /b}]}");
        let error = Isolation::of(&two, Some("c")).unwrap_err();
        assert_eq!(error.to_string(), "'s' has no group 'c', but 'a', 'b'");
    }
}
