//! What the page's template is given: words and drawings, nothing left to format.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{RunFacts, Sentence, Status};
use serde::Serialize;

use super::evidence::Evidence;
use super::forest::{ForestView, forests};
use super::results::ScenarioView;
use crate::chapter::{Chapter, PAGE};
use crate::method::{self, Section};
use crate::palette::Palette;
use crate::problems::{Repeated, failures_once, problems, word};
use crate::study::chapters;
use crate::{facts, number, verdicts};

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
    notes: Vec<String>,
    failures: Vec<FailureView>,
    problems: Vec<ProblemView>,
    chapters: Vec<Chapter>,
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
        let chapters = chapters(findings, PAGE);
        let more = chapters.iter().flat_map(|it| it.methods);
        let methods: Vec<&str> = METHODS.iter().chain(more).copied().collect();
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
            notes: findings.notes.clone(),
            failures: failures(findings),
            problems: problem_views(findings, &palette),
            chapters,
            scenarios: findings
                .scenarios
                .iter()
                .enumerate()
                .map(scenario)
                .collect(),
            evidence: Evidence::of(findings, &palette),
            method: method::sections(&methods),
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
        tone: verdicts::tone(sentence.tone),
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
