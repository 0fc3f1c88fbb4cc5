//! The verdicts of a load: its thresholds and its checks.

use gatebench_report::Tone;
use gatebench_report::chapter::{Block, Case, Cases, Chapter, Fact, Outcome, Part};
use gatebench_report::format::grouped;

use super::headed;
use crate::commands::load::judged::Judged;
use crate::commands::load::results::Results;

/// Lists the thresholds and, for a CI system, all verdicts as test results.
pub fn chapter(results: &Results<'_>) -> Chapter {
    let judged = || results.judged.iter();
    let mut blocks = Vec::new();
    if !results.judged.is_empty() {
        blocks.push(Block::facts("sentences", judged().map(fact)));
    }
    let mut chapter = headed("Thresholds", "thresholds", blocks);
    let cases = std::iter::once(response(results)).chain(judged().map(threshold));
    let cases = Cases {
        suite: results.target.clone(),
        cases: cases.chain(checks(results)).collect(),
    };
    chapter.blocks.push(Part::Cases(cases).into());
    chapter
}

fn in_words(judged: &Judged) -> String {
    let state = if judged.held { "met" } else { "missed" };
    format!("{} {state}: {}", judged.text, judged.words)
}

fn fact(judged: &Judged) -> Fact {
    let tone = match judged.held {
        true => Tone::Success,
        false => Tone::Alarm,
    };
    Fact::of(in_words(judged), tone)
}

/// Returns a case that fails if no response arrived, because such a load has not succeeded.
fn response(results: &Results<'_>) -> Case {
    let completed = results.figures.counts().completed;
    let text = format!("{} responses", grouped(completed as f64));
    case("load", "a response arrived", completed > 0, text)
}

fn threshold(judged: &Judged) -> Case {
    case("threshold", &judged.text, judged.held, in_words(judged))
}

/// Returns a case for each check. A failed check does not fail the load if a threshold applies to
/// the checks.
fn checks<'a>(results: &'a Results<'_>) -> impl Iterator<Item = Case> + 'a {
    let checks = results.figures.failed_checks().into_iter();
    checks.map(|(check, failed)| {
        let text = format!("{} responses failed", grouped(failed as f64));
        let mut case = case("check", check, failed == 0 || results.judges_checks, text);
        if results.figures.counts().completed == 0 {
            case.outcome = Outcome::Skipped;
        }
        case
    })
}

fn case(class: &str, name: &str, is_good: bool, text: String) -> Case {
    Case {
        class: class.to_owned(),
        name: name.to_owned(),
        outcome: match is_good {
            true => Outcome::Passed,
            false => Outcome::Failed,
        },
        text,
    }
}
