//! Flame graphs, each a file of its own that a browser can search and zoom.

use gatebench_analysis::findings::FlameGraph;
use inferno::flamegraph::{Options, from_lines};

/// The graph as SVG: the same for the same graph.
///
/// # Errors
/// It has no stacks.
pub fn svg(graph: &FlameGraph) -> std::io::Result<String> {
    let mut options = Options::default();
    options.title.clone_from(&graph.title);
    options.subtitle = Some(graph.text.clone());
    options.count_name = "ns per request".into();
    // Colours by names instead of by chance.
    options.hash = true;
    let mut drawn = Vec::new();
    from_lines(
        &mut options,
        graph.stacks.iter().map(String::as_str),
        &mut drawn,
    )?;
    Ok(String::from_utf8_lossy(&drawn).into_owned())
}
