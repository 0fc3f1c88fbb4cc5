//! `repeat:` multiplies an item in a list of a scenario.

use std::ops::Range;

use gatebench_config::{Data, Entry, Node, Problem};
use schemars::{Schema, json_schema};

/// The maximum number of copies of an item.
const REPEAT_MAX: u64 = 10_000;
/// The maximum number of values in a file, so that a few lines cannot grow to gigabytes.
const NODES_MAX: usize = 1_000_000;
/// The lists whose items can be repeated.
const LISTS: [&str; 5] = ["routes", "consumers", "requests", "groups", "parity"];
/// The name that templates use for the number of a copy.
pub(crate) const INDEX: &str = "index";

/// Adds `repeat` to the keys of an item in the schema. The type lacks it, because reading a file
/// replaces a repeated item by its copies.
pub(crate) fn describe(schema: &mut Schema) {
    let repeat = json_schema!({
        "type": "integer",
        "minimum": 1,
        "maximum": REPEAT_MAX,
        "description": "Writes the item this many times; {{ index }} in it is 1, 2, 3 and so on."
    });
    let normal = json_schema!({
        "type": "object",
        "description": "The weights of the copies, by the number of the copy: a normal distribution.",
        "additionalProperties": false,
        "required": ["mean", "standard_deviation"],
        "properties": {
            "mean": {"type": "number"},
            "standard_deviation": {"type": "number", "minimum": 0.001}
        }
    });
    let properties = schema.get_mut("properties");
    if let Some(properties) = properties.and_then(|it| it.as_object_mut()) {
        properties.insert("repeat".into(), repeat.into());
        if properties.contains_key("weight") {
            properties.insert("normal".into(), normal.into());
        }
    }
}

/// Expands the repeated items of a scenario. Returns their positions in the text, so that a mistake
/// in all copies is reported once.
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
        let Some(repeat) = item.take("repeat") else {
            self.lists_of(&mut item);
            if let Some(normal) = item.entry("normal") {
                let help = "add `repeat`, or write a `weight`";
                let message = "`normal` weighs the copies of a repeated request";
                self.problems.push(normal.problem(message, help));
            }
            return vec![item];
        };
        if let Some(inner) = inner_repeat(&item) {
            let message = "a repeat inside a repeat";
            let help = "write out one of them";
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
        let normal = item.take("normal");
        (1..=count.min(REPEAT_MAX as usize))
            .filter_map(|index| {
                let mut copy = item.clone();
                number(&mut copy, &index.to_string());
                weigh(&mut copy, normal.as_ref(), index).then_some(copy)
            })
            .collect()
    }
}

fn inner_repeat(item: &Node) -> Option<Range<usize>> {
    let lists = LISTS.iter().flat_map(|list| item.list(list));
    let mut repeats = lists.filter_map(|inner| inner.entry("repeat"));
    repeats.next().map(|entry| entry.key_span.clone())
}

/// Replaces `{{ index }}` by the number of a copy.
fn number(node: &mut Node, index: &str) {
    match &mut node.data {
        Data::Text(text) if text.contains("{{") => *text = replaced(text, INDEX, index),
        Data::List(items) => items.iter_mut().for_each(|item| number(item, index)),
        Data::Map(entries) => entries
            .iter_mut()
            .for_each(|entry| number(&mut entry.value, index)),
        _ => {}
    }
}

/// Sets the weight of a copy if the copies follow a normal distribution: the density at its number,
/// scaled to 1,000 at the mean. Reports whether the request occurs in a million requests at all.
fn weigh(copy: &mut Node, normal: Option<&Node>, index: usize) -> bool {
    let of = |name: &str| normal?.get(name)?.number();
    let (Some(mean), Some(deviation)) = (of("mean"), of("standard_deviation")) else {
        return true;
    };
    let distance = (index as f64 - mean) / deviation;
    let density = 1_000.0 * (-distance * distance / 2.0).exp();
    let span = copy.span.clone();
    if let Data::Map(entries) = &mut copy.data {
        entries.push(Entry {
            key: "weight".into(),
            key_span: span.clone(),
            value: Node {
                span,
                data: Data::Float(density),
            },
        });
    }
    density >= 0.001
}

/// Returns the text with each `{{ name }}` replaced by `value`.
pub(crate) fn replaced(text: &str, name: &str, value: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let after = rest[at + 2..].trim_start_matches(' ');
        let end = after
            .strip_prefix(name)
            .map(|it| it.trim_start_matches(' '));
        match end.and_then(|it| it.strip_prefix("}}")) {
            Some(after) => {
                out.push_str(&rest[..at]);
                out.push_str(value);
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
