//! `matrix:` in a scenario file: one file describes several scenarios that differ in listed values.
//!
//! Each axis has a name and values. A scenario results from each combination of values, with `{{
//! axis }}` replaced in all strings. A string that is only `{{ axis }}` becomes the value itself,
//! so that numbers stay numbers. A value can be a mapping with a `name`; `{{ axis.key }}` is then
//! replaced by its member `key`, and `{{ axis }}` by its name.

use std::collections::BTreeMap;
use std::ops::Range;

use gatebench_config::{Data, Entry, Node, Problem};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use crate::repeat::{INDEX, replaced};

/// The maximum number of scenarios of one file.
const MEMBERS_MAX: usize = 32;
/// The maximum number of values in all its scenarios, so that a small file cannot exhaust the
/// memory.
const NODES_MAX: usize = 1_000_000;
/// The maximum size of all its scenarios in bytes, before values are inserted.
const BYTES_MAX: usize = 1 << 20;
/// The maximum size of a string in a value, in bytes.
const VALUE_BYTES_MAX: usize = 256;

/// The family of a scenario: scenarios that differ only in the values of some axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The name that the members share, as in `routes`.
    pub name: String,
    /// The value of this member on each axis, as in `routes: 100`.
    pub values: BTreeMap<String, AxisValue>,
}

/// A number or a name, which replaces the axis's `{{ NAME }}` in the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AxisValue {
    /// A number, by which members can be ordered.
    Number(u32),
    Name(String),
}

/// Adds `matrix` to the keys of a scenario file in the schema. The type lacks it, because reading a
/// file expands the scenarios.
pub(crate) fn describe(schema: &mut Schema) {
    let matrix = json_schema!({
        "type": "object",
        "description": "Values that the file is written out for: one scenario for each combination. \
                        `{{ routes }}` in a text stands for the value of the axis `routes`.",
        "additionalProperties": {"type": "array", "minItems": 1}
    });
    let properties = schema.get_mut("properties");
    if let Some(properties) = properties.and_then(|it| it.as_object_mut()) {
        properties.insert("matrix".into(), matrix.into());
    }
}

/// Returns the scenarios of a file; the file itself if it has no matrix, and nothing if the matrix
/// has mistakes.
pub(crate) fn expand(mut root: Node, problems: &mut Vec<Problem>) -> Vec<Node> {
    if !matches!(root.get("matrix"), Some(matrix) if matches!(matrix.data, Data::Map(_))) {
        return vec![root]; // The schema reports a matrix that is not a mapping.
    }
    let Some(matrix) = root.take("matrix") else {
        return vec![root];
    };
    match written(&root, &matrix) {
        Ok(members) => members,
        Err(problem) => {
            problems.push(problem);
            Vec::new()
        }
    }
}

fn written(root: &Node, matrix: &Node) -> Result<Vec<Node>, Problem> {
    let problem = |span: &Range<usize>, message: &str, help: &str| {
        Err(Problem::new(span.clone(), message, help))
    };
    if matrix.entries().is_empty() {
        let help = "write an axis and its values, as in `routes: [1, 100]`";
        return problem(&matrix.span, "the matrix has no axes", help);
    }
    if let Some(family) = root.entry("family") {
        let message = "the matrix sets the family";
        return problem(&family.key_span, message, "remove this key");
    }
    let mut members = vec![Member::default()];
    let mut growth = 1;
    for axis in matrix.entries() {
        let values = values_of(axis)?;
        let largest = values.iter().map(|value| value.node.size()).max();
        growth += largest.unwrap_or(0);
        members = combined(&members, &values);
        let count = members.len();
        if count > MEMBERS_MAX {
            let message = format!("the matrix describes more than {MEMBERS_MAX} scenarios");
            return problem(&axis.key_span, &message, "list fewer values");
        }
        let nodes = count.saturating_mul(root.size()).saturating_mul(growth);
        if nodes > NODES_MAX || count * root.span.len() > BYTES_MAX {
            let message = "the scenarios of the matrix are too large in total";
            return problem(
                &axis.key_span,
                message,
                "list fewer values, or use several files",
            );
        }
    }
    let written: Vec<Node> = members.iter().map(|member| member.write(root)).collect();
    let name = |member: &Node| {
        member
            .get("scenario")
            .and_then(Node::text)
            .map(str::to_owned)
    };
    let names: Vec<Option<String>> = written.iter().map(name).collect();
    let again = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
    if let Some(name) = again.and_then(|at| names[at].as_ref()) {
        let message = format!("two combinations of values have the name '{name}'");
        return problem(&matrix.span, &message, "give the values other names");
    }
    Ok(written)
}

