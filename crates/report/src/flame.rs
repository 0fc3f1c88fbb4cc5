//! Flame graphs, each in a separate file that a browser can search and zoom.

use inferno::flamegraph::{Options, from_lines};
use serde::Serialize;

/// Stacks of functions; the width of each is the time that it uses.
#[derive(Clone, Debug, Serialize)]
pub struct FlameGraph {
    /// The file that it is drawn to, in the run directory.
    pub file: String,
    /// Whose it is.
    pub title: String,
    /// An explanation for the reader.
    pub text: String,
    /// A line for each stack: its functions from the outermost on, between semicolons, and its
    /// width in nanoseconds of CPU time per request; in a difference two widths, first the one that
    /// it is compared with.
    #[serde(skip)]
    pub stacks: Vec<String>,
}

impl FlameGraph {
    /// The graph as SVG: the same for the same graph.
    ///
    /// # Errors
    /// It has no stacks.
    pub fn svg(&self) -> std::io::Result<String> {
        let mut options = Options::default();
        options.title.clone_from(&self.title);
        options.subtitle = Some(self.text.clone());
        options.count_name = "ns per request".into();
        // Colours by names instead of by chance.
        options.hash = true;
        let mut drawn = Vec::new();
        let lines = self.stacks.iter().map(String::as_str);
        from_lines(&mut options, lines, &mut drawn)?;
        Ok(String::from_utf8_lossy(&drawn).into_owned())
    }
}
