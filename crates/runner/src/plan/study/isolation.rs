//! Tests of isolation: each scenario next to its healthy twins.

use gatebench_model::{Isolation, Scenario};

use crate::error::RunnerError;
use crate::plan::library::Listed;

/// A test of isolation, as a user asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IsolationChoice {
    /// The group that must not be harmed; none is the one called `good`, or the first.
    pub group: Option<String>,
}

impl IsolationChoice {
    /// The scenarios, each beside its healthy twins.
    pub(super) fn scenarios(
        &self,
        listed: Vec<Listed<Scenario>>,
    ) -> Result<(Vec<Listed<Scenario>>, Vec<Isolation>), RunnerError> {
        let mut all = Vec::new();
        let mut isolations = Vec::new();
        for Listed { document, source } in listed {
            let (isolation, twins) = Isolation::of(&document, self.group.as_deref())
                .map_err(|error| {
                    RunnerError::words(
                        error.to_string(),
                        "name a scenario with a good group and failing ones, as soap-1-errors, and its good group with --group",
                    )
                })?;
            isolations.push(isolation);
            all.extend(twins.map(|document| Listed {
                document,
                source: source.clone(),
            }));
        }
        Ok((all, isolations))
    }
}
