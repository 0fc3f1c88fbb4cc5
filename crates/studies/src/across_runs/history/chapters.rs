//! The report of the history of a folder of runs.

use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, Document, Fact, Forms, Head, Line, Lines, PAGE, Part, Report, TERMINAL,
    Text,
};
use gatebench_report::chart::lines::{Dot, Panel, Series};
use gatebench_report::chart::{Names, Ticked, lines};
use gatebench_report::format::{UnitScale, capitalized, counted, distinct, instant};
use gatebench_report::palette::Palette;

use super::facts::{HistoryFindings, HistoryRun, SeriesChange, SeriesFindings, SeriesPoint};

/// The sections of docs/METHOD.md that describe the search.
const METHODS: [&str; 1] = ["Changes over many runs"];

/// The meaning of a change, for readers who do not know the method.
const EXPLANATION: &str = "A change is reported if, at several looks in a row, random orders of \
     the runs rarely show a change at least this large (e-divisive; consecutive runs are reordered \
     in groups). Across all series and all looks, chance alone causes a report in at most 5 of \
     100 histories. If every run has a direct variant, the changes that a gateway shares with it are \
     removed before the search. Runs on another machine, or under another load, form a separate \
     series.";

const TRENDS: &str = "Each point is the median of a run's blocks, and the line through it is their \
     range; a thick line is the level between changes. A hollow point is not searched, because \
     its value is limited or the gateway spoiled blocks of the run.";

/// The maximum number of bars in a line. If there are more runs, only the latest are shown.
const BARS_MAX: usize = 12;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The share of the values' range that is left empty above and below them.
const MARGIN: f64 = 0.08;

impl Report for HistoryFindings {
    fn document(&self, form: Forms) -> Document {
        let chapters = [findings(self), trends(self), runs(self)];
        Document {
            brand: "history".to_owned(),
            title: format!("History of {}", counted(self.runs.len() as u64, "run")),
            chapters: chapters.into_iter().map(|it| it.only(form)).collect(),
            methods: METHODS.into(),
            foot: Text::from("Written by ")
                .and_styled("mono", "gatebench history")
                .and(" from the run directories."),
            gatebench: env!("CARGO_PKG_VERSION").to_owned(),
            ..Document::default()
        }
    }
}

fn findings(found: &HistoryFindings) -> Chapter {
    let runs = counted(found.runs.len() as u64, "run");
    let title = format!("gatebench history · {runs}");
    let left_out = found.runs.iter().filter_map(|run| {
        let why = run.left_out.as_ref()?;
        Some(Fact::remark(format!("{} is left out: {why}.", run.dir)))
    });
    let card = vec![
        Block::facts("sentences", found.headlines.iter().map(Fact::from)),
        Block::foot(EXPLANATION, METHODS[0]).on(!TERMINAL),
    ];
    let blocks = vec![
        Block::from(Part::Title(title.into())).on(TERMINAL),
        Block::card("", card),
        Block::facts("", left_out).on(TERMINAL),
    ];
    Chapter::new("findings", "Findings", blocks)
}

/// The series of each scenario: a table on a terminal and in Markdown, and charts on the page.
fn trends(found: &HistoryFindings) -> Chapter {
    let gateways = distinct(found.series.iter().map(|it| &*it.gateway));
    let palette = &Palette::of_labels(&gateways);
    let numbered: Vec<(usize, &SeriesFindings)> = found.series.iter().enumerate().collect();
    let mut blocks = vec![Block::lead(TRENDS, "").on(!TERMINAL)];
    for of_scenario in numbered.chunk_by(|a, b| a.1.scenario == b.1.scenario) {
        let mut card = vec![
            Block::heading(&*of_scenario[0].1.scenario),
            table(of_scenario).on(!PAGE),
        ];
        for of_gateway in of_scenario.chunk_by(|a, b| a.1.gateway == b.1.gateway) {
            let gateway = &of_gateway[0].1.gateway;
            let class = palette.class(gateway);
            let charts = of_gateway.iter();
            let charts = charts.filter_map(|(number, it)| chart(*number, it, found, &class));
            let blocks = vec![
                Block::colored_heading(&**gateway),
                Block::charts("panels wide", charts),
            ];
            card.push(Block::row(format!("{class} trialrow"), blocks).on(PAGE));
        }
        blocks.push(Block::card("", card));
    }
    blocks.push(Block::foot(EXPLANATION, "").on(TERMINAL));
    Chapter::new("trends", "Trends", blocks)
}

fn table(found: &[(usize, &SeriesFindings)]) -> Block {
    let heads = Head::row("gateway | metric | load | runs | first | last || changes");
    Lines::new("", heads, found.iter().map(|(_, it)| line(it))).into()
}

fn line(series: &SeriesFindings) -> Line {
    let value = |point: Option<&SeriesPoint>| {
        let value = point.map(|it| UnitScale::of(it.value, series.unit).full(it.value));
        value.unwrap_or_default()
    };
    let changes = match series.searched {
        true => series.changes.len().to_string(),
        false => "–".to_owned(),
    };
    let cells = vec![
        series.metric.title().into(),
        series.load.as_str().into(),
        series.points.len().to_string().into(),
        value(series.points.first()).into(),
        value(series.points.last()).into(),
        bars(series).into(),
        changes.into(),
    ];
    Line::new(&*series.gateway, cells)
}

