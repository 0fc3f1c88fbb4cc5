//! Flame graphs, each in a separate file that can be searched and zoomed in a browser.

use inferno::flamegraph::{Options, from_lines};
use serde::Serialize;

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
    /// Draws the graph as SVG. The same graph always produces the same SVG.
    ///
    /// # Errors
    /// Fails if the graph has no stacks.
    pub fn svg(&self) -> std::io::Result<String> {
        let mut options = Options::default();
        options.title.clone_from(&self.title);
        options.subtitle = Some(self.text.clone());
        options.count_name = "ns per request".into();
        // Derive colors from names instead of choosing them at random.
        options.hash = true;
        let mut drawn = Vec::new();
        let lines = self.stacks.iter().map(String::as_str);
        from_lines(&mut options, lines, &mut drawn)?;
        Ok(String::from_utf8_lossy(&drawn).into_owned())
    }
}