/// Returns the name of the family that a file with a matrix describes, and the names of its
/// scenarios. None for other files, and if the matrix has mistakes.
pub fn family_names(text: &str) -> Option<(String, Vec<String>)> {
    // Most files have no matrix, and parsing takes time.
    if !text.contains("matrix") {
        return None;
    }
    let root = gatebench_config::tree(text)?;
    root.get("matrix")?;
    let members = expand(root, &mut Vec::new());
    let family = members.first()?.get("family")?.get("name")?;
    let name = |member: &Node| Some(member.get("scenario")?.text()?.to_owned());
    let names = members.iter().filter_map(name).collect();
    Some((family.text()?.to_owned(), names))
}

/// A value of an axis, and its form in the scenario's name.
#[derive(Clone)]
struct Value<'m> {
    axis: &'m str,
    name: String,
    node: &'m Node,
}

/// One combination of values.
#[derive(Clone, Default)]
struct Member<'m>(Vec<Value<'m>>);

fn combined<'m>(members: &[Member<'m>], values: &[Value<'m>]) -> Vec<Member<'m>> {
    let with = |member: &Member<'m>, value: &Value<'m>| {
        let mut member = member.clone();
        member.0.push(value.clone());
        member
    };
    let each = |member| values.iter().map(move |value| with(member, value));
    members.iter().flat_map(each).collect()
}

fn values_of(axis: &Entry) -> Result<Vec<Value<'_>>, Problem> {
    let problem = |span: &Range<usize>, message: &str, help: &str| {
        Err(Problem::new(span.clone(), message, help))
    };
    if axis.key == INDEX {
        let message = "an axis cannot be called `index`, the number of a repeated item";
        return problem(&axis.key_span, message, "give it another name");
    }
    let items = axis.value.items();
    if items.is_empty() {
        let help = "write its values in a list, as in `routes: [1, 100]`";
        return problem(&axis.value.span, "the axis has no values", help);
    }
    let mut values: Vec<Value<'_>> = Vec::new();
    for node in items {
        let Some(name) = name_of(node) else {
            let help = "write a whole number, a name in quotes, or a mapping with a `name`";
            return problem(&node.span, "this value has no name", help);
        };
        if values.iter().any(|known| known.name == name) {
            let message = "the axis has this value twice";
            return problem(&node.span, message, "remove one of them");
        }
        if !has_plain_texts(node) {
            let message = format!(
                "a text of this value contains `{{{{` or more than {VALUE_BYTES_MAX} bytes"
            );
            return problem(
                &node.span,
                &message,
                "write a short text without placeholders",
            );
        }
        values.push(Value {
            axis: &axis.key,
            name,
            node,
        });
    }
    Ok(values)
}

/// Reports whether all strings of a value can be inserted into others without further replacements.
fn has_plain_texts(value: &Node) -> bool {
    match &value.data {
        Data::Text(text) => text.len() <= VALUE_BYTES_MAX && !text.contains("{{"),
        Data::List(items) => items.iter().all(has_plain_texts),
        Data::Map(entries) => entries.iter().all(|entry| has_plain_texts(&entry.value)),
        _ => true,
    }
}

/// The number or name of a value: its member `name`, or the value itself.
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

impl Member<'_> {
    fn write(&self, root: &Node) -> Node {
        let mut root = root.clone();
        let family = self.name(&mut root);
        for value in &self.0 {
            fill(&mut root, value);
        }
        if let Data::Map(entries) = &mut root.data {
            entries.push(family);
        }
        root
    }

    /// Completes the name of the scenario, and returns its family. Values of axes that the name
    /// does not contain are appended with hyphens.
    fn name(&self, root: &mut Node) -> Entry {
        let span = root.head();
        let mut family = String::new();
        if let Some(Node {
            data: Data::Text(name),
            ..
        }) = root.get_mut("scenario")
        {
            family.clone_from(name);
            for value in &self.0 {
                let without = replaced(&family, value.axis, "");
                if without == family {
                    name.push('-');
                    name.push_str(&value.name);
                }
                family = without;
            }
        }
        let parts: Vec<&str> = family.split('-').filter(|part| !part.is_empty()).collect();
        let entry = |key: &str, data: Data| Entry {
            key: key.into(),
            key_span: span.clone(),
            value: Node {
                span: span.clone(),
                data,
            },
        };
        let values = self.0.iter();
        let values = values.map(|value| entry(value.axis, label(value.node).data.clone()));
        let values = entry("values", Data::Map(values.collect()));
        let name = entry("name", Data::Text(parts.join("-")));
        entry("family", Data::Map(vec![name, values]))
    }
}

