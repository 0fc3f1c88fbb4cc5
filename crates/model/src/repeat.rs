//! `repeat:` — one item of a list of a scenario that stands for many.

use std::ops::Range;

use gatebench_config::{Data, Node, Problem};
use schemars::{Schema, json_schema};

/// Copies of one item at the most.
const REPEAT_MAX: u64 = 10_000;
/// Values of a whole file at the most, so that a few lines cannot grow to gigabytes.
const NODES_MAX: usize = 1_000_000;
/// The lists whose items can be repeated.
const LISTS: [&str; 5] = ["routes", "consumers", "requests", "groups", "parity"];
/// The name that stands for the number of the copy.
pub(crate) const INDEX: &str = "index";

/// Adds `repeat` to the keys that an item of a list may have in a file. The type does not have it:
/// what is repeated is written out when the file is read.
pub(crate) fn describe(schema: &mut Schema) {
    let repeat = json_schema!({
        "type": "integer",
        "minimum": 1,
        "maximum": REPEAT_MAX,
        "description": "Writes the item so many times; {{ index }} in it stands for 1, 2, 3 and so on."
    });
    let properties = schema.get_mut("properties");
    if let Some(properties) = properties.and_then(|it| it.as_object_mut()) {
        properties.insert("repeat".into(), repeat.into());
    }
}

/// Writes out the repeated items of a scenario. Returns where they are in the text: what is wrong
/// with all copies is told once.
pub(crate) fn expand(root: &mut Node, problems: &mut Vec<Problem>) -> Vec<Range<usize>> {
    let mut expander = Expander {
        nodes: 0,
        repeated: Vec::new(),
        problems,
    };
    expander.lists_of(root);
    if let Some(later) = root.get_mut("later") {
        expander.lists_of(later);
    }
    expander.repeated
}

struct Expander<'p> {
    nodes: usize,
    repeated: Vec<Range<usize>>,
    problems: &'p mut Vec<Problem>,
}

impl Expander<'_> {
    fn lists_of(&mut self, parent: &mut Node) {
        let Data::Map(entries) = &mut parent.data else {
            return;
        };
        for entry in entries {
            if LISTS.contains(&entry.key.as_str())
                && let Data::List(items) = &mut entry.value.data
            {
                let written = std::mem::take(items);
                *items = written
                    .into_iter()
                    .flat_map(|item| self.item(item))
                    .collect();
            }
        }
    }

    fn item(&mut self, mut item: Node) -> Vec<Node> {
        let Some(repeat) = take(&mut item, "repeat") else {
            self.lists_of(&mut item);
            return vec![item];
        };
        if let Some(inner) = inner_repeat(&item) {
            let message = "a repeat inside a repeat";
            let help = "write out the one or the other";
            self.problems.push(Problem::new(inner, message, help));
            return vec![item];
        }
        let Data::Integer(count @ 1..) = repeat.data else {
            return vec![item];
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.nodes = self.nodes.saturating_add(item.size().saturating_mul(count));
        if self.nodes > NODES_MAX {
            let message = format!("the repeats add more than {NODES_MAX} values");
            let help = "repeat less often";
            self.problems.push(Problem::new(repeat.span, message, help));
            return vec![item];
        }
        self.repeated.push(item.span.clone());
        (1..=count.min(REPEAT_MAX as usize))
            .map(|index| {
                let mut copy = item.clone();
                number(&mut copy, &index.to_string());
                copy
            })
            .collect()
    }
}

fn take(item: &mut Node, key: &str) -> Option<Node> {
    let Data::Map(entries) = &mut item.data else {
        return None;
    };
    let at = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(at).value)
}

fn inner_repeat(item: &Node) -> Option<Range<usize>> {
    let lists = LISTS.iter().flat_map(|list| item.list(list));
    let mut repeats = lists.filter_map(|inner| inner.entry("repeat"));
    repeats.next().map(|entry| entry.key_span.clone())
}

/// Puts the number of a copy wherever its name stands.
fn number(node: &mut Node, index: &str) {
    match &mut node.data {
        Data::Text(text) if text.contains("{{") => *text = numbered(text, index),
        Data::List(items) => items.iter_mut().for_each(|item| number(item, index)),
        Data::Map(entries) => entries
            .iter_mut()
            .for_each(|entry| number(&mut entry.value, index)),
        _ => {}
    }
}

fn numbered(text: &str, index: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let after = rest[at + 2..].trim_start_matches(' ');
        let end = after
            .strip_prefix(INDEX)
            .map(|it| it.trim_start_matches(' '));
        match end.and_then(|it| it.strip_prefix("}}")) {
            Some(after) => {
                out.push_str(&rest[..at]);
                out.push_str(index);
                rest = after;
            }
            None => {
                out.push_str(&rest[..at + 2]);
                rest = &rest[at + 2..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::parse;

    use crate::{Check, Scenario};

    const TEXT: &str = "
scenario: s
title: t
upstream: go-bench
routes:
  - {repeat: 100, name: 'r-{{ index }}', path: '/r{{index}}'}
groups:
  - repeat: 100
    name: 'g-{{ index }}'
    requests:
      - path: '/r{{ index }}/json'
        body: 'n={{ index }}'
        checks: [{body_contains: 'r{{ index }}'}]
";

    #[test]
    fn a_hundred_groups_over_a_hundred_routes_are_a_few_lines() {
        let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
        assert_eq!((scenario.routes.len(), scenario.groups().len()), (100, 100));
        let last = &scenario.groups[99];
        let request = &last.requests[0];
        assert_eq!(
            (last.name.as_str(), request.path.as_str()),
            ("g-100", "/r100/json")
        );
        assert_eq!(request.body.as_ref().unwrap().text(), Some("n=100"));
        assert_eq!(request.checks, [Check::BodyContains("r100".into())]);
        assert_eq!(scenario.route_of(&request.path).unwrap().name, "r-100");
    }

    #[test]
    fn what_is_wrong_with_every_copy_is_told_once() {
        let text = TEXT.replace("'/r{{ index }}/json'", "'/x{{ index }}/json'");
        let told = parse::<Scenario>("s.yaml", &text).unwrap_err();
        assert_eq!(told.all().len(), 1, "{}", told.render(false, 100));
        assert_eq!(told.all()[0].line, 11);
    }
}
