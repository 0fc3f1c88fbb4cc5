//! Ends a run before its plan does: when its comparison is settled, or its time is used up.

use std::path::Path;
use std::time::{Duration, Instant};

use gatebench_analysis::is_settled;
use gatebench_store::Run;

use crate::error::LabError;

/// When a run may end.
pub(crate) struct Early {
    /// Whether it is made for a comparison.
    has_duel: bool,
    budget: Option<Duration>,
    began: Instant,
    /// The block that was under way when this process took the run up.
    first_block: Option<u32>,
    /// The last block that was asked about.
    asked: u32,
}

impl Early {
    pub(crate) fn new(has_duel: bool, budget: Option<Duration>) -> Self {
        Self {
            has_duel,
            budget,
            began: Instant::now(),
            first_block: None,
            asked: 0,
        }
    }

    /// What is left of the time the run may take.
    pub(crate) fn left(&self) -> Option<Duration> {
        Some(self.budget?.saturating_sub(self.began.elapsed()))
    }

    /// Whether so many blocks are done for the first time.
    pub(crate) fn is_at_a_boundary(&mut self, done: u32) -> bool {
        let first = *self.first_block.get_or_insert(done);
        let is_new = done > self.asked && done > first;
        self.asked = self.asked.max(done);
        is_new
    }

    /// Why the run ends after so many blocks; none where it goes on.
    pub(crate) fn why(&self, done: u32, dir: &Path) -> Result<Option<String>, LabError> {
        if self.has_duel && is_settled(&Run::open(dir)?)? {
            return Ok(Some(format!("Settled after {}.", blocks(done))));
        }
        let measured = done - self.first_block.unwrap_or(0);
        let elapsed = self.began.elapsed();
        let with_next = elapsed + elapsed / measured.max(1);
        let is_over = self.budget.is_some_and(|budget| with_next > budget);
        Ok(is_over.then(|| format!("Ended after {}: the time for it was used up.", blocks(done))))
    }
}

fn blocks(count: u32) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} block{s}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_block_is_asked_about_once() {
        let mut early = Early::new(false, None);
        // Three trials a block.
        let asked = [0, 0, 0, 1, 1, 1, 2].map(|done| early.is_at_a_boundary(done));
        assert_eq!(asked, [false, false, false, true, false, false, true]);
        let mut resumed = Early::new(false, None);
        let asked = [4, 4, 5].map(|done| resumed.is_at_a_boundary(done));
        assert_eq!(asked, [false, false, true], "the fourth was done before");
    }

    #[test]
    fn a_budget_ends_it_before_the_block_that_would_exceed_it() {
        let mut early = Early::new(false, Some(Duration::from_secs(3600)));
        early.is_at_a_boundary(0);
        assert_eq!(early.why(5, Path::new("/")).unwrap(), None);
        let mut over = Early::new(false, Some(Duration::ZERO));
        over.is_at_a_boundary(0);
        let why = over.why(5, Path::new("/")).unwrap().unwrap();
        assert_eq!(why, "Ended after 5 blocks: the time for it was used up.");
    }
}
