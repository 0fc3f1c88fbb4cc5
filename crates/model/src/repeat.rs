//! The key `repeat`, which multiplies an item in a list of a scenario.

use std::ops::Range;

use gatebench_config::{Data, Entry, Node, Problem};
use schemars::{Schema, json_schema};

const REPEAT_MAX: u64 = 10_000;
/// The maximum total number of values in the copies, so that a few lines cannot expand to
/// gigabytes.
const NODES_MAX: usize = 1_000_000;
/// The lists whose items can be repeated.
const LISTS: [&str; 5] = ["routes", "consumers", "requests", "groups", "parity"];
/// The name that templates use for the number of a copy.
pub(crate) const INDEX: &str = "index";

/// Adds `repeat`, and `normal` if the item has a `weight`, to the keys of an item in the schema.
/// The type lacks these keys, because reading a file replaces a repeated item with its copies.
pub(crate) fn describe(schema: &mut Schema) {
    let repeat = json_schema!({
        "type": "integer",
        "minimum": 1,
        "maximum": REPEAT_MAX,
        "description": "The number of copies of the item, in which {{ index }} is 1, 2, 3 and so on."
    });
    let normal = json_schema!({
        "type": "object",
        "description": "Weights the copies by a normal distribution over their numbers.",
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
/// in all copies can be reported once.
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
                let written = std::mem::take(items).into_iter();
                *items = written.flat_map(|item| self.item(item)).collect();
            }
        }
    }

    fn item(&mut self, mut item: Node) -> Vec<Node> {
        let Some(repeat) = item.take("repeat") else {
            self.lists_of(&mut item);
            if let Some(normal) = item.entry("normal") {
                let help = "add `repeat`, or write a `weight`";
                let message = "`normal` is valid only for a repeated request";
                self.problems.push(normal.problem(message, help));
            }
            return vec![item];
        };
        let mut inner = LISTS.iter().flat_map(|list| item.list(list));
        if let Some(inner) = inner.find_map(|inner| inner.entry("repeat")) {
            let help = "write out the copies of one of them";
            self.problems
                .push(inner.problem("a repeated item contains another repeated item", help));
            return vec![item];
        }
        let Data::Integer(count @ 1..) = repeat.data else {
            return vec![item];
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.nodes = self.nodes.saturating_add(item.size().saturating_mul(count));
        if self.nodes > NODES_MAX {
            let message = format!("the repeats add more than {NODES_MAX} values");
            self.problems
                .push(repeat.problem(message, "use fewer copies"));
            return vec![item];
        }
        self.repeated.push(item.span.clone());
        let normal = item.take("normal");
        (1..=count.min(REPEAT_MAX as usize))
            .filter_map(|index| {
                let mut copy = item.clone();
                let number = index.to_string();
                copy.for_each_mut(&mut |node| insert(node, &number));
                weigh(&mut copy, normal.as_ref(), index).then_some(copy)
            })
            .collect()
    }
}

fn insert(node: &mut Node, number: &str) {
    if let Data::Text(text) = &mut node.data
        && text.contains("{{")
    {
        *text = replaced(text, INDEX, number);
    }
}

/// Sets the weight of a copy if the copies follow a normal distribution: the density at its number,
/// scaled to 1,000 at the mean. Returns false if the weight is less than a millionth of the weight
/// at the mean.
fn weigh(copy: &mut Node, normal: Option<&Node>, index: usize) -> bool {
    let of = |name: &str| normal?.get(name)?.number();
    let (Some(mean), Some(deviation)) = (of("mean"), of("standard_deviation")) else {
        return true;
    };
    let distance = (index as f64 - mean) / deviation;
    let density = 1_000.0 * (-distance * distance / 2.0).exp();
    copy.push(Entry::new("weight", &copy.span, Data::Float(density)));
    density >= 0.001
}

/// Returns the text with each `{{ name }}` replaced by `value`.
pub(crate) fn replaced(text: &str, name: &str, value: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let after = rest[at + 2..].trim_start_matches(' ').strip_prefix(name);
        let end = after.map(|it| it.trim_start_matches(' '));
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
