//! The studies: each makes a chapter of blocks and knows no form of the report.

pub mod ab;
mod capacity;
mod combined;
mod compare;
pub mod cost_records;
mod costs;
mod evidence;
mod findings;
mod history;
mod isolation;
mod latency;
mod marginal_cost;
mod results;
mod section;
mod smoke;
mod soak;
mod values;

use gatebench_analysis::Findings;
use gatebench_analysis::findings::Status;

use crate::chapter::{
    CSV, Chapter, Document, Forms, JUNIT, MARKDOWN, PAGE, Report, TERMINAL, Text,
};
use crate::palette::Palette;
use crate::{facts, number};

/// The sections of the method that a report of one run rests on.
const METHODS: [&str; 12] = [
    "Two kinds of load",
    "What a gateway adds",
    "CPU per request",
    "Blocks",
    "Two beside each other",
    "What a policy costs",
    "Scale",
    "Equal on the wire",
    "Percentiles",
    "Validity",
    "Steady state",
    "Cores",
];

impl Report for Findings {
    fn document(&self, form: Forms) -> Document {
        let run = &self.run;
        let chapters = chapters(self, form).into_iter().map(|it| it.only(form));
        let brand = match form {
            JUNIT => "ab".to_owned(),
            _ => format!("{} · suite {}", run.gatebench, run.suite),
        };
        let foot = match form {
            PAGE => Text::from("Written by gatebench ")
                .and(&run.gatebench)
                .and(" from the run directory; ")
                .and_styled("mono", "gatebench report DIR")
                .and(" writes the same file again."),
            _ => Text::from(format!(
                "gatebench {} · {} · {} · {} · seed {} · {} · {}",
                run.gatebench,
                run.created,
                facts::blocks(run),
                facts::trials(run),
                run.seed,
                run.engine_backend,
                facts::placement(&run.placement),
            )),
        };
        Document {
            brand,
            title: run.title.clone(),
            chip: (run.status != Status::Finished).then(|| facts::status(run.status)),
            facts: [
                ("Started", number::instant(&run.created)),
                (
                    "Done",
                    format!("{}, {}", facts::blocks(run), facts::trials(run)),
                ),
                ("Seed", run.seed.to_string()),
                ("Engine", run.engine_backend.clone()),
                ("Cores", facts::placement(&run.placement)),
            ]
            .map(|(name, value)| [name.to_owned(), value])
            .into(),
            chapters: chapters.collect(),
            methods: METHODS.into(),
            foot,
            gatebench: run.gatebench.clone(),
        }
    }
}

/// Returns the chapters of a run in the order of a form: a page and Markdown begin with the
/// findings, and a terminal ends with them.
fn chapters(run: &Findings, form: Forms) -> Vec<Chapter> {
    let palette = &Palette::of(run);
    let limits = || findings::limits(run, form, palette);
    let mut chapters = vec![findings::masthead(&run.run)];
    match form {
        TERMINAL => {
            let studies = studies(run, palette).into_iter();
            let (leading, others): (Vec<_>, Vec<_>) = studies.partition(|it| it.leads);
            chapters.extend(leading);
            if run.run.is_smoke {
                chapters.push(smoke::chapter(run));
            } else {
                chapters.push(results::chapter(run, form, palette));
                chapters.extend(others);
            }
            chapters.push(findings::chapter(run, palette));
            chapters.push(limits());
        }
        MARKDOWN => {
            chapters.push(Chapter {
                heading: String::new(),
                ..findings::chapter(run, palette)
            });
            chapters.extend(studies(run, palette));
            chapters.push(results::chapter(run, form, palette));
            chapters.push(limits());
        }
        JUNIT => chapters.push(ab::cases(run)),
        CSV => chapters.push(values::chapter(run)),
        _ => {
            let mut first = findings::chapter(run, palette);
            first.blocks.extend(limits().blocks);
            chapters = vec![first];
            chapters.extend(studies(run, palette));
            chapters.push(results::chapter(run, form, palette));
            chapters.extend(latency::percentiles(run, palette));
            chapters.push(latency::timeline(run, palette));
            chapters.extend(evidence::chapters(run, palette));
        }
    }
    chapters
}

/// Returns the chapters of the studies that the run was made for.
fn studies(findings: &Findings, palette: &Palette) -> Vec<Chapter> {
    let sections = findings.sections.iter();
    let studies = [
        capacity::chapter(findings, palette),
        soak::chapter(findings, palette),
        isolation::chapter(findings, palette),
        combined::chapter(findings, palette),
        costs::chapter(findings, palette),
        marginal_cost::chapter(findings, palette),
    ];
    let sections = sections.map(|it| section::chapter(it, palette));
    studies.into_iter().flatten().chain(sections).collect()
}
