//! Each request by itself, where there are several.

use gatebench_analysis::words::grouped;
use gatebench_engine::RouteRecord;

use super::super::figures::{Figures, Times};
use super::paint::Paint;
use super::percentiles::{COLUMN, cells};

/// Routes that are printed; --json has all.
const SHOWN: usize = 20;
/// Percentiles of a route.
const PERCENTILES: [f64; 2] = [50.0, 99.0];
/// Columns of the figures: sent, failed, two percentiles, max, mean.
const FIGURES: usize = 6 * COLUMN;

/// A row for each request.
pub fn lines(figures: &Figures<'_>, paint: Paint, width: usize) -> Vec<String> {
    let routes: Vec<_> = figures.routes().collect();
    if routes.is_empty() {
        return routes.into_iter().map(|_| String::new()).collect();
    }
    let room = width.saturating_sub(FIGURES).max(10);
    let heads: String = ["sent", "failed", "p50", "p99", "max", "mean"]
        .map(|head| format!("{head:>COLUMN$}"))
        .concat();
    let head = format!(
        "{}{}",
        paint.title(&format!("{:room$}", "Requests")),
        paint.soft(&heads)
    );
    let mut lines = vec![head];
    for (name, route) in routes.iter().take(SHOWN) {
        lines.push(row(name, route, figures.checked, room));
    }
    if routes.len() > SHOWN {
        let more = format!("and {} more: see --json", routes.len() - SHOWN);
        lines.push(paint.soft(&more));
    }
    lines
}

fn row(name: &str, route: &RouteRecord, checked: bool, room: usize) -> String {
    let [_, _, client, server, other] = route.by_class;
    let bad = if checked {
        route.answers_failing_checks
    } else {
        client + server + other
    };
    let failed = bad + route.errors.iter().sum::<u64>();
    let name = shortened(name, room.saturating_sub(1));
    let figures = cells(&Times::of_recording(&route.response), &PERCENTILES);
    let (sent, failed) = (grouped(route.sent as f64), grouped(failed as f64));
    format!("{name:room$}{sent:>COLUMN$}{failed:>COLUMN$}{figures}")
}

/// The end of a path tells more than its beginning.
fn shortened(name: &str, columns: usize) -> String {
    let length = name.chars().count();
    if length <= columns {
        return name.into();
    }
    let kept: String = name.chars().skip(length + 1 - columns).collect();
    format!("…{kept}")
}
