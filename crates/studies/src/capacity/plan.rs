//! Plans a search for capacity in place of the suite's load.

use gatebench_model::{Capacity, LoadProfile, Plan, Study};

use crate::choice::{Given, StudyChoice};
use crate::common::loads::arrivals;

impl StudyChoice for Capacity {
    fn load(&self) -> Option<LoadProfile> {
        Some(Self::load(self))
    }

    fn plan(&self, plan: &mut Plan, _given: Given<'_>) {
        plan.study = Study::Capacity(self.clone());
    }
}

/// Describes the steps of the search, which follow the load.
pub(super) fn in_words(capacity: &Capacity) -> String {
    let most = capacity.rate_max_per_second;
    let most = most.map_or_else(String::new, |rate| format!(", at most {rate}/s"));
    format!(
        "search   for the rate sustained with {}, in steps of {} with {}{most}; the outcome of each step sets \
         the next rate",
        capacity.objective,
        capacity.step,
        arrivals(capacity.arrivals)
    )
}
