//! Draws comparisons as points with whiskers, one per row, on a common axis of ratios.

use gatebench_stats::{Comparison, Interval};

use crate::axis::Axis;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 360.0;
const MARGIN: f64 = 16.0;
const ROW: f64 = 30.0;
const TICKS: f64 = 22.0;

/// The axis that all rows share.
#[derive(Clone, Copy)]
pub struct Forest {
    axis: Axis,
    ticks: &'static [f64],
    /// The band of ratios in which a difference does not matter.
    band: (f64, f64),
}

/// A row of the plot.
pub struct Point<'a> {
    /// The title for screen readers.
    pub title: &'a str,
    /// The comparison as a sentence.
    pub text: &'a str,
    pub result: &'a Comparison,
    /// The noise of the machine: the interval of a comparison between the baseline and its second
    /// process.
    pub noise: Option<Interval>,
}

impl Forest {
    /// Returns an axis that covers the intervals of these results (or the ratio of a result that
    /// has no interval) and the band of effects that do not matter. `effect` is the smallest effect
    /// that matters.
    pub fn covering<'a>(effect: f64, results: impl Iterator<Item = &'a Comparison>) -> Self {
        let band = (1.0 - effect, 1.0 + effect);
        let ends = results.flat_map(|result| {
            let whole = (result.ratio, result.ratio);
            let (low, high) = result.interval.map_or(whole, |it| (it.low, it.high));
            [low, high].into_iter().filter(|end| end.is_finite())
        });
        let (axis, ticks) = Axis::of_ratios(ends.chain([band.0, band.1]));
        let axis = axis.on((MARGIN, WIDTH - MARGIN));
        Self { axis, ticks, band }
    }

    /// Draws the row of a comparison. The CSS class `class` sets its color.
    pub fn point(&self, id: &str, point: &Point<'_>, class: &str) -> String {
        let mut svg = Svg::new(id, (WIDTH, ROW), point.title, point.text);
        self.backdrop(&mut svg, ROW);
        if let Some(noise) = point.noise {
            let (low, high) = (self.axis.at(noise.low), self.axis.at(noise.high));
            svg.rect("noise", (low, 3.0), (high - low, ROW - 6.0), 2.0);
        }
        let middle = ROW / 2.0;
        svg.begin_group(class);
        let at = (self.axis.at(point.result.ratio), middle);
        if let Some(interval) = point.result.interval {
            let ends = (self.axis.at(interval.low), self.axis.at(interval.high));
            svg.interval("whisker", ends, middle, 4.0);
            svg.dot("mean", at, 4.5, point.text);
        } else if point.result.ratio.is_finite() {
            svg.dot("dot hollow", at, 4.0, point.text);
        }
        svg.end_group();
        svg.finish()
    }

    /// Draws the ticks below the last row.
    pub fn ticks(&self, id: &str) -> String {
        let (title, description) = ("Ratio", "Candidate divided by baseline; 1 means equal.");
        let mut svg = Svg::new(id, (WIDTH, TICKS), title, description);
        for tick in self.ticks {
            let x = self.axis.at(*tick);
            svg.line("base", (x, 0.0), (x, 5.0));
            svg.text("", (x, 18.0), Anchor::Middle, &format!("{tick}×"));
        }
        svg.finish()
    }

    fn backdrop(&self, svg: &mut Svg, height: f64) {
        let (low, high) = (self.axis.at(self.band.0), self.axis.at(self.band.1));
        svg.rect("band", (low, 0.0), (high - low, height), 0.0);
        for tick in self.ticks {
            let x = self.axis.at(*tick);
            let class = if *tick == 1.0 { "one" } else { "grid" };
            svg.line(class, (x, 0.0), (x, height));
        }
    }
}
