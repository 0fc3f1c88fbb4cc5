//! A comparison of runs as a page.

use gatebench_analysis::findings::{
    CellFindings, CompareFindings, Control, Decision, RunLine, Verdict,
};
use serde::Serialize;

use super::{explanation, role, row, scenarios, shown, title, weight};
use crate::html::pages;
use crate::method;
use crate::number;
use crate::plots::forest::{Forest, Point};
use crate::verdicts;

/// The sections of the method that it rests on.
const METHODS: [&str; 2] = ["Runs beside each other", "Validity"];

#[derive(Serialize)]
struct Page {
    title: String,
    gatebench: String,
    tone: &'static str,
    text: String,
    notes: Vec<String>,
    runs: Vec<RunView>,
    differences: Vec<[String; 4]>,
    scenarios: Vec<ScenarioView>,
    explanation: &'static str,
    method: Vec<method::Section>,
}

#[derive(Serialize)]
struct RunView {
    role: &'static str,
    name: String,
    facts: String,
}

#[derive(Serialize)]
struct ScenarioView {
    name: String,
    effect: String,
    metrics: Vec<MetricView>,
    ticks: String,
}

#[derive(Serialize)]
struct MetricView {
    title: String,
    under: String,
    primary: bool,
    rows: Vec<RowView>,
}

#[derive(Serialize)]
struct RowView {
    class: String,
    gateway: String,
    role: &'static str,
    svg: String,
    baseline: String,
    candidate: String,
    ratio: String,
    interval: String,
    verdict: &'static str,
    verdict_class: &'static str,
    count: String,
    text: String,
}

/// Writes the page.
pub fn render(found: &CompareFindings) -> String {
    let run = |role, run: &RunLine| RunView {
        role,
        name: run.name.clone(),
        facts: format!(
            "{} · {} · {} blocks",
            run.suite,
            number::instant(&run.created),
            run.blocks
        ),
    };
    let mut runs = vec![run("candidate", &found.candidate)];
    runs.extend(found.baseline.iter().map(|it| run("baseline", it)));
    let difference = |it: &gatebench_analysis::findings::RunDifference| {
        let [what, old, new] =
            [&it.what, shown(&it.baseline), shown(&it.candidate)].map(str::to_owned);
        [weight(it.weight).to_owned(), what, old, new]
    };
    let views = scenarios(found).into_iter().enumerate();
    pages::render(
        "compare.html",
        &Page {
            title: title(found),
            gatebench: found.candidate.gatebench.clone(),
            tone: match found.decision {
                Decision::Fine => "plain",
                Decision::Worse => "alarm",
                Decision::Open => "caution",
            },
            text: found.text.clone(),
            notes: found.notes.iter().map(|note| note.text.clone()).collect(),
            runs,
            differences: found.differences.iter().map(difference).collect(),
            scenarios: views.map(|(at, name)| scenario(found, at, name)).collect(),
            explanation: explanation(found.mode),
            method: method::sections(&METHODS),
        },
    )
}

fn scenario(found: &CompareFindings, at: usize, name: &str) -> ScenarioView {
    let cells: Vec<&CellFindings> = found
        .cells
        .iter()
        .filter(|it| it.scenario == name)
        .collect();
    let effect = cells.first().map_or(0.0, |it| it.smallest_effect);
    let forest = Forest::covering(effect, cells.iter().map(|it| &it.result));
    let mut gateways: Vec<&str> = Vec::new();
    for cell in cells.iter().filter(|it| it.control != Some(Control::Floor)) {
        if !gateways.contains(&cell.gateway.as_str()) {
            gateways.push(&cell.gateway);
        }
    }
    let mut number = 0;
    let mut view = |cell: &&CellFindings| {
        number += 1;
        let colour = gateways.iter().position(|it| *it == cell.gateway);
        let class = colour.map_or_else(|| "v0".to_owned(), |index| format!("v{}", index % 7 + 1));
        row_view(cell, found, &forest, (&format!("c{at}-{number}"), class))
    };
    let metrics =
        cells.chunk_by(|a, b| (a.primary, a.metric, &a.phase) == (b.primary, b.metric, &b.phase));
    let metrics = metrics
        .map(|cells| MetricView {
            title: row(cells[0], found.mode).metric,
            under: cells[0].load.clone(),
            primary: cells
                .iter()
                .any(|it| it.primary && it.control != Some(Control::Floor)),
            rows: cells.iter().map(&mut view).collect(),
        })
        .collect();
    ScenarioView {
        name: name.to_owned(),
        effect: format!("{} %", effect * 100.0),
        metrics,
        ticks: forest.ticks(&format!("c{at}-ticks")),
    }
}

fn row_view(
    cell: &CellFindings,
    found: &CompareFindings,
    forest: &Forest,
    (id, class): (&str, String),
) -> RowView {
    let words = row(cell, found.mode);
    let point = Point {
        title: &format!("{}: candidate ÷ baseline", cell.gateway),
        text: &cell.text,
        result: &cell.result,
        noise: None,
    };
    RowView {
        svg: forest.point(id, &point, &class),
        class,
        gateway: words.gateway,
        role: role(cell.control),
        baseline: words.baseline,
        candidate: words.candidate,
        ratio: words.ratio,
        interval: words.interval,
        verdict: words.verdict,
        verdict_class: match (cell.result.verdict, cell.control) {
            (Verdict::Better | Verdict::Worse, Some(_)) => "limited",
            (verdict, _) => verdicts::class(verdict),
        },
        count: words.count,
        text: cell.text.clone(),
    }
}
