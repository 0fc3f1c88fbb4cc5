//! The run in a few words, for the head of every report.

use gatebench_analysis::findings::{Placement, RunFacts, Status};

/// How far the run came, in a word.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Running => "not finished",
        Status::Finished => "finished",
        Status::Interrupted => "interrupted",
        Status::Failed => "failed",
    }
}

/// `3 blocks`, or `2 of 3 blocks` where not all are complete.
pub fn blocks(run: &RunFacts) -> String {
    let noun = plural(run.blocks_planned, "block", "blocks");
    share(run.blocks_complete, run.blocks_planned, noun)
}

/// `24 trials`, or `12 of 24 trials` where some are missing.
pub fn trials(run: &RunFacts) -> String {
    let noun = plural(run.trials_planned, "trial", "trials");
    share(run.trials_finished, run.trials_planned, noun)
}

/// `gateway on core 1, engine and upstream on core 0`.
pub fn placement(placement: &Placement) -> String {
    let gateway = match placement.gateway_is_elsewhere {
        true => format!("{} of another host", cores(&placement.gateway)),
        false => cores(&placement.gateway),
    };
    let engine = cores(&placement.engine);
    let upstream = cores(&placement.upstream);
    if engine == upstream {
        format!("gateway on {gateway}, engine and upstream on {engine}")
    } else {
        format!("gateway on {gateway}, engine on {engine}, upstream on {upstream}")
    }
}

fn cores(cores: &[usize]) -> String {
    let list: Vec<String> = cores.iter().map(usize::to_string).collect();
    match list.as_slice() {
        [] => "any core".into(),
        [one] => format!("core {one}"),
        many => format!("cores {}", many.join(", ")),
    }
}

fn share(done: u32, planned: u32, noun: &str) -> String {
    if done == planned {
        format!("{planned} {noun}")
    } else {
        format!("{done} of {planned} {noun}")
    }
}

fn plural(count: u32, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
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
        assert_eq!(words, "gateway on core 1, engine and upstream on core 0");
        placement.gateway_is_elsewhere = true;
        let words = super::placement(&placement);
        assert!(words.starts_with("gateway on core 1 of another host, "));
    }
}
