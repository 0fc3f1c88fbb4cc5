//! Rules for specifications, in particular for the order of their steps.

use gatebench_config::{Node, Problem};

use super::load::change_fits;
use super::{not_zero, unique};
use crate::specification::{KnownStep, SAVE_ERROR_LOG, SETUP, START_GATEWAY, START_LOAD, STEPS};

pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    unique(root.list("tags"), "tags", "name it once", problems);
    let nodes = root.list("steps");
    let steps = nodes.iter().filter_map(|node| Some((known(node)?, node)));
    let steps: Vec<(&KnownStep, &Node)> = steps.collect();
    missing(root, &steps, problems);
    for (index, (step, node)) in steps.iter().enumerate() {
        let (before, after) = (&steps[..index], &steps[index + 1..]);
        if has(before, step.word) {
            let help = match step.word {
                START_LOAD | "wait_result" => {
                    "a specification has one load; `runs:` repeats it in the same process"
                }
                _ => "keep one of them",
            };
            let message = format!("`{}` occurs twice", step.word);
            problems.push(Problem::new(node.head(), message, help));
        }
        // Of the later steps that belong before this one, only the first is reported. Duplicates
        // are reported separately.
        let late = |other: &KnownStep| other.place < step.place && !has(before, other.word);
        if let Some((other, _)) = after.iter().find(|(other, _)| late(other)) {
            let message = format!("`{}` must come after `{}`", step.word, other.word);
            let help = format!("write `- {}` above it", other.word);
            problems.push(Problem::new(node.head(), message, help));
        }
        if step.word == SAVE_ERROR_LOG && !has(&steps, START_GATEWAY) {
            let message = "there is no gateway whose error log could be saved";
            let help = "add `- start_gateway` after `start_upstream`, or remove this step";
            problems.push(Problem::new(node.head(), message, help));
        }
    }
    for step in nodes {
        if let Some(load) = step.get(START_LOAD) {
            self::load(load, problems);
        }
        if let Some(setup) = step.get(SETUP) {
            let again = "name it once; each block repeats it";
            unique(setup.list("scenarios"), "scenarios", again, problems);
        }
    }
}

/// Returns the step that an item names; `None` for an unknown name, which the check against the
/// schema reports.
fn known(node: &Node) -> Option<&'static KnownStep> {
    let key = || Some(node.entries().first()?.key.as_str());
    let word = node.text().or_else(key)?;
    STEPS.iter().find(|step| step.word == word)
}

fn has(steps: &[(&KnownStep, &Node)], word: &str) -> bool {
    steps.iter().any(|(step, _)| step.word == word)
}

fn missing(root: &Node, steps: &[(&KnownStep, &Node)], problems: &mut Vec<Problem>) {
    let list = root.entry("steps");
    let Some(list) = list.filter(|list| !list.value.items().is_empty()) else {
        return;
    };
    let mut place = "as the first step".to_owned();
    for step in STEPS.iter().filter(|step| step.is_needed) {
        if !has(steps, step.word) {
            let message = format!("the steps have no `{}`", step.word);
            problems.push(list.problem(message, format!("add `- {}` {place}", step.word)));
        }
        place = format!("after `{}`", step.word);
    }
}

fn load(load: &Node, problems: &mut Vec<Problem>) {
    not_zero(load, "duration", "10s", problems);
    change_fits(load, "duration", problems);
    if let (Some(path), Some(script)) = (load.entry("path"), load.entry("script"))
        && path.value.text().is_some()
    {
        let message = "`path` and `script` are mutually exclusive: a script chooses its own paths";
        problems.push(script.problem(message, "keep one of them"));
    }
}