/// The values of the latest runs as bars, scaled between the smallest and the largest of them.
fn bars(series: &SeriesFindings) -> String {
    let begin = series.points.len().saturating_sub(BARS_MAX);
    let values: Vec<f64> = series.points[begin..].iter().map(|it| it.value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: &f64| {
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.0
        };
        BARS[(share * (BARS.len() - 1) as f64).round() as usize]
    };
    values.iter().map(height).collect()
}

fn chart(
    number: usize,
    series: &SeriesFindings,
    found: &HistoryFindings,
    class: &str,
) -> Option<Chart> {
    let change = |it: &SeriesChange| {
        let word = if it.worse { "worse" } else { "better" };
        Text::chip(word, word).and(&format!(" {}", it.text))
    };
    let aside = match series.searched {
        true => series.load.clone(),
        false => format!("{} · too few runs to detect a change", series.load),
    };
    Some(Chart {
        caption: capitalized(series.metric.title()),
        aside: aside.into(),
        notes: series.changes.iter().map(change).collect(),
        svg: trend(&format!("t{number}"), series, &found.runs, class)?,
        ..Chart::default()
    })
}

/// Draws a series run by run; `None` if it has no points.
fn trend(id: &str, series: &SeriesFindings, runs: &[HistoryRun], class: &str) -> Option<String> {
    let points = &series.points;
    let (first, last) = (points.first()?, points.last()?);
    let lows = points.iter().map(|it| it.min);
    let lowest = lows.fold(f64::INFINITY, f64::min);
    let highest = points.iter().map(|it| it.max).fold(0.0, f64::max);
    let free = (MARGIN * (highest - lowest))
        .max(0.01 * highest)
        .max(f64::MIN_POSITIVE);
    let scale = UnitScale::of(highest, series.unit);
    let description = format!(
        "{} from {} to {}; the first value is {}, the last is {}; changes: {}.",
        counted(points.len() as u64, "run"),
        runs[first.run].dir,
        runs[last.run].dir,
        scale.full(first.value),
        scale.full(last.value),
        series.changes.len()
    );
    let middle = |index: usize| index as f64 + 0.5;
    let day = |index: usize| {
        let created = runs[points[index].run].created.to_string();
        (middle(index), created.chars().take(10).collect::<String>())
    };
    let mut days = vec![day(0)];
    if first.run != last.run {
        days.push(day(points.len() - 1));
    }
    let values = points.iter().enumerate();
    let dot = |(index, point): (usize, &SeriesPoint)| {
        let style = match point.limited || point.spoiled > 0 {
            true => "dot hollow",
            false => "dot",
        };
        let tip = tip(point, &runs[point.run], scale);
        Dot::new((middle(index), point.value), style, tip)
    };
    let mut drawn = levels(series, class);
    drawn.push(Series {
        class: class.to_owned(),
        ranges: values
            .clone()
            .map(|(index, it)| (middle(index), it.min, it.max))
            .collect(),
        dots: values.map(dot).collect(),
        ..Series::default()
    });
    let up = Axis::linear(((lowest - free).max(0.0), highest + free));
    let rule = |it: &SeriesChange| {
        let style = if it.worse { "change worse" } else { "change" };
        (style, it.at as f64)
    };
    let names = Names::new(
        id,
        format!("{} in {}", series.gateway, series.scenario),
        description,
    );
    let across = Ticked::with(Axis::linear((0.0, points.len() as f64)), days);
    let up = Ticked::new(up, |tick| scale.tick(tick));
    let chart = lines::Lines {
        rules: series.changes.iter().map(rule).collect(),
        ..lines::Lines::new(names, class, across, Panel::new(122.0, up, drawn))
    };
    Some(chart.draw())
}

/// Horizontal lines at the levels between the changes.
fn levels(series: &SeriesFindings, class: &str) -> Vec<Series> {
    let level = |from: usize, to: usize, value: f64| Series {
        class: class.to_owned(),
        style: "tick",
        line: vec![(from as f64, value), (to as f64, value)],
        ..Series::default()
    };
    let mut begin = 0;
    let mut levels = Vec::new();
    for change in &series.changes {
        levels.push(level(begin, change.at, change.before));
        begin = change.at;
    }
    let last = series.changes.last();
    levels.extend(last.map(|it| level(it.at, series.points.len(), it.after)));
    levels
}

fn tip(point: &SeriesPoint, run: &HistoryRun, scale: UnitScale) -> String {
    let limited = if point.limited { ", limited" } else { "" };
    let spoiled = match point.spoiled {
        0 => String::new(),
        blocks => format!(", {blocks} more spoiled by the gateway"),
    };
    format!(
        "{} ({}): {}, blocks from {} to {}{limited}{spoiled}",
        run.dir,
        point.version,
        scale.full(point.value),
        scale.full(point.min),
        scale.full(point.max)
    )
}

fn runs(found: &HistoryFindings) -> Chapter {
    let line = |run: &HistoryRun| {
        let cells = vec![
            instant(&run.created).into(),
            run.suite.as_str().into(),
            run.blocks.to_string().into(),
            run.left_out.clone().unwrap_or_default().into(),
        ];
        Line::new(&*run.dir, cells)
    };
    let heads = Head::row("run | began | suite |> blocks |");
    let lines = Lines::new("Runs", heads, found.runs.iter().rev().map(line));
    let card = Block::card("", vec![lines.into()]).on(PAGE);
    Chapter::new("runs", "Runs", vec![card])
}
