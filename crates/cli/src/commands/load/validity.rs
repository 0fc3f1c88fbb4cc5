//! The reasons why the figures of a load are limited: problems of the load generator, the machine
//! or the schedule, and pauses of the target.

use gatebench_model::Shape;
use gatebench_runner::judge_outcome;
use gatebench_studies::common::facts::{Gate, Reason};
use serde_json::Value;

use super::agents::ByAgent;
use super::figures::Figures;
use super::live::{Seen, Silence};

/// A silence may be a coincidence if fewer arrivals than this were due in it.
const DUE_MIN: f64 = 4.0;
const SILENCES_LISTED: usize = 3;

/// A reason why the figures do not support every conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// The value of `limit` in JSON.
    pub word: String,
    pub message: String,
    pub remedy: String,
}

impl From<Reason> for Caution {
    fn from(reason: Reason) -> Self {
        // Two JSON values predate the names of the gates.
        let word = match reason.gate {
            Gate::EngineSaturated => "engine_cpu".into(),
            Gate::EngineLate => "sends_late".into(),
            gate => match serde_json::to_value(gate) {
                Ok(Value::String(word)) => word,
                _ => String::new(),
            },
        };
        Self {
            word,
            message: reason.message,
            remedy: reason.remedy,
        }
    }
}

/// Returns all reasons why a load is limited: the findings of the gates that also judge runs, and
/// silences.
pub fn cautions(
    figures: &Figures<'_>,
    seen: &Seen,
    shape: &Shape,
    agents: Option<&ByAgent>,
) -> Vec<Caution> {
    let agents = agents.map(ByAgent::record);
    let reasons = judge_outcome(figures.outcome, shape, &seen.machine, agents);
    let is_open = matches!(shape, Shape::Open(_));
    let silence = silent(figures, &seen.silences, is_open);
    let reasons = reasons.into_iter().map(Caution::from);
    reasons.chain(silence).collect()
}

/// Returns a caution if the target paused. A mean over the window hides pauses.
fn silent(figures: &Figures<'_>, silences: &[Silence], open: bool) -> Option<Caution> {
    let longest_ns = silences.iter().map(Silence::length_ns).max()? as f64;
    let (quickest_ns, slowest_ns) = (figures.response.min_ns()?, figures.response.max_ns()?);
    // If all responses are slow, silences are normal; if no request waited, no response was due.
    let is_unusual = quickest_ns as f64 <= longest_ns / 2.0;
    let delayed_requests = slowest_ns as f64 >= longest_ns / 2.0;
    let due = figures.per_second(figures.counts().intended) * longest_ns / 1e9;
    (is_unusual && delayed_requests && (!open || due >= DUE_MIN)).then(|| {
        let second = |ns: u64| format!("{:.1}", ns as f64 / 1e9);
        let stretches = silences.iter().take(SILENCES_LISTED);
        let stretches = stretches.map(|it| {
            let (from, to) = (second(it.from_ns), second(it.to_ns));
            format!("{from} to {to}")
        });
        let stretches = Vec::from_iter(stretches).join(", ");
        let more = match silences.len().saturating_sub(SILENCES_LISTED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        Caution {
            word: "silence".into(),
            message: format!(
                "No response arrived in these periods (seconds of the measurement): {stretches}{more}."
            ),
            remedy: "Check the target's log for restarts and pauses at these times.".into(),
        }
    })
}
