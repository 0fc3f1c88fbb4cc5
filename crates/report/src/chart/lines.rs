//! Draws lines, points and ranges in one panel, or in several panels that share the horizontal
//! axis.

use super::{BELOW, GAP, LABEL_GAP, Names, Ticked, WIDE, label, room, spread};
use crate::axis::Axis;
use crate::svg::{Anchor, Svg};

const TOP: f64 = 10.0;
const TITLE: f64 = 26.0;
/// The space to the right of a chart whose lines have no labels.
const RIGHT: f64 = 12.0;
const LABEL_COLUMNS: usize = 14;
/// The width of bold labels relative to other labels.
const BOLD: f64 = 1.2;

/// A line chart with one or more panels, which share the horizontal axis.
pub struct Lines<'a> {
    pub names: Names,
    pub width: f64,
    /// The CSS class that sets the color of elements without a class.
    pub class: &'a str,
    /// The horizontal axis that the panels share.
    pub across: Ticked,
    /// Ranges of the horizontal axis that are shaded in all panels.
    pub bands: Vec<(f64, f64)>,
    /// The vertical lines that cross all panels, each with its CSS class and position.
    pub rules: Vec<(&'static str, f64)>,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
}

/// A panel with a separate vertical axis.
pub struct Panel {
    /// The caption, or empty.
    pub title: &'static str,
    /// The minimum height, in pixels.
    pub height: f64,
    pub up: Ticked,
    /// Limits that the values should not exceed, each with its label.
    pub bounds: Vec<(f64, String)>,
    pub series: Vec<Series>,
}

/// A series of values.
#[derive(Default)]
pub struct Series {
    /// The CSS class that sets the color.
    pub class: String,
    /// The label at the end of the line, or empty.
    pub label: String,
    pub style: &'static str,
    pub line: Vec<(f64, f64)>,
    /// The vertical ranges, each with its position, low end and high end.
    pub ranges: Vec<(f64, f64, f64)>,
    pub dots: Vec<Dot>,
}

/// A point with its mark and tooltip.
pub struct Dot {
    /// The values on the horizontal and the vertical axis.
    pub at: (f64, f64),
    pub style: &'static str,
    pub radius: f64,
    pub tip: String,
}

#[derive(Clone, Copy)]
struct Area {
    top: f64,
    bottom: f64,
    left: f64,
    right: f64,
    across: Axis,
    up: Axis,
}

impl<'a> Lines<'a> {
    /// Creates a wide chart with one panel.
    pub fn new(names: Names, class: &'a str, across: Ticked, panel: Panel) -> Self {
        Self {
            names,
            width: WIDE,
            class,
            across,
            bands: Vec::new(),
            rules: Vec::new(),
            panels: vec![panel],
        }
    }

    /// Returns the chart as an SVG element, or an empty string if there are no panels.
    pub fn draw(&self) -> String {
        let areas = self.areas();
        let Some(bottom) = areas.last().map(|it| it.bottom) else {
            return String::new();
        };
        let below = if self.across.name.is_empty() {
            0.0
        } else {
            16.0
        };
        let mut svg = self.names.svg((self.width, bottom + BELOW + below));
        svg.begin_group(self.class);
        let (across, middle) = (areas[0].across, (areas[0].left + areas[0].right) / 2.0);
        for (low, high) in &self.bands {
            let (low, high) = (across.at(*low), across.at(*high));
            svg.rect("band", (low, TOP), (high - low, bottom - TOP), 0.0);
        }
        let panels = || self.panels.iter().zip(&areas);
        panels().for_each(|(panel, area)| panel.frame(&mut svg, area, &self.across));
        for (style, at) in &self.rules {
            let x = across.at(*at);
            svg.line(style, (x, TOP), (x, bottom));
        }
        panels().for_each(|(panel, area)| panel.series(&mut svg, area));
        svg.end_group();
        self.across.below(&mut svg, across, bottom, self.width);
        let at = (middle, bottom + 34.0);
        if !self.across.name.is_empty() {
            svg.text("", at, Anchor::Middle, &self.across.name);
        }
        svg.finish()
    }

