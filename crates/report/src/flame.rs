//! Flame graphs. The page contains a picture of each, and a separate file can be searched and
//! zoomed in a browser.

use std::{io, iter};

use inferno::flamegraph::{Options, defaults, from_lines};
use serde::Serialize;

/// The width below which a picture leaves out functions: about a pixel of the page.
const PICTURE_WIDTH_MIN_PERCENT: f64 = 0.1;

/// The beginning and the end of each part of an SVG that has no effect in a picture: the script,
/// the tooltips, the search button, and the values that the script reads.
const INTERACTIVE: [[&str; 2]; 6] = [
    ["<script", "</script>"],
    [" onload=\"", "\""],
    ["<title>", "</title>"],
    ["<text id=\"search\"", "</text>"],
    [" fg:x=\"", "\""],
    [" fg:w=\"", "\""],
];

/// The call stacks of one profile, or the difference between two profiles. A function's width is
/// its CPU time per request.
#[derive(Clone, Debug, Serialize)]
pub struct FlameGraph {
    /// The name of the graph's file in the run directory.
    pub file: String,
    /// The title, which names the gateway or the comparison.
    pub title: String,
    pub text: String,
    /// One line for each stack: its functions from the outermost to the innermost, separated by
    /// semicolons, and its width in nanoseconds of CPU time per request. A difference has two
    /// widths, the baseline's first.
    #[serde(skip)]
    pub stacks: Vec<String>,
}

impl FlameGraph {
    /// Draws the graph as SVG that can be searched and zoomed. The same graph always produces the
    /// same SVG.
    ///
    /// # Errors
    /// Fails if the graph has no stacks.
    pub fn svg(&self) -> io::Result<String> {
        self.drawn(defaults::MIN_WIDTH)
    }

    /// Draws the graph as SVG without a script, a tooltip or a function that is too narrow to be
    /// seen. This SVG is much smaller.
    ///
    /// # Errors
    /// Fails if the graph has no stacks.
    pub fn picture(&self) -> io::Result<String> {
        let svg = self.drawn(PICTURE_WIDTH_MIN_PERCENT)?;
        let parts = INTERACTIVE.iter();
        Ok(parts.fold(svg, |svg, [begin, end]| without(&svg, begin, end)))
    }

    fn drawn(&self, width_min_percent: f64) -> io::Result<String> {
        let mut options = Options::default();
        options.title.clone_from(&self.title);
        options.subtitle = Some(self.text.clone());
        options.count_name = "ns per request".into();
        // Derive colors from names instead of choosing them at random.
        options.hash = true;
        options.min_width = width_min_percent;
        let mut drawn = Vec::new();
        let lines = self.stacks.iter().map(String::as_str);
        from_lines(&mut options, lines, &mut drawn)?;
        Ok(String::from_utf8_lossy(&drawn).into_owned())
    }
}

/// Removes each part of a text from `begin` to the next `end`.
fn without(text: &str, begin: &str, end: &str) -> String {
    let mut pieces = text.split(begin);
    let first = pieces.next().unwrap_or_default();
    let rests = pieces.filter_map(|it| it.split_once(end));
    iter::once(first).chain(rests.map(|it| it.1)).collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::chapter::{Block, Chapter, Document, Forms, Part, Report};
    use crate::html::{self, Page};

    /// A report that consists of a flame graph.
    struct Profiled(FlameGraph);

    impl Report for Profiled {
        fn document(&self, _: Forms) -> Document {
            let files = Part::Files {
                files: vec![self.0.clone()],
                pictures: Vec::new(),
            };
            let blocks = vec![Block::card("", vec![files.into()])];
            Document {
                chapters: vec![Chapter::new("profile", "Profile", blocks)],
                ..Document::default()
            }
        }
    }

    /// The narrower of the two functions has a width of 0.05 %.
    fn graph() -> FlameGraph {
        FlameGraph {
            file: "flame-nginx.svg".into(),
            title: "nginx".into(),
            text: "Callers are below.".into(),
            stacks: vec!["main;<serve> 9995".into(), "main;wait 5".into()],
        }
    }

    #[test]
    fn a_picture_has_the_visible_functions_and_nothing_interactive() {
        let (whole, picture) = (graph().svg().unwrap(), graph().picture().unwrap());
        // The background, all stacks, `main`, and one or both of the functions.
        let rectangles = |svg: &str| svg.matches("<rect ").count();
        assert_eq!([rectangles(&whole), rectangles(&picture)], [5, 4]);
        assert!(picture.contains(">&lt;serve&gt;</text>"), "{picture}");
        for part in ["<script", "onload", "<title", ">Search<", "fg:x=", "fg:w="] {
            assert!(whole.contains(part), "{part}: {whole}");
            assert!(!picture.contains(part), "{part}: {picture}");
        }
    }

    #[test]
    fn a_report_contains_the_picture_but_a_served_page_refers_to_the_file() {
        let report = Profiled(graph());
        let page = html::render(&report);
        let (_, rest) = page
            .split_once("<img class=\"flame\" src=\"data:image/svg+xml;base64,")
            .unwrap();
        let (encoded, _) = rest.split_once('"').unwrap();
        let decoded = STANDARD.decode(encoded).unwrap();
        assert_eq!(decoded, graph().picture().unwrap().into_bytes());
        assert!(!page.contains("src=\"flame"), "{page}");
        // The content security policy of served pages forbids pictures in the page.
        let served = html::fill(&[], "page.html", &Page::of(&report));
        let image = "<img class=\"flame\" src=\"flame-nginx.svg\"";
        assert!(served.contains(image), "{served}");
    }
}
