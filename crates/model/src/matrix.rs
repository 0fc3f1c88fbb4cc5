//! The key `matrix`, with which a scenario file describes several scenarios that differ in listed
//! values.
//!
//! Each axis has a name and values. Each combination of values defines a scenario, in which
//! `{{ axis }}` is replaced in all strings. A string that is only `{{ axis }}` becomes the value
//! itself, so numbers stay numbers. A value can be a mapping with a `name`; `{{ axis.key }}` is
//! then replaced by the mapping's member `key`, and `{{ axis }}` by its `name`.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_config::{Data, Entry, Node, Problem};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use crate::repeat::{INDEX, replaced};

/// The maximum number of scenarios per file.
const MEMBERS_MAX: usize = 32;
/// The maximum total number of values in the scenarios of a file, so that a small file cannot
/// exhaust memory.
const NODES_MAX: usize = 1_000_000;
/// The maximum total size of the scenarios of a file, in bytes, before values are inserted.
const BYTES_MAX: usize = 1 << 20;
/// The maximum size of a string in a value, in bytes.
const VALUE_BYTES_MAX: usize = 256;

/// The family of a scenario: scenarios that differ only in the values of some axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The name that the members share, such as `routes`.
    pub name: String,
    /// The value of this member on each axis, such as `routes: 100`.
    pub values: BTreeMap<String, AxisValue>,
}

/// A number or a name, which replaces `{{ AXIS }}` in the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AxisValue {
    /// A number by which members can be sorted.
    Number(u32),
    Name(String),
}

/// Adds `matrix` to the keys of a scenario file in the schema. The Rust type lacks this key,
/// because reading a file expands the matrix.
pub(crate) fn describe(schema: &mut Schema) {
    let matrix = json_schema!({
        "type": "object",
        "description": "Values that multiply this file into one scenario per combination. \
                        `{{ routes }}` in a string becomes the value of the axis `routes`.",
        "additionalProperties": {"type": "array", "minItems": 1}
    });
    let properties = schema.get_mut("properties");
    if let Some(properties) = properties.and_then(|it| it.as_object_mut()) {
        properties.insert("matrix".into(), matrix.into());
    }
}

/// Returns the scenarios of a file: the file itself if it has no matrix, and nothing if the matrix
/// has errors.
pub(crate) fn expand(mut root: Node, problems: &mut Vec<Problem>) -> Vec<Node> {
    // A matrix that is not a mapping is reported by the check against the schema.
    let matrix = root.get("matrix");
    if !matrix.is_some_and(|matrix| matches!(matrix.data, Data::Map(_))) {
        return vec![root];
    }
    let members = root.take("matrix").map(|matrix| written(&root, &matrix));
    match members {
        Some(Err(problem)) => {
            problems.push(problem);
            Vec::new()
        }
        Some(Ok(members)) => members,
        None => vec![root],
    }
}

fn written(root: &Node, matrix: &Node) -> Result<Vec<Node>, Problem> {
    if matrix.entries().is_empty() {
        let help = "write an axis and its values, as in `routes: [1, 100]`";
        return Err(matrix.problem("the matrix has no axes", help));
    }
    if let Some(family) = root.entry("family") {
        return Err(family.problem("the matrix sets the family", "remove this key"));
    }
    let mut members = vec![Member::new()];
    let mut growth = 1;
    for axis in matrix.entries() {
        let values = values_of(axis)?;
        let largest = values.iter().map(|value| value.node.size()).max();
        growth += largest.unwrap_or(0);
        members = combined(&members, &values);
        let count = members.len();
        if count > MEMBERS_MAX {
            let message = format!("the matrix describes more than {MEMBERS_MAX} scenarios");
            return Err(axis.problem(message, "list fewer values"));
        }
        let nodes = count.saturating_mul(root.size()).saturating_mul(growth);
        if nodes > NODES_MAX || count * root.span.len() > BYTES_MAX {
            let message = "the scenarios of the matrix are too large in total";
            return Err(axis.problem(message, "list fewer values, or use several files"));
        }
    }
    let written: Vec<Node> = members.iter().map(|member| write(member, root)).collect();
    let mut seen = BTreeSet::new();
    let mut names = written.iter().filter_map(|it| it.text_of("scenario"));
    if let Some(name) = names.find(|name| !seen.insert(*name)) {
        let message = format!("two combinations of values have the name '{name}'");
        return Err(matrix.problem(message, "give the values different names"));
    }
    Ok(written)
}

/// Returns the name of the family that a file with a matrix describes, and the names of its
/// scenarios. Returns `None` for other files, and if the matrix has errors.
pub fn family_names(text: &str) -> Option<(String, Vec<String>)> {
    // Most files have no matrix, and parsing takes time.
    if !text.contains("matrix") {
        return None;
    }
    let root = gatebench_config::tree(text)?;
    root.get("matrix")?;
    let members = expand(root, &mut Vec::new());
    let family = members.first()?.get("family")?.text_of("name")?;
    let names = members.iter().filter_map(|it| it.text_of("scenario"));
    Some((family.to_owned(), names.map(str::to_owned).collect()))
}

