//! The chapters that every run has, and their order.

mod cases;
mod evidence;
mod findings;
mod latency;
mod masthead;
mod parts;
mod problems;
mod results;
mod smoke;
mod summary;
mod table;
mod values;

use gatebench_report::chapter::{
    BRIEF, CSV, Chapter, Document, Forms, JUNIT, MARKDOWN, PAGE, Report, TERMINAL, Text,
};
use gatebench_report::format::{distinct, instant};
use gatebench_report::palette::Palette;
use gatebench_store::Status;

use super::Findings;
use crate::ab::facts::AbTestFindings;
use crate::{ab, marginal_cost, own_metrics, policy_cost};

/// The sections of docs/METHOD.md that explain the report of a run.
const METHODS: [&str; 12] = [
    "Two kinds of load",
    "What a gateway adds",
    "CPU per request",
    "Blocks",
    "Comparing two gateways",
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
            JUNIT if self.study.of::<AbTestFindings>().is_some() => "ab".to_owned(),
            JUNIT => run.suite.clone(),
            _ => format!("{} · suite {}", run.gatebench, run.suite),
        };
        let foot = match form {
            PAGE => Text::from("Written by gatebench ")
                .and(&run.gatebench)
                .and(" from the run directory; ")
                .and_styled("mono", "gatebench report DIR")
                .and(" writes the same file again."),
            _ => Text::from(origin(self)),
        };
        Document {
            brand,
            title: run.title.clone(),
            chip: (run.status != Status::Finished).then(|| masthead::status(run.status)),
            facts: [
                ("Started", instant(&run.created)),
                (
                    "Done",
                    format!("{}, {}", masthead::blocks(run), masthead::trials(run)),
                ),
                ("Seed", run.seed.to_string()),
                ("Load generator", run.engine_backend.clone()),
                ("Cores", masthead::placement(&run.placement)),
            ]
            .map(|(name, value)| [name.to_owned(), value])
            .into(),
            chapters: chapters.collect(),
            methods: METHODS.into(),
            // The title and the first screen remain unfolded.
            unfolded: summary::has(self).then_some(2),
            foot,
            gatebench: run.gatebench.clone(),
        }
    }
}

/// Describes in one line which build of gatebench measured the run, when, on which processor, and
/// how.
fn origin(findings: &Findings) -> String {
    let run = &findings.run;
    let fact = |name: &str| {
        let found = findings.environment.iter().find(|it| it.name == name);
        found.map(|it| it.value.clone())
    };
    let build = fact("libraries.gatebench").unwrap_or_else(|| run.gatebench.clone());
    let processor = fact("cpu.model").map(|it| format!("{it} · "));
    format!(
        "gatebench {build} · {} · {}{}",
        run.created,
        processor.unwrap_or_default(),
        masthead::measured(run)
    )
}

/// Returns the chapters of a run in the order of a form. On the page and in Markdown, the findings
/// precede the results; on a terminal, they follow them. The first screen comes before both; in the
/// brief form on a terminal, only the alarms follow it. The brief form of a run without a first
/// screen shortens only the section on gateways' own metrics.
fn chapters(run: &Findings, form: Forms) -> Vec<Chapter> {
    let rows = run.scenarios.iter().flat_map(|it| &it.rows);
    let palette = &Palette::of_labels(&distinct(rows.map(|row| &*row.variant)));
    let is_short = form & BRIEF != 0;
    let is_brief = is_short && summary::has(run);
    let form = form & !BRIEF;
    let limits = || findings::limits(run, form, palette);
    let mut chapters = vec![match is_brief {
        true => masthead::brief(&run.run),
        false => masthead::chapter(&run.run),
    }];
    if summary::has(run) && form & (TERMINAL | MARKDOWN) != 0 {
        chapters.push(summary::chapter(run, form, palette));
    }
    match form {
        TERMINAL if is_brief => chapters.push(summary::alarms(run, palette)),
        TERMINAL => {
            let studies = studies(run, is_short, palette).into_iter();
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
            chapters.extend(studies(run, false, palette));
            chapters.push(results::chapter(run, form, palette));
            chapters.push(limits());
        }
        JUNIT => {
            let ab_test = run.study.of();
            let ab_test = ab_test.map(|it| ab::chapter::cases(it, &run.scenarios));
            chapters.extend(ab_test.or_else(|| cases::decision(run)));
            chapters.extend(cases::thresholds(run));
            chapters.extend(cases::trials(run));
        }
        CSV => chapters.push(values::chapter(run)),
        _ => {
            let mut first = findings::chapter(run, palette);
            first.blocks.extend(limits().blocks);
            chapters.clear();
            if summary::has(run) {
                chapters.push(summary::chapter(run, form, palette));
            }
            chapters.push(first);
            chapters.extend(studies(run, false, palette));
            chapters.push(results::chapter(run, form, palette));
            chapters.extend(latency::percentiles(run, palette));
            chapters.push(latency::timeline(run, palette));
            chapters.extend(evidence::chapters(run, palette));
        }
    }
    chapters
}

fn studies(findings: &Findings, is_short: bool, palette: &Palette) -> Vec<Chapter> {
    let study = findings.study.facts().and_then(|it| it.chapter(palette));
    let costs = findings.costs.as_ref();
    let costs = costs.map(|it| policy_cost::chapter::chapter(it, palette));
    let marginal = marginal_cost::chapter::chapter(&findings.marginal_costs, palette);
    let sections = findings.sections.iter().map(|it| match it.id {
        own_metrics::ID if is_short => own_metrics::brief(it),
        _ => it.chapter(palette),
    });
    let studies = [study, costs, marginal].into_iter().flatten();
    studies.chain(sections).collect()
}
