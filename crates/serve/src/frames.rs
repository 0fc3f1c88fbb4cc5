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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    fn run(name: &str) -> Watched {
        Watched::Run(name.into())
    }

    fn list(filter: &str) -> Watched {
        Watched::List {
            filter: filter.into(),
        }
    }

    /// Gets the frame of a page, which has this text if it is rendered now.
    fn shown(frames: &Frames, watched: &Watched, text: &str) -> String {
        let draw = || Ok(Frame::new(text.to_owned(), false));
        frames.get(watched, draw).unwrap().html.clone()
    }

    /// Sets the age of all frames.
    fn age(frames: &Frames, age: Duration) {
        for (drawn, _) in locked(&frames.0).values_mut() {
            *drawn = Instant::now() - age;
        }
    }

    #[test]
    fn the_page_of_a_run_is_drawn_at_most_about_once_a_second_for_all_readers() {
        let (frames, drawings) = (Frames::default(), AtomicU32::new(0));
        let begun = Instant::now();
        let draw = || {
            drawings.fetch_add(1, Ordering::Relaxed);
            Ok(Frame::new(String::new(), false))
        };
        let is_short = || begun.elapsed() < Duration::from_secs(60);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while drawings.load(Ordering::Relaxed) < 3 && is_short() {
                        frames.get(&run("mine"), draw).unwrap();
                        thread::sleep(Duration::from_millis(5));
                    }
                });
            }
        });
        let (took, drawings) = (begun.elapsed(), drawings.into_inner());
        assert!(drawings >= 3, "{drawings} in {took:?}");
        let took_min = Duration::from_millis(900) * (drawings - 1);
        assert!(took >= took_min, "{drawings} in {took:?}");
    }

    #[test]
    fn the_list_is_drawn_less_often_and_each_page_has_its_own_frame() {
        let frames = Frames::default();
        let pages = [run("mine"), list(""), list("nginx"), run("theirs")];
        for (page, text) in pages.iter().zip(["a", "b", "c", "d"]) {
            assert_eq!(shown(&frames, page, text), text);
        }
        age(&frames, RUN_EVERY);
        let later = pages.each_ref().map(|page| shown(&frames, page, "new"));
        assert_eq!(later, ["new", "b", "c", "new"]);
        age(&frames, LIST_EVERY);
        let later = pages.each_ref().map(|page| shown(&frames, page, "newer"));
        assert_eq!(later, ["newer"; 4]);
    }

    #[test]
    fn only_the_frames_of_open_pages_are_kept() {
        let frames = Frames::default();
        shown(&frames, &run("closed"), "a");
        age(&frames, LIST_EVERY);
        shown(&frames, &run("open"), "b");
        let kept: Vec<Watched> = locked(&frames.0).keys().cloned().collect();
        assert_eq!(kept, [run("open")]);
    }

    #[test]
    fn a_frame_that_cannot_be_drawn_is_tried_again() {
        let frames = Frames::default();
        assert!(frames.get(&run("mine"), || Err(Problem::Busy)).is_err());
        assert_eq!(shown(&frames, &run("mine"), "a"), "a");
    }

    #[test]
    fn the_id_of_a_frame_depends_on_its_text_alone() {
        let id = |text: &str, is_over| Frame::new(text.into(), is_over).id;
        assert_eq!(id("a", false), id("a", true));
        assert_ne!(id("a", false), id("b", false));
    }
}