/// A value of an axis, and its form in the scenario's name.
#[derive(Clone)]
struct Value<'m> {
    axis: &'m str,
    name: String,
    node: &'m Node,
}

/// One combination of values.
type Member<'m> = Vec<Value<'m>>;

fn combined<'m>(members: &[Member<'m>], values: &[Value<'m>]) -> Vec<Member<'m>> {
    let with = |member: &Member<'m>, value: &Value<'m>| {
        let mut member = member.clone();
        member.push(value.clone());
        member
    };
    let each = |member| values.iter().map(move |value| with(member, value));
    members.iter().flat_map(each).collect()
}

fn values_of(axis: &Entry) -> Result<Vec<Value<'_>>, Problem> {
    if axis.key == INDEX {
        let message = "an axis cannot be called `index`, which is the number of a repeated item";
        return Err(axis.problem(message, "give it another name"));
    }
    let items = axis.value.items();
    if items.is_empty() {
        let help = "write its values in a list, as in `routes: [1, 100]`";
        return Err(axis.value.problem("the axis has no values", help));
    }
    let mut values: Vec<Value<'_>> = Vec::new();
    for node in items {
        let Some(name) = name_of(node) else {
            let help = "write a whole number, a name in quotes, or a mapping with a `name`";
            return Err(node.problem("this value has no name", help));
        };
        if values.iter().any(|known| known.name == name) {
            return Err(node.problem(
                "the axis has two values with this name",
                "remove one of them",
            ));
        }
        // Values without placeholders make the order of the axes irrelevant.
        let is_plain = |text: &str| text.len() <= VALUE_BYTES_MAX && !text.contains("{{");
        if !node.all().filter_map(Node::text).all(is_plain) {
            let message = format!(
                "a string in this value contains `{{{{`, or is longer than {VALUE_BYTES_MAX} bytes"
            );
            return Err(node.problem(message, "write a short string without placeholders"));
        }
        values.push(Value {
            axis: &axis.key,
            name,
            node,
        });
    }
    Ok(values)
}

/// Returns the number or name of a value: its member `name`, or the value itself.
fn label(value: &Node) -> &Node {
    value.get("name").unwrap_or(value)
}

fn name_of(value: &Node) -> Option<String> {
    match &label(value).data {
        Data::Integer(number) => u32::try_from(*number).ok().map(|it| it.to_string()),
        Data::Text(name) => Some(name.clone()),
        _ => None,
    }
}

fn write(member: &Member<'_>, root: &Node) -> Node {
    let mut root = root.clone();
    let family = named(member, &mut root);
    for value in member {
        root.for_each_mut(&mut |node| fill(node, value));
    }
    root.push(family);
    root
}

/// Completes the name of the scenario, and returns its family. The values of axes that the name
/// does not contain are appended with hyphens.
fn named(member: &Member<'_>, root: &mut Node) -> Entry {
    let span = root.head();
    let mut family = String::new();
    if let Some(Data::Text(name)) = root.get_mut("scenario").map(|it| &mut it.data) {
        family.clone_from(name);
        for value in member {
            let without = replaced(&family, value.axis, "");
            if without == family {
                name.push('-');
                name.push_str(&value.name);
            }
            family = without;
        }
    }
    let parts: Vec<&str> = family.split('-').filter(|part| !part.is_empty()).collect();
    let entry = |key: &str, data: Data| Entry::new(key, &span, data);
    let values = member.iter();
    let values = values.map(|value| entry(value.axis, label(value.node).data.clone()));
    let values = entry("values", Data::Map(values.collect()));
    let name = entry("name", Data::Text(parts.join("-")));
    entry("family", Data::Map(vec![name, values]))
}

fn fill(node: &mut Node, value: &Value<'_>) {
    let Some(text) = node.text().filter(|text| text.contains("{{")) else {
        return;
    };
    node.data = whole(text, value).unwrap_or_else(|| {
        let mut text = replaced(text, value.axis, &value.name);
        for entry in value.node.entries() {
            if let Some(written) = name_of(&entry.value) {
                let place = format!("{}.{}", value.axis, entry.key);
                text = replaced(&text, &place, &written);
            }
        }
        Data::Text(text)
    });
}

/// Returns the value that replaces a string consisting only of `{{ axis }}` or `{{ axis.key }}`.
fn whole(text: &str, value: &Value<'_>) -> Option<Data> {
    let place = text.strip_prefix("{{")?.strip_suffix("}}")?;
    let place = place.trim_matches(' ');
    match place.strip_prefix(value.axis)? {
        "" => Some(label(value.node).data.clone()),
        key => Some(value.node.get(key.strip_prefix('.')?)?.data.clone()),
    }
}

#[cfg(test)]
mod tests {
    use gatebench_config::{Diagnostics, parse, parse_all};

    use super::*;
    use crate::{Check, Scenario};

