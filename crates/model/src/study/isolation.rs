//! Isolation tests, which show whether failing requests affect others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Scenario;

/// The scenarios of an isolation test: one whose groups may fail, except for the good group, and
/// two copies in which every group sends the good group's requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// Name of the scenario with failing groups.
    pub failing: String,
    /// Name of the scenario in which every group sends the requests of the good group.
    pub healthy: String,
    /// Name of a copy of the scenario `healthy`. Any difference between the two is machine noise.
    pub again: String,
    /// The good group.
    pub group: String,
}

/// The reasons why a scenario cannot be used to test isolation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotIsolable {
    #[error("scenario '{scenario}' has no second group whose requests could fail")]
    OneGroup { scenario: String },
    #[error("scenario '{scenario}' has no group '{group}'; its groups are {known}")]
    NoSuchGroup {
        scenario: String,
        group: String,
        known: String,
    },
}

const GOOD: &str = "good";

impl Isolation {
    /// The three scenarios of a test, beginning with the given one. The good group is the group
    /// with the given name. If no name is given, it is the group called `good`, or otherwise the
    /// first group.
    ///
    /// # Errors
    /// The scenario has fewer than two groups, or none with the given name.
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
                known: Vec::from_iter(groups.iter().map(|it| format!("'{}'", it.name))).join(", "),
            })?,
            None => named(GOOD).unwrap_or(&groups[0]),
        };
        let healthy = |suffix: &str| {
            let mut scenario = failing.clone();
            scenario.scenario = format!("{}-{suffix}", failing.scenario);
            scenario.title = format!(
                "{}, with every group sending the requests of '{}'",
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
