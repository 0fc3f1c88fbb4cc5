//! The results of a load as a report, which has the same formats as the report of a run.

mod agents;
mod charts;
mod counts;
mod distribution;
pub mod json;
mod tables;
mod verdicts;

use gatebench_engine::Class;
use gatebench_report::chapter::{
    Block, CSV, Chapter, Document, Fact, Forms, Note, PAGE, Part, Place, Report, TERMINAL,
};
use gatebench_report::format::{counted, grouped, quantity};
use gatebench_report::{Tone, Unit};

use super::judged::percent;
use super::results::Results;

/// A report on the results of a load.
pub struct LoadReport<'a>(pub &'a Results<'a>);

impl Report for LoadReport<'_> {
    fn document(&self, form: Forms) -> Document {
        let Self(results) = self;
        let chapters = [
            summary(results, form),
            verdicts::chapter(results),
            tables::latency(results, form),
            distribution::chapter(results),
            agents::chapter(results),
            tables::requests(results),
            counts::chapter(results),
            validity(results),
        ];
        let chapters = chapters.into_iter().map(|it| it.only(form));
        let engine = counts::engine(results).join(" · ");
        Document {
            brand: "load".to_owned(),
            title: results.target.clone(),
            facts: vec![
                ["load".to_owned(), results.load.clone()],
                ["load generator".to_owned(), engine],
            ],
            chapters: chapters.filter(|it| !it.blocks.is_empty()).collect(),
            gatebench: env!("CARGO_PKG_VERSION").to_owned(),
            ..Document::default()
        }
    }
}

fn summary(results: &Results<'_>, form: Forms) -> Chapter {
    let (words, is_good) = outcome(results);
    let tone = if is_good { Tone::Plain } else { Tone::Alarm };
    let title = Block::from(Part::Title(results.target.as_str().into()));
    let blocks = vec![
        title.on(!PAGE),
        Block::sentence(results.load.as_str()).on(!PAGE),
        Block::card("", vec![Part::Headline(Fact::of(words, tone)).into()]),
    ];
    match form {
        PAGE => Chapter::new("summary", "Summary", blocks),
        CSV => Chapter::of(vec![csv(results)]),
        _ => Chapter::of(blocks),
    }
}

/// Builds a chapter with a card, and with a heading for the terminal, which shows no chapter
/// titles. The chapter is empty if there are no blocks.
fn headed(heading: &'static str, id: &'static str, blocks: Vec<Block>) -> Chapter {
    let title = Block::heading(heading).on(TERMINAL);
    match blocks.is_empty() {
        true => Chapter::default(),
        false => Chapter::new(id, heading, vec![title, Block::card("", blocks)]),
    }
}

/// Returns the outcome as a sentence. The second value is true if requests ended and none failed.
fn outcome(results: &Results<'_>) -> (String, bool) {
    let figures = &results.figures;
    if figures.ended() == 0 {
        let unit = results.unit();
        return (format!("No {unit} ended during the measurement."), false);
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

/// The second value is true if no request failed.
fn goodness(results: &Results<'_>) -> (String, bool) {
    let figures = &results.figures;
    let all = figures.ended();
    let failed = figures.failed();
    if failed > 0 {
        let share = percent(failed as f64 / all as f64);
        let words = format!("{} ({share}) failed", grouped(failed as f64));
        return (words, false);
    }
    let words = match (figures.checked, figures.responses(Class::Success) == all) {
        _ if !results.sends_requests() => "all opened",
        (true, _) => "all checks passed",
        (false, true) => "all with status 2xx",
        (false, false) => "all with status 2xx or 3xx",
    };
    (words.into(), true)
}

fn validity(results: &Results<'_>) -> Chapter {
    let notes = results.cautions.iter().map(|it| Note {
        word: "limited",
        places: vec![Place::everywhere(it.message.clone())],
        reason: None,
        remedy: it.remedy.clone(),
    });
    let notes: Vec<Note> = notes.collect();
    match notes.is_empty() {
        true => Chapter::default(),
        false => headed("Validity", "validity", vec![Block::notes(notes)]),
    }
}

/// Lists all numbers under their JSON names, except those in lists, such as the figures of each
/// request, check or threshold.
fn csv(results: &Results<'_>) -> Block {
    let mut records = Vec::new();
    flatten("", &json::of(results), &mut records);
    Block::records("figure,value", records)
}

fn flatten(name: &str, value: &serde_json::Value, records: &mut Vec<Vec<String>>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{dot}{field}"), value, records);
            }
        }
        serde_json::Value::Number(number) => {
            records.push(vec![name.to_owned(), number.to_string()]);
        }
        _ => {}
    }
}
