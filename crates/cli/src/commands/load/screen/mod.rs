//! The results for people, in the form of the reports of runs.

mod counts;
mod histogram;
mod tables;

use gatebench_engine::Class;
use gatebench_report::format::{counted, grouped, quantity};
use gatebench_report::load::{LoadPage, render};
use gatebench_report::{TerminalOptions, Unit};

use super::judged::percent;
use super::results::Results;

/// The fewest columns that tables are laid out for.
const COLUMNS_MIN: usize = 60;

/// Returns everything, line by line.
pub fn of(results: &Results<'_>, options: TerminalOptions) -> String {
    let width = options.columns.max(COLUMNS_MIN);
    let judged = results.judged.iter().map(|it| {
        let state = if it.held { "met" } else { "missed" };
        (format!("{} {state}: {}", it.text, it.words), it.held)
    });
    let cautions = results.cautions.iter();
    let page = LoadPage {
        target: results.target.clone(),
        load: results.load.clone(),
        outcome: outcome(results),
        tables: vec![
            tables::percentiles(results, width),
            histogram::table(results, width),
            tables::routes(&results.figures, width),
            counts::table(results),
        ],
        bounds: judged.collect(),
        cautions: cautions
            .map(|it| (it.message.clone(), it.remedy.clone()))
            .collect(),
    };
    render(&page, options).trim_end().to_owned()
}

/// The outcome in a sentence, and whether nothing failed.
fn outcome(results: &Results<'_>) -> (String, bool) {
    let figures = &results.figures;
    if figures.ended() == 0 {
        let unit = results.unit();
        return (format!("No {unit} ended in the measured time."), false);
    }
    let interrupted = match figures.outcome.interrupted {
        true => "Interrupted: ",
        false => "",
    };
    let rate = figures.rate_per_second();
    let rate = match results.sends_requests() {
        true => quantity(rate, Unit::RequestsPerSecond),
        false => format!("{} connections/s", grouped(rate)),
    };
    let (words, is_good) = goodness(results);
    let sentence = format!(
        "{interrupted}{} in {}, {rate}, {words}",
        counted(figures.ended(), results.unit()),
        quantity(figures.window_s * 1e9, Unit::Nanoseconds),
    );
    (sentence, is_good)
}

/// The success of the requests as text, and whether none failed.
fn goodness(results: &Results<'_>) -> (String, bool) {
    let figures = &results.figures;
    let all = figures.ended();
    let failed = figures.failed();
    if failed > 0 {
        let share = percent(failed as f64 / all as f64);
        return (
            format!("{} ({share}) failed", grouped(failed as f64)),
            false,
        );
    }
    let words = match (figures.checked, figures.responses(Class::Success) == all) {
        _ if !results.sends_requests() => "all opened",
        (true, _) => "all checks passed",
        (false, true) => "all with status 2xx",
        (false, false) => "all with status 2xx or 3xx",
    };
    (words.into(), true)
}
