//! An endurance test: what grows in each process.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{LeakVerdict, SoakFindings, SoakQuantity, SoakSegment, Unit};
use gatebench_analysis::words::{capitalised, duration, grouped, quantity, three_figures};

use crate::chapter::{Block, Chapter, Chart, Line, Lines, MARKDOWN, PAGE, PANELS, Part, TERMINAL};
use crate::palette::Palette;
use crate::plots::floor;

const TITLE: &str = "Endurance";

/// The section of docs/METHOD.md that says how it is computed.
const METHOD: &str = "Soak";

/// How to read it.
const EXPLANATION: &str = "What counts is the floor, which is left after giving back: the minima of windows longer than \
     what the series remembers. Its slope is Theil and Sen's, the interval a bootstrap of moving blocks with 95 %.";

/// The chapter; none where the run was not made to search for leaks.
pub fn chapter(findings: &Findings, palette: &Palette) -> Option<Chapter> {
    let found = findings.soak.as_ref()?;
    let mut blocks = Vec::from(Block::explanation(EXPLANATION, METHOD));
    let segments = found.segments.iter();
    blocks.extend(segments.map(|segment| card(found, segment, palette)));
    Some(Chapter {
        methods: &[METHOD],
        ..Chapter::new("endurance", TITLE, blocks)
    })
}

/// A process.
fn card(found: &SoakFindings, segment: &SoakSegment, palette: &Palette) -> Block {
    let class = palette.class(&found.variant);
    let chart = |(index, quantity): (usize, &SoakQuantity)| Chart {
        caption: capitalised(&quantity.title),
        text: quantity.text.clone(),
        svg: floor::plot(&format!("soak-{}-{index}", segment.trial), quantity, &class),
        ..Chart::default()
    };
    let title = segment_title(found, segment);
    let name = format!("{} in {}", found.variant, found.scenario);
    let lines = Lines {
        label: name.clone(),
        first: "",
        heads: &["per hour", "interval", "a leak is seen from"],
        lines: segment.quantities.iter().map(line).collect(),
    };
    let blocks = vec![
        Block::heading(format!("{TITLE} · {title}")).on(TERMINAL),
        Block::heading(name).on(PAGE),
        Block::sentence(title).on(MARKDOWN | PAGE),
        Part::Lines(lines).into(),
        Block::charts(PANELS, segment.quantities.iter().enumerate().map(chart)),
    ];
    Block::card("", blocks)
}

fn line(found: &SoakQuantity) -> Line {
    let growth = &found.growth;
    let told = |value: Option<f64>| value.map(|it| amount(it, found.unit)).unwrap_or_default();
    let verdict = match growth.verdict {
        LeakVerdict::Leak => ["grows", "worse"],
        LeakVerdict::NoLeak => ["does not grow", "better"],
        LeakVerdict::Undetermined { .. } => ["undetermined", "open"],
    };
    let interval = growth
        .interval
        .map(|it| [it.low, it.high].map(|it| amount(it, found.unit)));
    let interval = interval.map(|it| it.join(" to ")).unwrap_or_default();
    let slope = told(growth.slope_per_hour);
    // A verdict by the range alone has no slope.
    let per_hour = if slope.is_empty() {
        String::new()
    } else {
        format!("{slope}/h")
    };
    Line {
        name: capitalised(&found.title),
        verdict: Some(verdict),
        brief: vec![verdict[0].to_owned(), per_hour, interval.clone()],
        cells: vec![slope, interval, told(growth.smallest_seen_per_hour)],
        ..Line::default()
    }
}

fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => three_figures(value),
        unit => quantity(value, unit),
    }
}

/// The heading over a process, with what happened to it.
fn segment_title(found: &SoakFindings, segment: &SoakSegment) -> String {
    let number = match found.segments.len() {
        1 => String::new(),
        _ => format!("trial {}, ", segment.trial),
    };
    let mut words = format!(
        "{number}{} at {}: {} answers, {} without an answer, {} failed a check, {} ended",
        duration(segment.measured_seconds),
        found.load,
        grouped(segment.answers as f64),
        grouped(segment.errors as f64),
        grouped(segment.checks_failed as f64),
        match segment.processes_ended {
            0 => "no process".to_owned(),
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        },
    );
    if let (Some(before), Some(after)) = (segment.pss_before_bytes, segment.pss_after_bytes) {
        words.push_str(&format!(
            "; memory (PSS) {} before, {} after",
            quantity(before as f64, Unit::Bytes),
            quantity(after as f64, Unit::Bytes)
        ));
    }
    capitalised(&words)
}
