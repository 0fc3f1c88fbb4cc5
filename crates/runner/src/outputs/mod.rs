//! Sends a run, second by second, to metrics servers and files. No measurement waits for them.
//!
//! A [`Target`] is a command-line argument combined with settings from the environment. Trials pass
//! facts to [`Outputs`], which encodes them once a second and queues them for one sender per
//! target. `feed` turns the records of a load into facts, and `replay` does the same for a run on
//! disk. The load generator's workers are not involved, and a target that fails during the run only
//! causes a warning.

mod client;
mod feed;
mod hub;
mod push;
mod queue;
mod refusal;
mod replay;
mod target;
mod url;

pub use crate::threads::spare_cores;
pub use feed::LoadFeed;
pub(crate) use feed::{TrialFeed, Window, row_of};
pub use hub::{Outputs, Settings};
pub use push::Push;
pub use queue::Delivery;
pub use refusal::Refusal;
pub(crate) use replay::JUDGED;
pub use replay::replay;
pub use target::{Target, TargetError};
