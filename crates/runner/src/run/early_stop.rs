//! Ends a run early if its study needs no more deciding blocks, or if the next block would probably
//! exceed the time limit.

use std::path::Path;
use std::time::{Duration, Instant};

use gatebench_model::Study;
use gatebench_report::format::counted;
use gatebench_studies::{Next, after_block};

use crate::error::RunnerError;

pub(crate) struct EarlyStop {
    study: Study,
    budget: Option<Duration>,
    began: Instant,
    /// The number of completed blocks when this process started the run.
    first_block: Option<u32>,
    /// The highest number of completed blocks in any call of `is_at_a_boundary`.
    asked: u32,
}

/// The part of a run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The deciding blocks are over, for this reason; the blocks for the other metrics remain.
    Deciding(String),
    Run(String),
}

impl EarlyStop {
    pub(crate) fn new(study: Study, budget: Option<Duration>) -> Self {
        Self {
            study,
            budget,
            began: Instant::now(),
            first_block: None,
            asked: 0,
        }
    }

    pub(crate) fn left(&self) -> Option<Duration> {
        Some(self.budget?.saturating_sub(self.began.elapsed()))
    }

    /// Reports whether a block has been completed since the last call.
    pub(crate) fn is_at_a_boundary(&mut self, done: u32) -> bool {
        let first = *self.first_block.get_or_insert(done);
        let is_new = done > self.asked && done > first;
        self.asked = self.asked.max(done);
        is_new
    }

    /// Returns the part of the run that is over before the block `next`; `None` if the run
    /// continues. The time limit also applies to the blocks that remain after the deciding ones.
    pub(crate) fn over(
        &self,
        done: u32,
        next: u32,
        dir: &Path,
    ) -> Result<Option<Over>, RunnerError> {
        let settled = match after_block(&self.study, dir, done, next)? {
            Next::Stop(why) => Some(why),
            Next::Continue | Next::Load(_) => None,
        };
        let measured = done - self.first_block.unwrap_or(0);
        let elapsed = self.began.elapsed();
        let with_next = elapsed + elapsed / measured.max(1);
        let is_over = self.budget.is_some_and(|budget| with_next > budget);
        let blocks = counted(done.into(), "block");
        let why =
            || format!("Ended after {blocks}: the next one would probably exceed the time limit.");
        Ok(part_over(settled, is_over.then(why)))
    }
}

fn part_over(settled: Option<String>, limit: Option<String>) -> Option<Over> {
    match (settled, limit) {
        (Some(settled), Some(limit)) => Some(Over::Run(format!("{settled} {limit}"))),
        (None, Some(limit)) => Some(Over::Run(limit)),
        (settled, None) => settled.map(Over::Deciding),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_is_consulted_once_per_block() {
        let mut early_stop = EarlyStop::new(Study::default(), None);
        // Each block has three trials.
        let asked = [0, 0, 0, 1, 1, 1, 2].map(|done| early_stop.is_at_a_boundary(done));
        assert_eq!(asked, [false, false, false, true, false, false, true]);
        let mut resumed = EarlyStop::new(Study::default(), None);
        let asked = [4, 4, 5].map(|done| resumed.is_at_a_boundary(done));
        assert_eq!(
            asked,
            [false, false, true],
            "four blocks were complete before"
        );
    }

    #[test]
    fn a_budget_ends_the_run_before_the_block_that_would_exceed_it() {
        let mut early_stop = EarlyStop::new(Study::default(), Some(Duration::from_secs(3600)));
        early_stop.is_at_a_boundary(0);
        assert_eq!(early_stop.over(5, 6, Path::new("/")).unwrap(), None);
        let mut over = EarlyStop::new(Study::default(), Some(Duration::ZERO));
        over.is_at_a_boundary(0);
        let why = over.over(5, 6, Path::new("/")).unwrap().unwrap();
        let said = "Ended after 5 blocks: the next one would probably exceed the time limit.";
        assert_eq!(why, Over::Run(said.into()));
    }

    #[test]
    fn a_settled_study_does_not_extend_the_budget() {
        let settled = || Some("Settled after 5 blocks.".to_owned());
        let limit = || Some("Ended after 5 blocks.".to_owned());
        let both = "Settled after 5 blocks. Ended after 5 blocks.";
        assert_eq!(
            part_over(settled(), limit()),
            Some(Over::Run(both.to_owned()))
        );
        assert_eq!(part_over(None, limit()), limit().map(Over::Run));
        assert_eq!(part_over(settled(), None), settled().map(Over::Deciding));
        assert_eq!(part_over(None, None), None);
    }
}