/// Replaces an axis by its value in all strings below `node`.
fn fill(node: &mut Node, value: &Value<'_>) {
    match &mut node.data {
        Data::Text(text) if text.contains("{{") => {
            if let Some(data) = whole(text, value) {
                node.data = data;
                return;
            }
            *text = replaced(text, value.axis, &value.name);
            for entry in value.node.entries() {
                if let Some(written) = name_of(&entry.value) {
                    let place = format!("{}.{}", value.axis, entry.key);
                    *text = replaced(text, &place, &written);
                }
            }
        }
        Data::List(items) => items.iter_mut().for_each(|item| fill(item, value)),
        Data::Map(entries) => entries
            .iter_mut()
            .for_each(|entry| fill(&mut entry.value, value)),
        _ => {}
    }
}

/// Returns the value that replaces a string which consists only of `{{ axis }}` or `{{ axis.key
/// }}`.
fn whole(text: &str, value: &Value<'_>) -> Option<Data> {
    let place = text
        .strip_prefix("{{")?
        .strip_suffix("}}")?
        .trim_matches(' ');
    match place.strip_prefix(value.axis)? {
        "" => Some(label(value.node).data.clone()),
        key => Some(value.node.get(key.strip_prefix('.')?)?.data.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::{parse, parse_all};

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

    fn all(text: &str) -> Vec<Scenario> {
        parse_all(
            "s.yaml",
            text,
            &|_| Err(std::io::ErrorKind::NotFound.into()),
        )
        .unwrap()
    }

    fn mistakes(text: &str) -> Vec<String> {
        let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let mistakes = parse_all::<Scenario>("s.yaml", text, &nothing).unwrap_err();
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
    fn a_matrix_without_usable_values_is_refused_at_its_place() {
        let with = |matrix: &str| mistakes(&TEXT.replace("{routes: [1, 100]}", matrix));
        let starts = |matrix: &str, expected: &str| {
            let found = with(matrix);
            assert!(found.iter().any(|it| it.starts_with(expected)), "{found:?}");
        };
        starts(
            "{routes: [1, 1]}",
            "s.yaml:4:22: the axis has this value twice",
        );
        starts("{routes: []}", "s.yaml:4:18: the axis has no values");
        starts("{routes: 7}", "s.yaml:4:18: the axis has no values");
        starts(
            "{routes: [{bytes: 1}]}",
            "s.yaml:4:19: this value has no name",
        );
        let many: Vec<String> = (1..=33).map(|it| it.to_string()).collect();
        let many = format!("{{routes: [{}]}}", many.join(", "));
        starts(
            &many,
            "s.yaml:4:10: the matrix describes more than 32 scenarios",
        );
        starts("{}", "s.yaml:4:9: the matrix has no axes");
        starts("{routes: [-1]}", "s.yaml:4:19: this value has no name");
        starts(
            "{index: [1]}",
            "s.yaml:4:10: an axis cannot be called `index`",
        );
        starts(
            "{a: [{name: x, v: '{{ b }}'}], b: [1]}",
            "s.yaml:4:14: a text of this value contains `{{`",
        );
        starts(
            "{routes: [1, 1-1], b: [1-1, 1]}",
            "s.yaml:4:9: two combinations of values have the name 'routes-1-1-1'",
        );
        let twice = TEXT.replace("upstream:", "family: {name: f, values: {}}\nupstream:");
        assert_eq!(
            mistakes(&twice),
            ["s.yaml:5:1: the matrix sets the family; remove this key"]
        );
        assert!(!with("7").is_empty());
    }

    #[test]
    fn where_one_scenario_is_needed_a_matrix_is_an_error() {
        let error = parse::<Scenario>("s.yaml", TEXT).unwrap_err();
        assert!(error.all()[0].message.contains("several"), "{error:?}");
    }
}