    const TEXT: &str = "
scenario: routes
title: '{{ routes }} routes, the last one requested'
matrix: {routes: [1, 100]}
upstream: go-bench
routes:
  - {repeat: '{{ routes }}', name: 'route-{{ index }}', path: '/route-{{ index }}'}
requests:
  - path: '/route-{{ routes }}/json'
";

    fn read(text: &str) -> Result<Vec<Scenario>, Diagnostics> {
        parse_all(
            "s.yaml",
            text,
            &|_| Err(std::io::ErrorKind::NotFound.into()),
        )
    }

    fn all(text: &str) -> Vec<Scenario> {
        read(text).unwrap()
    }

    fn mistakes(text: &str) -> Vec<String> {
        let mistakes = read(text).unwrap_err();
        mistakes.all().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_matrix_describes_one_scenario_for_each_value() {
        let scenarios = all(TEXT);
        assert_eq!(scenarios.len(), 2);
        assert_eq!(scenarios[0].scenario, "routes-1");
        let last = &scenarios[1];
        assert_eq!(last.title, "100 routes, the last one requested");
        assert_eq!(last.routes.len(), 100);
        assert_eq!(last.requests[0].path, "/route-100/json");
        let expected = Family {
            name: "routes".into(),
            values: BTreeMap::from([("routes".into(), AxisValue::Number(100))]),
        };
        assert_eq!(last.family, Some(expected));
        let json = serde_json::to_string(last).unwrap();
        assert_eq!(*last, serde_json::from_str(&json).unwrap());
    }

    #[test]
    fn axes_are_combined_and_their_values_may_have_members() {
        let text = "
scenario: size-{{ size }}-bytes
title: t
matrix:
  size: [{name: 8kib, bytes: 8192, path: 8KB}, {name: small, bytes: 3, path: x}]
  metrics: [{name: 'off', metrics: }, {name: 'on', metrics: {}}]
upstream: go-bench
metrics: '{{ metrics.metrics }}'
routes: [{name: r, path: /size}]
requests:
  - {path: '/size/{{ size.path }}', checks: [{body_bytes: '{{ size.bytes }}'}]}
";
        let scenarios = all(text);
        let names: Vec<&str> = scenarios.iter().map(|it| it.scenario.as_str()).collect();
        let expected = [
            "size-8kib-bytes-off",
            "size-8kib-bytes-on",
            "size-small-bytes-off",
            "size-small-bytes-on",
        ];
        assert_eq!(names, expected);
        assert_eq!(scenarios[0].metrics, None);
        assert!(scenarios[1].metrics.is_some());
        assert_eq!(scenarios[1].requests[0].path, "/size/8KB");
        assert_eq!(scenarios[1].requests[0].checks, [Check::BodyBytes(8192)]);
        let family = scenarios[3].family.clone().unwrap();
        assert_eq!(family.name, "size-bytes");
        assert_eq!(family.values["size"], AxisValue::Name("small".into()));
    }

    #[test]
    fn a_mistake_of_all_members_is_reported_once() {
        let text = TEXT.replace("upstream: go-bench", "upstream: go-bank");
        assert_eq!(mistakes(&text).len(), 1);
    }

    #[test]
    fn an_unusable_matrix_is_refused_with_the_place_of_the_mistake() {
        let with = |matrix: &str| mistakes(&TEXT.replace("{routes: [1, 100]}", matrix));
        let starts = |matrix: &str, expected: &str| {
            let found = with(matrix);
            let expected = &format!("s.yaml:{expected}");
            assert!(found.iter().any(|it| it.starts_with(expected)), "{found:?}");
        };
        starts(
            "{routes: [1, 1]}",
            "4:22: the axis has two values with this name",
        );
        starts("{routes: []}", "4:18: the axis has no values");
        starts("{routes: 7}", "4:18: the axis has no values");
        starts("{routes: [{bytes: 1}]}", "4:19: this value has no name");
        let many: Vec<String> = (1..=33).map(|it| it.to_string()).collect();
        let many = format!("{{routes: [{}]}}", many.join(", "));
        starts(&many, "4:10: the matrix describes more than 32 scenarios");
        starts("{}", "4:9: the matrix has no axes");
        starts("{routes: [-1]}", "4:19: this value has no name");
        starts("{index: [1]}", "4:10: an axis cannot be called `index`");
        let placeholder = "{a: [{name: x, v: '{{ b }}'}], b: [1]}";
        starts(placeholder, "4:14: a string in this value contains `{{`");
        let same = "{routes: [1, 1-1], b: [1-1, 1]}";
        let message = "4:9: two combinations of values have the name 'routes-1-1-1'";
        starts(same, message);
        let twice = TEXT.replace("upstream:", "family: {name: f, values: {}}\nupstream:");
        assert_eq!(
            mistakes(&twice),
            ["s.yaml:5:1: the matrix sets the family; remove this key"]
        );
        assert!(!with("7").is_empty());
    }

    #[test]
    fn a_matrix_is_refused_where_one_scenario_is_needed() {
        let error = parse::<Scenario>("s.yaml", TEXT).unwrap_err();
        assert!(error.all()[0].message.contains("several"), "{error:?}");
    }
}
