//! Rules of specifications: the order of their steps.

use gatebench_config::{Node, Problem};

use super::load::change_fits;
use super::{not_zero, unique};

/// A step, what must stand before it, and whether every specification has it.
struct Rule {
    step: &'static str,
    after: &'static str,
    is_needed: bool,
}

const fn rule(step: &'static str, after: &'static str, is_needed: bool) -> Rule {
    Rule {
        step,
        after,
        is_needed,
    }
}

/// The steps in the order in which they may stand.
const RULES: [Rule; 8] = [
    rule("setup", "", true),
    rule("start_upstream", "setup", true),
    rule("start_gateway", "start_upstream", false),
    rule("start_load", "start_upstream", true),
    rule("wait_result", "start_load", true),
    rule("combine_results", "wait_result", false),
    rule("save_error_log", "wait_result", false),
    rule("teardown", "wait_result", true),
];

/// The mistakes of a specification beyond its schema.
pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    unique(root.list("tags"), "tags", "name it once", problems);
    let steps: Vec<(&str, &Node)> = root
        .list("steps")
        .iter()
        .filter_map(|step| Some((word(step)?, step)))
        .collect();
    missing(root, &steps, problems);
    for (index, (step, node)) in steps.iter().enumerate() {
        twice(&steps[..index], step, node, problems);
        in_order(&steps, index, problems);
        if let Some(load) = node.get("start_load") {
            self::load(load, problems);
        }
        if let Some(setup) = node.get("setup") {
            let again = "name it once; blocks repeat it";
            unique(setup.list("scenarios"), "scenarios", again, problems);
        }
    }
    without_a_gateway(&steps, problems);
}

/// The word of a step, with settings or without.
fn word(step: &Node) -> Option<&str> {
    step.text()
        .or_else(|| Some(step.entries().first()?.key.as_str()))
}

fn missing(root: &Node, steps: &[(&str, &Node)], problems: &mut Vec<Problem>) {
    let Some(list) = root.entry("steps").filter(|_| !steps.is_empty()) else {
        return;
    };
    for rule in RULES.iter().filter(|rule| rule.is_needed) {
        if steps.iter().all(|(step, _)| *step != rule.step) {
            let place = match rule.after {
                "" => "as the first step".to_owned(),
                after => format!("after `{after}`"),
            };
            problems.push(Problem::new(
                list.key_span.clone(),
                format!("the steps have no `{}`", rule.step),
                format!("add `- {}` {place}", rule.step),
            ));
        }
    }
}

fn twice(before: &[(&str, &Node)], step: &str, node: &Node, problems: &mut Vec<Problem>) {
    if before.iter().all(|(known, _)| *known != step) {
        return;
    }
    let help = match step {
        "start_load" | "wait_result" => {
            "a specification has one load; `runs:` repeats it in the same process"
        }
        _ => "keep one of them",
    };
    problems.push(Problem::new(
        node.head(),
        format!("`{step}` stands twice"),
        help,
    ));
}

/// Nothing stands before what it needs, and nothing after the teardown.
fn in_order(steps: &[(&str, &Node)], index: usize, problems: &mut Vec<Problem>) {
    let (step, node) = steps[index];
    let Some(place) = RULES.iter().position(|rule| rule.step == step) else {
        return;
    };
    let is_there = |other: &str| steps[..index].iter().any(|(known, _)| *known == other);
    // One that stands twice was reported as that.
    let later = steps[index + 1..]
        .iter()
        .filter(|(other, _)| !is_there(other));
    // The first of those that should have come before; further ones say nothing new.
    let mut later = later.filter(|(other, _)| {
        let of_other = RULES.iter().position(|rule| rule.step == *other);
        of_other.is_some_and(|it| it < place) && !either_way(step, other)
    });
    if let Some((other, _)) = later.next() {
        problems.push(Problem::new(
            node.head(),
            format!("`{step}` comes before `{other}`"),
            format!("write `- {other}` above it"),
        ));
    }
}

/// Results may be combined before or after the log is saved.
fn either_way(step: &str, other: &str) -> bool {
    step == "save_error_log" && other == "combine_results"
}

fn load(load: &Node, problems: &mut Vec<Problem>) {
    let help = "let each run last some time, as in 10s";
    not_zero(load, "duration", help, problems);
    change_fits(load, "duration", problems);
    if let (Some(path), Some(script)) = (load.entry("path"), load.entry("script"))
        && path.value.text().is_some()
    {
        problems.push(Problem::new(
            script.key_span.clone(),
            "`path` and `script` exclude each other: a script says itself what it asks for",
            "keep one of them",
        ));
    }
}

/// Where no gateway is started there is no log of one.
fn without_a_gateway(steps: &[(&str, &Node)], problems: &mut Vec<Problem>) {
    let find = |wanted: &str| steps.iter().find(|(step, _)| *step == wanted);
    if let (None, Some((_, node))) = (find("start_gateway"), find("save_error_log")) {
        problems.push(Problem::new(
            node.head(),
            "there is no gateway whose error log could be saved",
            "add `- start_gateway` after `start_upstream`, or remove this step",
        ));
    }
}
