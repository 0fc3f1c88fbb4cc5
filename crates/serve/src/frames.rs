//! Frames: the changing parts of pages. All readers of a page share a frame, which is rendered at
//! most about once a second.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::problem::Problem;
use crate::shared::locked;

const RUN_EVERY: Duration = Duration::from_millis(900);
/// The list is rendered less often, because rendering it reads the directories of all runs.
const LIST_EVERY: Duration = Duration::from_millis(2_900);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Watched {
    List {
        filter: String,
    },
    /// The page of the run with this name.
    Run(String),
}

pub(crate) struct Frame {
    pub(crate) html: String,
    pub(crate) id: String,
    /// True if a different page must replace the open one.
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

/// The latest frames, each with the time when it was rendered.
#[derive(Default)]
pub(crate) struct Frames(Mutex<HashMap<Watched, (Instant, Arc<Frame>)>>);

impl Frames {
    /// Returns the frame of a page, rendering it only if the last frame is too old.
    ///
    /// # Errors
    /// The errors of `draw`.
    pub(crate) fn get(
        &self,
        watched: &Watched,
        draw: impl FnOnce() -> Result<Frame, Problem>,
    ) -> Result<Arc<Frame>, Problem> {
        let every = match watched {
            Watched::List { .. } => LIST_EVERY,
            Watched::Run(_) => RUN_EVERY,
        };
        // The lock is held during rendering, so that other readers wait for this frame.
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
