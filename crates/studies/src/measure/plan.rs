//! Plans the loads of the profile, and loads at shares of each gateway's saturation.

use gatebench_model::{Length, Plan, Shares, SuiteStudy};

use crate::choice::{Given, PlanError, StudyChoice};
use crate::common::joined;
use crate::common::loads::arrivals;

/// A measurement that a user requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasureChoice {
    /// Shares of each gateway's own saturation, in percent, at which the gateway is measured after
    /// the loads of the profile.
    pub percents: Vec<u32>,
}

impl Default for Box<dyn StudyChoice> {
    fn default() -> Self {
        Box::new(MeasureChoice::default())
    }
}

impl StudyChoice for MeasureChoice {
    fn only_measures(&self) -> bool {
        true
    }

    /// Shares that the user requests replace the study that the suite requests.
    fn plan(&self, plan: &mut Plan, given: Given<'_>) {
        let asked = SuiteStudy::At(self.percents.clone());
        let asked = Some(&asked).filter(|_| !self.percents.is_empty());
        let length = plan.length.as_ref().map_or(Length::Full, |it| it.length);
        let study = asked.or(given.suite);
        plan.study = study.map(|it| it.of_length(length)).unwrap_or_default();
    }
}

/// Rejects shares of saturation that contradict the plan's loads.
pub(super) fn check(shares: &Shares, plan: &Plan) -> Result<(), PlanError> {
    if let Some(phase) = plan.phases().find(|phase| phase.side_by_side) {
        let load = phase.name.clone();
        return Err(PlanError::SharesSideBySide { load });
    }
    let is_taken = |name: &String| plan.phases().any(|phase| phase.name == *name);
    match shares.names().find(is_taken) {
        Some(load) => Err(PlanError::ShareTaken { load }),
        None => Ok(()),
    }
}

pub(super) fn in_words(shares: &Shares) -> String {
    let each = shares.percents.iter().map(|it| format!("{it} %"));
    let (warm_up, measure) = (shares.warm_up.as_secs_f64(), shares.measure.as_secs_f64());
    format!(
        "shares   a closed load of {} connections finds each gateway's saturation; then open loads \
         offer {} of it with {}, each with {warm_up} s of warm-up and {measure} s of measurement",
        shares.connections,
        joined(each, ", "),
        arrivals(shares.arrivals)
    )
}
