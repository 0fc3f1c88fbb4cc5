//! An endurance test in words that every form of the report shares.

use gatebench_analysis::findings::Unit;
use gatebench_analysis::findings::{LeakVerdict, SoakFindings, SoakQuantity, SoakSegment};
use gatebench_analysis::words::{capitalised, duration, grouped, quantity, three_figures};

/// The heading.
pub const TITLE: &str = "Endurance";

/// The section of docs/METHOD.md that says how it is computed.
pub const METHOD: &str = "Soak";

/// How to read it.
pub const EXPLANATION: &str = "What counts is the floor, which is left after giving back: the minima of windows longer than \
     what the series remembers. Its slope is Theil and Sen's, the interval a bootstrap of moving blocks with 95 %.";

/// A quantity as the cells of a row.
pub struct Line {
    /// Its name.
    pub title: String,
    /// The verdict in a word or two.
    pub verdict: &'static str,
    /// Which colour it is told in: `better`, `worse` or `open`.
    pub class: &'static str,
    /// Growth per hour.
    pub slope: String,
    /// Its interval.
    pub interval: String,
    /// The smallest leak that such a run would have seen.
    pub smallest: String,
}

/// The rows of a segment.
pub fn lines(segment: &SoakSegment) -> Vec<Line> {
    segment.quantities.iter().map(line).collect()
}

fn line(found: &SoakQuantity) -> Line {
    let growth = &found.growth;
    let told = |value: Option<f64>| value.map(|it| amount(it, found.unit)).unwrap_or_default();
    let (verdict, class) = match growth.verdict {
        LeakVerdict::Leak => ("grows", "worse"),
        LeakVerdict::NoLeak => ("does not grow", "better"),
        LeakVerdict::Undetermined { .. } => ("undetermined", "open"),
    };
    let interval = growth.interval.map(|it| {
        format!(
            "{} to {}",
            amount(it.low, found.unit),
            amount(it.high, found.unit)
        )
    });
    Line {
        title: capitalised(&found.title),
        verdict,
        class,
        slope: told(growth.slope_per_hour),
        interval: interval.unwrap_or_default(),
        smallest: told(growth.smallest_seen_per_hour),
    }
}

fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => three_figures(value),
        unit => quantity(value, unit),
    }
}

/// The heading over a process, with what happened to it.
pub fn segment_title(found: &SoakFindings, segment: &SoakSegment) -> String {
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
