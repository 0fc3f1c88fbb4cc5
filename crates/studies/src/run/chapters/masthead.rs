//! The head of a report on a terminal or in Markdown, which identifies the run.

use gatebench_model::Placement;
use gatebench_report::chapter::{Block, Chapter, MARKDOWN, Part, TERMINAL};
use gatebench_report::format::{capitalized, counted};
use gatebench_store::Status;

use crate::common::facts::RunFacts;
use crate::common::joined;

/// The title and, on a terminal, the facts about the run.
pub fn chapter(run: &RunFacts) -> Chapter {
    let status = match run.status {
        Status::Finished => String::new(),
        status => format!("{} · ", self::status(status)),
    };
    let title = format!("gatebench · {}", run.title);
    let blocks = vec![
        Block::from(Part::Title(title.into())).on(TERMINAL),
        Block::sentence(format!("{status}{}", measured(run))).on(TERMINAL),
        Block::from(Part::Title(run.title.as_str().into())).on(MARKDOWN),
    ];
    Chapter::of(blocks)
}

/// The state of an unfinished run; empty for a finished run, because the first screen must be
/// short.
pub fn brief(run: &RunFacts) -> Chapter {
    let (status, trials, blocks) = (status(run.status), trials(run), blocks(run));
    let status = format!("{status}: {trials} ended, {blocks} complete");
    let is_finished = run.status == Status::Finished;
    let blocks = (!is_finished).then(|| Block::sentence(capitalized(&status)));
    Chapter::of(blocks.into_iter().collect())
}

/// The facts in a line: `3 blocks · 24 trials · seed 1 · io_uring · gateway on core 1, …`.
pub fn measured(run: &RunFacts) -> String {
    format!(
        "{} · {} · seed {} · {} · {}",
        blocks(run),
        trials(run),
        run.seed,
        run.engine_backend,
        placement(&run.placement),
    )
}

pub fn status(status: Status) -> &'static str {
    match status {
        Status::Running => "not finished",
        Status::Finished => "finished",
        Status::Interrupted => "interrupted",
        Status::Failed => "failed",
    }
}

/// The number of blocks: `3 blocks`, or `2 of 3 blocks` if some are incomplete.
pub fn blocks(run: &RunFacts) -> String {
    share(run.blocks_complete, run.blocks_planned, "block")
}

/// The number of trials: `24 trials`, or `12 of 24 trials` if some are missing.
pub fn trials(run: &RunFacts) -> String {
    share(run.trials_finished, run.trials_planned, "trial")
}

/// The placement as text: `gateway on core 1, load generator and upstream on core 0`.
pub fn placement(placement: &Placement) -> String {
    if placement.is_all_elsewhere() {
        let rest = "load generators and upstream on other machines";
        return match &placement.gateway[..] {
            [] => rest.to_owned(),
            gateway => format!("gateway on {} of its machine, {rest}", cores(gateway)),
        };
    }
    let gateway = match placement.gateway_is_elsewhere {
        true => format!("{} of another host", cores(&placement.gateway)),
        false => cores(&placement.gateway),
    };
    let engine = cores(&placement.engine);
    let upstream = cores(&placement.upstream);
    if engine == upstream {
        format!("gateway on {gateway}, load generator and upstream on {engine}")
    } else {
        format!("gateway on {gateway}, load generator on {engine}, upstream on {upstream}")
    }
}

fn cores(cores: &[usize]) -> String {
    match cores {
        [] => "any core".into(),
        [one] => format!("core {one}"),
        many => format!("cores {}", joined(many, ", ")),
    }
}

fn share(done: u32, planned: u32, noun: &str) -> String {
    let all = counted(planned.into(), noun);
    match done == planned {
        true => all,
        false => format!("{done} of {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_cores_are_named_once() {
        let mut placement = Placement {
            gateway: vec![1],
            engine: vec![0],
            upstream: vec![0],
            note: String::new(),
            siblings: vec![],
            gateway_is_elsewhere: false,
        };
        let words = super::placement(&placement);
        assert_eq!(
            words,
            "gateway on core 1, load generator and upstream on core 0"
        );
        placement.gateway_is_elsewhere = true;
        let words = super::placement(&placement);
        assert!(words.starts_with("gateway on core 1 of another host, "));
        let in_pods = Placement::in_pods(String::new(), vec![1]);
        let words = super::placement(&in_pods);
        assert_eq!(
            words,
            "gateway on core 1 of its machine, load generators and upstream on other machines"
        );
    }
}
