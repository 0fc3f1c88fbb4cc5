//! The parts of pages that change, drawn at most once a second for all readers together.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::problem::Problem;
use crate::shared::locked;

const RUN_EVERY: Duration = Duration::from_millis(900);
/// A look at all runs reads their directories.
const LIST_EVERY: Duration = Duration::from_millis(2_900);

/// A page that changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Watched {
    /// The list of runs that have these words.
    List { filter: String },
    /// The run of this name.
    Run(String),
}

/// The changing part of a page.
pub(crate) struct Frame {
    pub(crate) html: String,
    /// Differs when the part does.
    pub(crate) id: String,
    /// True if the page itself is another one now.
    pub(crate) is_over: bool,
}

impl Frame {
    pub(crate) fn new(html: String, is_over: bool) -> Self {
        let mut hasher = DefaultHasher::new();
        html.hash(&mut hasher);
        Self {
            id: format!("{:016x}", hasher.finish()),
            html,
            is_over,
        }
    }
}

/// The latest frames and when they were drawn.
#[derive(Default)]
pub(crate) struct Frames(Mutex<HashMap<Watched, (Instant, Arc<Frame>)>>);

impl Frames {
    /// Returns the frame of a page, which may be as old as two frames are apart.
    ///
    /// # Errors
    /// Those of the drawing.
    pub(crate) fn get(
        &self,
        watched: &Watched,
        draw: impl FnOnce() -> Result<Frame, Problem>,
    ) -> Result<Arc<Frame>, Problem> {
        let every = match watched {
            Watched::List { .. } => LIST_EVERY,
            Watched::Run(_) => RUN_EVERY,
        };
        // Held while it is drawn, so that others wait for the same frame.
        let mut frames = locked(&self.0);
        frames.retain(|_, (drawn, _)| drawn.elapsed() < LIST_EVERY);
        if let Some((drawn, frame)) = frames.get(watched)
            && drawn.elapsed() < every
        {
            return Ok(Arc::clone(frame));
        }
        let frame = Arc::new(draw()?);
        frames.insert(watched.clone(), (Instant::now(), Arc::clone(&frame)));
        Ok(frame)
    }
}
