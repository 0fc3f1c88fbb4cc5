//! A history as a page: a plot for each gateway, scenario and metric.

use gatebench_analysis::findings::{HistoryFindings, SeriesFindings};
use gatebench_analysis::words::{capitalised, metric_title};
use serde::Serialize;

use super::EXPLANATION;
use crate::html::pages;
use crate::method;
use crate::number;
use crate::plots::trend;
use crate::verdicts;

/// The sections of the method that it rests on.
const METHODS: [&str; 1] = ["Changes over many runs"];

/// Colours that gateways take in turn.
const COLOURS: usize = 7;

#[derive(Serialize)]
struct Page {
    gatebench: &'static str,
    sentences: Vec<[String; 2]>,
    scenarios: Vec<ScenarioView>,
    runs: Vec<[String; 5]>,
    explanation: &'static str,
    method: Vec<method::Section>,
}

#[derive(Serialize)]
struct ScenarioView {
    name: String,
    gateways: Vec<GatewayView>,
}

#[derive(Serialize)]
struct GatewayView {
    class: String,
    name: String,
    figures: Vec<FigureView>,
}

#[derive(Serialize)]
struct FigureView {
    title: String,
    under: String,
    svg: String,
    changes: Vec<[String; 2]>,
}

/// Writes the page.
pub fn render(found: &HistoryFindings) -> String {
    let sentence = |it: &gatebench_analysis::findings::Sentence| {
        [verdicts::tone(it.tone).to_owned(), it.text.clone()]
    };
    let run = |run: &gatebench_analysis::findings::HistoryRun| {
        [
            run.dir.clone(),
            number::instant(&run.created),
            run.suite.clone(),
            run.blocks.to_string(),
            run.left_out.clone().unwrap_or_default(),
        ]
    };
    pages::render(
        "history.html",
        &Page {
            gatebench: env!("CARGO_PKG_VERSION"),
            sentences: found.headlines.iter().map(sentence).collect(),
            scenarios: scenarios(found),
            runs: found.runs.iter().rev().map(run).collect(),
            explanation: EXPLANATION,
            method: method::sections(&METHODS),
        },
    )
}

fn scenarios(found: &HistoryFindings) -> Vec<ScenarioView> {
    let mut names: Vec<&str> = Vec::new();
    for series in &found.series {
        if !names.contains(&series.gateway.as_str()) {
            names.push(&series.gateway);
        }
    }
    let class = |gateway: &str| {
        let index = names
            .iter()
            .position(|it| *it == gateway)
            .unwrap_or_default();
        format!("v{}", index % COLOURS + 1)
    };
    let mut scenarios: Vec<ScenarioView> = Vec::new();
    for (number, series) in found.series.iter().enumerate() {
        if scenarios.last().is_none_or(|it| it.name != series.scenario) {
            scenarios.push(ScenarioView {
                name: series.scenario.clone(),
                gateways: Vec::new(),
            });
        }
        let Some(scenario) = scenarios.last_mut() else {
            continue;
        };
        if scenario
            .gateways
            .last()
            .is_none_or(|it| it.name != series.gateway)
        {
            scenario.gateways.push(GatewayView {
                class: class(&series.gateway),
                name: series.gateway.clone(),
                figures: Vec::new(),
            });
        }
        let figure = figure(number, series, found, &class(&series.gateway));
        if let Some(gateway) = scenario.gateways.last_mut() {
            gateway.figures.extend(figure);
        }
    }
    scenarios
}

fn figure(
    number: usize,
    series: &SeriesFindings,
    found: &HistoryFindings,
    class: &str,
) -> Option<FigureView> {
    let change = |it: &gatebench_analysis::findings::SeriesChange| {
        [
            if it.worse { "worse" } else { "better" }.to_owned(),
            it.text.clone(),
        ]
    };
    Some(FigureView {
        title: capitalised(metric_title(series.metric)),
        under: match series.searched {
            true => series.load.clone(),
            false => format!("{} · too few runs to tell a change", series.load),
        },
        svg: trend::plot(&format!("t{number}"), series, &found.runs, class)?,
        changes: series.changes.iter().map(change).collect(),
    })
}