    fn areas(&self) -> Vec<Area> {
        let ticks = self.panels.iter().flat_map(|it| &it.up.ticks);
        let left = room(ticks.map(|(_, label)| &**label)) + GAP;
        let series = || self.panels.iter().flat_map(|it| &it.series);
        let labels: Vec<String> = series().map(Series::short).collect();
        let labels = room(labels.iter().map(|it| &**it));
        let right = match labels > 0.0 {
            true => self.width - labels * BOLD - GAP,
            false => self.width - RIGHT,
        };
        let across = self.across.axis.on((left, right));
        let mut end = TOP;
        let area = |panel: &Panel| {
            let top = end + if panel.title.is_empty() { 0.0 } else { TITLE };
            let labels = panel.series.iter().filter(|it| !it.label.is_empty());
            end = top + panel.height.max(LABEL_GAP * (labels.count() + 1) as f64);
            Area {
                top,
                bottom: end,
                left,
                right,
                across,
                up: panel.up.axis.on((end, top)),
            }
        };
        self.panels.iter().map(area).collect()
    }
}

impl Panel {
    pub fn new(height: f64, up: Ticked, series: Vec<Series>) -> Self {
        Self {
            title: "",
            height,
            up,
            bounds: Vec::new(),
            series,
        }
    }

    fn frame(&self, svg: &mut Svg, area: &Area, across: &Ticked) {
        if !self.title.is_empty() {
            let at = (area.left, area.top - 8.0);
            svg.text("", at, Anchor::Start, self.title);
        }
        for (tick, label) in &self.up.ticks {
            let y = area.up.at(*tick);
            svg.line("grid", (area.left, y), (area.right, y));
            svg.text("", (area.left - 6.0, y + 4.0), Anchor::End, label);
        }
        for (tick, _) in &across.ticks {
            let x = area.across.at(*tick);
            svg.line("grid", (x, area.top), (x, area.bottom));
        }
        let y = area.bottom;
        svg.line("base", (area.left, y), (area.right, y));
        let bounds = self.bounds.iter().map(|(bound, _)| area.up.at(*bound));
        let bounds: Vec<f64> = bounds.collect();
        let mut heights: Vec<f64> = bounds.iter().map(|y| y - 5.0).collect();
        spread(&mut heights, LABEL_GAP, area.top + 8.0, area.bottom);
        for ((y, height), (_, words)) in bounds.iter().zip(heights).zip(&self.bounds) {
            svg.line("slo", (area.left, *y), (area.right, *y));
            svg.text("slo", (area.left + 6.0, height), Anchor::Start, words);
        }
    }

    fn series(&self, svg: &mut Svg, area: &Area) {
        let labeled = self.series.iter().filter(|it| !it.label.is_empty());
        let ends = labeled.filter_map(|it| Some((it, area.place(it.end()?))));
        let ends: Vec<(&Series, (f64, f64))> = ends.collect();
        let mut heights: Vec<f64> = ends.iter().map(|(_, at)| at.1).collect();
        spread(&mut heights, LABEL_GAP, area.top + 4.0, area.bottom - 2.0);
        for series in &self.series {
            svg.begin_group(&series.class);
            series.draw(svg, area);
            svg.end_group();
        }
        for ((series, (x, _)), height) in ends.iter().zip(heights) {
            svg.begin_group(&series.class);
            let at = (x + 6.0, height + 4.0);
            svg.text("label", at, Anchor::Start, &series.short());
            svg.end_group();
        }
    }
}

impl Series {
    fn short(&self) -> String {
        label(&self.label, LABEL_COLUMNS)
    }

    /// Returns the position of the label: the last point of the line or, if there is no line, the
    /// last dot.
    fn end(&self) -> Option<(f64, f64)> {
        let dot = self.dots.last().map(|it| it.at);
        self.line.last().copied().or(dot)
    }

    fn draw(&self, svg: &mut Svg, area: &Area) {
        for (at, low, high) in &self.ranges {
            svg.line("range", area.place((*at, *low)), area.place((*at, *high)));
        }
        let line: Vec<(f64, f64)> = self.line.iter().map(|it| area.place(*it)).collect();
        svg.polyline(self.style, &line);
        for dot in &self.dots {
            svg.dot(dot.style, area.place(dot.at), dot.radius, &dot.tip);
        }
    }
}

impl Dot {
    pub fn new(at: (f64, f64), style: &'static str, tip: String) -> Self {
        Self {
            at,
            style,
            radius: 3.5,
            tip,
        }
    }
}

impl Area {
    fn place(&self, at: (f64, f64)) -> (f64, f64) {
        (self.across.at(at.0), self.up.at(at.1))
    }
}
