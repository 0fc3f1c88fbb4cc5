//! The page that compares two runs, with the verdict of `gatebench compare`.

use axum::response::Response;
use gatebench_model::DecisiveMetric;
use gatebench_report::format::instant;
use gatebench_report::html;
use gatebench_store::{Run, RunOverview, RunState};
use gatebench_studies::across_runs::{RunSummary, compare, summarize};
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;
use crate::query::first;
use crate::rows::gateways;
use crate::view::{self, Chip, Site, href_of_run, in_path};

/// The metrics that can decide a comparison. Each has the name that `gatebench compare --metric`
/// uses, and a description.
const METRICS: [(&str, &str, DecisiveMetric); 5] = [
    ("cpu", "CPU time per request", DecisiveMetric::Cpu),
    ("throughput", "throughput", DecisiveMetric::Throughput),
    (
        "added-p50",
        "added latency, median",
        DecisiveMetric::AddedP50,
    ),
    (
        "added-p99",
        "added latency, 99th percentile",
        DecisiveMetric::AddedP99,
    ),
    ("memory", "peak memory", DecisiveMetric::Memory),
];

#[derive(Serialize)]
struct View {
    site: Site,
    runs: Vec<String>,
    metrics: Vec<[&'static str; 2]>,
    metric: &'static str,
    /// The run that the form selects as the baseline, or empty.
    baseline: String,
    candidate: String,
    /// The baseline and the candidate; empty until both are selected.
    sides: Vec<Side>,
    /// The path of the comparison with the roles swapped.
    swapped: String,
    report: Option<html::Page>,
}

#[derive(Serialize)]
struct Side {
    role: &'static str,
    name: String,
    href: String,
    state: Chip,
    facts: Vec<[String; 2]>,
}

impl View {
    /// Fills in each role for which the query names no listed run. The candidate becomes the latest
    /// other run. The baseline becomes the run before the candidate or, if there is none, another
    /// run.
    fn select_missing(&mut self) {
        for name in [&mut self.baseline, &mut self.candidate] {
            if !self.runs.contains(name) {
                name.clear();
            }
        }
        if self.candidate.is_empty() {
            let latest = self.runs.iter().find(|name| **name != self.baseline);
            self.candidate = latest.cloned().unwrap_or_default();
        }
        if self.baseline.is_empty() {
            let at = self.runs.iter().position(|name| *name == self.candidate);
            let earlier = at.and_then(|at| self.runs.get(at + 1));
            let other = earlier.or_else(|| self.runs.iter().find(|name| **name != self.candidate));
            self.baseline = other.cloned().unwrap_or_default();
        }
    }
}

/// Renders the form and, if two runs are selected, their comparison.
pub(crate) fn page(app: &App, query: &[(String, String)]) -> Result<Response, Problem> {
    let metric = metric(query)?;
    let [baseline, candidate] = chosen(app, query)?;
    let runs = app.rows()?.into_iter().filter(|row| !row.is_running);
    let runs: Vec<String> = runs.map(|row| row.name).collect();
    let swapped = format!(
        "/compare?baseline={}&candidate={}&metric={}",
        in_path(&candidate),
        in_path(&baseline),
        metric.0
    );
    let mut view = View {
        site: app.site("Compare two runs", "compare"),
        runs,
        metrics: METRICS.iter().map(|it| [it.0, it.1]).collect(),
        metric: metric.0,
        baseline,
        candidate,
        sides: Vec::new(),
        swapped,
        report: None,
    };
    if !view.baseline.is_empty() && !view.candidate.is_empty() {
        let sides = [("Baseline", &view.baseline), ("Candidate", &view.candidate)];
        let sides = sides.map(|(role, name)| side(app, role, name));
        view.sides = sides.into_iter().collect::<Result<_, _>>()?;
        let baseline = summary(app, &view.baseline)?;
        let candidate = summary(app, &view.candidate)?;
        let found = compare(&baseline, &candidate, metric.2);
        view.report = Some(html::Page::of(&found));
    } else {
        view.select_missing();
    }
    Ok(view::page("compare.html", &view))
}

fn metric(
    query: &[(String, String)],
) -> Result<(&'static str, &'static str, DecisiveMetric), Problem> {
    let word = first(query, "metric");
    if word.is_empty() {
        return Ok(METRICS[0]);
    }
    let known = METRICS.iter().find(|it| it.0 == word).copied();
    let names = METRICS.map(|it| it.0).join(", ");
    let wrong = || format!("the metric {word:?} cannot decide a comparison: choose one of {names}");
    known.ok_or_else(|| Problem::Wrong(wrong()))
}

/// Returns the names of the baseline and the candidate, which may be empty. If two runs are given
/// without roles, the older one is the baseline.
fn chosen(app: &App, query: &[(String, String)]) -> Result<[String; 2], Problem> {
    let runs = query.iter().filter(|(name, _)| name == "run");
    let runs: Vec<&String> = runs.map(|(_, value)| value).collect();
    match runs[..] {
        [] => Ok([first(query, "baseline"), first(query, "candidate")]),
        [one] => Ok([String::new(), one.clone()]),
        [one, other] => {
            let created = |name: &str| Ok::<_, Problem>(app.overview(name)?.manifest.created);
            let mut both = [one.clone(), other.clone()];
            if created(one)? > created(other)? {
                both.reverse();
            }
            Ok(both)
        }
        _ => Err(Problem::Wrong("choose two runs to compare".into())),
    }
}

fn side(app: &App, role: &'static str, name: &str) -> Result<Side, Problem> {
    let RunOverview { manifest, state } = app.overview(name)?;
    if state == RunState::Running {
        return Err(Problem::Conflict(format!(
            "run {name} is in progress: compare it when it has ended"
        )));
    }
    let facts = [
        ("Started", instant(&manifest.created)),
        ("Suite", manifest.plan.suite.clone()),
        ("Gateways", gateways(&manifest)),
        ("Blocks", manifest.plan.blocks.to_string()),
    ];
    Ok(Side {
        role,
        name: name.to_owned(),
        href: href_of_run(name),
        state: Chip::of_state(state),
        facts: facts.map(|(name, value)| [name.to_owned(), value]).into(),
    })
}

fn summary(app: &App, name: &str) -> Result<RunSummary, Problem> {
    Ok(summarize(name, &Run::open(&app.dir(name)?)?)?)
}
