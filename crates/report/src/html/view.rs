//! What the page's template is given: words and drawings, nothing left to format.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{FlameGraph, RunFacts, SectionFindings, Sentence, Status, Tone};
use serde::Serialize;

use super::capacity::{CapacityView, capacity};
use super::combined::{CombinedView, combined};
use super::costs::{CostView, costs};
use super::evidence::Evidence;
use super::forest::{ForestView, forests};
use super::method::{self, Section};
use super::purposes::{PurposeView, purposes};
use super::results::{ScenarioView, TableView, table_view};
use super::scale::{ScaleView, scales};
use crate::palette::Palette;
use crate::problems::{Repeated, failures_once, problems, word};
use crate::{facts, isolation, number, sections, soak};

/// The whole page.
#[derive(Serialize)]
pub struct Page {
    title: String,
    suite: String,
    gatebench: String,
    /// Shown beside the title where the run is not finished.
    status: Option<&'static str>,
    facts: Vec<Pair>,
    headline: Option<SentenceView>,
    sentences: Vec<SentenceView>,
    forests: Vec<ForestView>,
    /// What the run was made for.
    purposes: Vec<PurposeView>,
    notes: Vec<String>,
    failures: Vec<FailureView>,
    problems: Vec<ProblemView>,
    /// What a search for capacity came to; none where the run was not made for one.
    capacity: Option<CapacityView>,
    /// What a specification came to; none where the run was made from none.
    combined: Option<CombinedView>,
    /// What policies cost; empty where no policy has a plain proxy beside it.
    costs: Vec<CostView>,
    costs_explanation: &'static str,
    /// What grows with routes, consumers and idle connections.
    scale: Vec<ScaleView>,
    /// What only some runs measure.
    sections: Vec<SectionView>,
    scenarios: Vec<ScenarioView>,
    evidence: Evidence,
    method: Vec<Section>,
}

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

/// Those that a search rests on besides.
const METHODS_OF_CAPACITY: [&str; 2] = ["Capacity", "Cores for a rate"];

fn methods(findings: &Findings) -> Vec<&'static str> {
    let searched = findings.capacity.iter().flat_map(|_| METHODS_OF_CAPACITY);
    let soaked = findings.soak.iter().map(|_| soak::METHOD);
    let isolated = findings.isolation.iter().map(|_| isolation::METHOD);
    let combined = findings.combined.iter().map(|_| crate::combined::METHOD);
    let more = searched
        .chain(soaked)
        .chain(isolated.take(1))
        .chain(combined);
    METHODS.into_iter().chain(more).collect()
}

/// What only some runs measure.
#[derive(Serialize)]
struct SectionView {
    id: &'static str,
    heading: &'static str,
    explanation: &'static str,
    title: String,
    /// What the first column is.
    first: &'static str,
    table: TableView,
    graphs: Vec<GraphView>,
}

/// A graph in a file of its own.
#[derive(Serialize)]
struct GraphView {
    file: String,
    title: String,
    text: String,
}

fn graph_view(graph: &FlameGraph) -> GraphView {
    GraphView {
        file: graph.file.clone(),
        title: graph.title.clone(),
        text: graph.text.clone(),
    }
}

fn sections(findings: &Findings, palette: &Palette) -> Vec<SectionView> {
    let view = |it: &SectionFindings| SectionView {
        id: it.id,
        heading: it.heading,
        explanation: it.explanation,
        title: sections::title(it),
        first: it.table.first,
        table: table_view(&sections::table(it), palette),
        graphs: it.graphs.iter().map(graph_view).collect(),
    };
    findings.sections.iter().map(view).collect()
}

/// A name and a value.
#[derive(Serialize)]
pub struct Pair {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A sentence.
#[derive(Serialize)]
pub struct SentenceView {
    text: String,
    tone: &'static str,
}

#[derive(Serialize)]
struct FailureView {
    place: String,
    culprit: String,
    reason: String,
    remedy: String,
}

#[derive(Serialize)]
struct ProblemView {
    validity: &'static str,
    sightings: Vec<SightingView>,
    remedy: String,
}

#[derive(Serialize)]
struct SightingView {
    class: String,
    variant: String,
    place: String,
    message: String,
}

impl Page {
    /// Lays out the findings.
    pub fn of(findings: &Findings) -> Self {
        let palette = Palette::of(findings);
        let run = &findings.run;
        let mut sentences = findings.headlines.iter().map(sentence);
        let scenario = |(index, of)| ScenarioView::of(index, of, findings, &palette);
        Self {
            title: run.title.clone(),
            suite: run.suite.clone(),
            gatebench: run.gatebench.clone(),
            status: (run.status != Status::Finished).then(|| facts::status(run.status)),
            facts: run_facts(run),
            headline: sentences.next(),
            sentences: sentences.collect(),
            forests: forests(findings, &palette),
            purposes: purposes(findings, &palette),
            notes: findings.notes.clone(),
            failures: failures(findings),
            problems: problem_views(findings, &palette),
            capacity: capacity(findings, &palette),
            combined: combined(findings, &palette),
            costs: costs(findings, &palette),
            costs_explanation: crate::costs::EXPLANATION,
            scale: scales(findings, &palette),
            sections: sections(findings, &palette),
            scenarios: findings
                .scenarios
                .iter()
                .enumerate()
                .map(scenario)
                .collect(),
            evidence: Evidence::of(findings, &palette),
            method: method::sections(&methods(findings)),
        }
    }
}

/// A pair of strings.
pub fn pair(name: impl Into<String>, value: impl Into<String>) -> Pair {
    Pair {
        name: name.into(),
        value: value.into(),
    }
}

/// A sentence with the class of its tone.
pub fn sentence(sentence: &Sentence) -> SentenceView {
    SentenceView {
        text: sentence.text.clone(),
        tone: match sentence.tone {
            Tone::Plain => "plain",
            Tone::Caution => "caution",
            Tone::Alarm => "alarm",
        },
    }
}

fn run_facts(run: &RunFacts) -> Vec<Pair> {
    vec![
        pair("Started", number::instant(&run.created)),
        pair(
            "Done",
            format!("{}, {}", facts::blocks(run), facts::trials(run)),
        ),
        pair("Seed", run.seed.to_string()),
        pair("Engine", run.engine_backend.as_str()),
        pair("Cores", facts::placement(&run.placement)),
    ]
}

fn failures(findings: &Findings) -> Vec<FailureView> {
    let view = |repeated: &Repeated<'_>| {
        let failure = repeated.failure;
        let mut place = format!(
            "{} in {}, {}",
            failure.variant,
            failure.scenario,
            repeated.blocks()
        );
        if let Some(phase) = &failure.phase {
            place.push_str(&format!(", phase {phase}"));
        }
        FailureView {
            place,
            culprit: failure.culprit.clone(),
            reason: failure.reason.clone(),
            remedy: failure.remedy.clone(),
        }
    };
    let once = failures_once(&findings.failures);
    once.iter().map(view).collect()
}

fn problem_views(findings: &Findings, palette: &Palette) -> Vec<ProblemView> {
    problems(findings)
        .into_iter()
        .map(|problem| ProblemView {
            validity: word(problem.validity),
            sightings: problem
                .sightings
                .iter()
                .map(|sighting| SightingView {
                    class: palette.class(sighting.variant),
                    variant: sighting.variant.into(),
                    place: sighting.place(),
                    message: sighting.message.into(),
                })
                .collect(),
            remedy: problem.remedy.into(),
        })
        .collect()
}
