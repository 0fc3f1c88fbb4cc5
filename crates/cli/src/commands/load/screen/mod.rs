//! The results for people, in at most 100 columns.

mod counts;
mod histogram;
mod paint;
mod percentiles;
mod routes;
mod summary;

use self::paint::Paint;
use super::results::Results;

/// Everything, line by line.
pub fn of(results: &Results<'_>, colors: bool, width: usize) -> String {
    let paint = Paint::new(colors);
    let mut lines = summary::lines(results, paint, width);
    let sections = [
        percentiles::lines(results, paint, width),
        histogram::lines(results, paint, width),
        routes::lines(&results.figures, paint, width),
        counts::lines(results, paint, width),
        summary::judged(results, paint, width),
        summary::cautions(results, paint, width),
    ];
    for section in sections.into_iter().filter(|section| !section.is_empty()) {
        lines.push(String::new());
        lines.extend(section);
    }
    lines.join("\n")
}
