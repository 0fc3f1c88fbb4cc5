//! The limits of a load's figures: the engine, the machine, the schedule, a silence of the target.

use gatebench_model::Shape;
use gatebench_runner::judge_outcome;
use gatebench_studies::common::facts::{Gate, Reason};
use serde_json::Value;

use super::figures::Figures;
use super::live::{Seen, Silence};

/// A silence with fewer due arrivals than this may be chance.
const DUE_MIN: f64 = 4.0;
/// The maximum number of silences that are listed.
const SILENCES_LISTED: usize = 3;

/// A reason why the figures do not support every conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// The value in JSON.
    pub word: String,
    /// The sentence.
    pub message: String,
    pub remedy: String,
}

impl From<Reason> for Caution {
    fn from(reason: Reason) -> Self {
        // Two values in JSON are older than the gates' own.
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

/// Returns everything that limits a load: the findings of the gates of a run, and silences.
pub fn cautions(figures: &Figures<'_>, seen: &Seen, shape: &Shape) -> Vec<Caution> {
    let reasons = judge_outcome(figures.outcome, shape, &seen.machine);
    let is_open = matches!(shape, Shape::Open(_));
    let silence = silent(figures, &seen.silences, is_open);
    reasons
        .into_iter()
        .map(Caution::from)
        .chain(silence)
        .collect()
}

/// Returns a caution if the target paused, which a mean over the window hides.
fn silent(figures: &Figures<'_>, silences: &[Silence], open: bool) -> Option<Caution> {
    let longest_ns = silences.iter().map(Silence::length_ns).max()? as f64;
    let (quickest_ns, slowest_ns) = (figures.response.min_ns()?, figures.response.max_ns()?);
    // If all responses are slow, silences are normal; if no request waited, none was due.
    let stands_out = quickest_ns as f64 <= longest_ns / 2.0;
    let kept_waiting = slowest_ns as f64 >= longest_ns / 2.0;
    let due = figures.per_second(figures.counts().intended) * longest_ns / 1e9;
    (stands_out && kept_waiting && (!open || due >= DUE_MIN)).then(|| {
        let second = |ns: u64| format!("{:.1}", ns as f64 / 1e9);
        let stretches: Vec<_> = silences
            .iter()
            .take(SILENCES_LISTED)
            .map(|it| format!("{} to {}", second(it.from_ns), second(it.to_ns)))
            .collect();
        let more = match silences.len().saturating_sub(SILENCES_LISTED) {
            0 => String::new(),
            more => format!(", and {more} more times"),
        };
        Caution {
            word: "silence".into(),
            message: format!(
                "No response arrived from second {}{more}.",
                stretches.join(", ")
            ),
            remedy: "Check the target at that time: its log, its restarts, its pauses.".into(),
        }
    })
}
