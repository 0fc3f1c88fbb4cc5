//! Rules for sources of values.

use gatebench_config::{Data, Entry, Node, Problem};

use super::unique;
use crate::repeat::INDEX;
use crate::template::{is_column_name, is_source_name};

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    for source in root.mapping("data") {
        name(source, problems);
        for kind in source.value.entries() {
            match kind.key.as_str() {
                "list" => list(&kind.value, problems),
                "uniform" => uniform(kind, problems),
                "sequence" => sequence(&kind.value, problems),
                _ => {}
            }
            exponent(&kind.value, kind.key == "zipf", problems);
        }
    }
}

fn name(source: &Entry, problems: &mut Vec<Problem>) {
    let name = &source.key;
    if !is_source_name(name) {
        let message = format!("a source cannot be called `{name}`");
        let help = "write letters, digits, `_` and `-`, beginning with a letter";
        problems.push(source.problem(message, help));
    } else if name == INDEX {
        let message = "`index` is the number of what is repeated";
        problems.push(source.problem(message, "give the source another name"));
    }
}

fn list(list: &Node, problems: &mut Vec<Problem>) {
    let columns = list.list("columns");
    unique(
        columns,
        "columns",
        "give each column a unique name",
        problems,
    );
    for column in columns {
        if column.text().is_some_and(|name| !is_column_name(name)) {
            let name = column.text().unwrap_or_default();
            let message = format!("a template cannot name the column `{name}`");
            problems.push(column.problem(message, "use only letters, digits, `_`, `-` and `.`"));
        }
    }
    for row in list.list("values") {
        let is_row = matches!(row.data, Data::List(_));
        let count = row.items().len();
        let (message, help) = match (columns.len(), is_row) {
            (0, true) => (
                "this is a row, but there are no columns".into(),
                "name them under `columns:`, or write one value".into(),
            ),
            (1.., false) => (
                "this is one value, but there are columns".into(),
                "write a row, as in [a, b]".into(),
            ),
            (columns, true) if columns != count => (
                format!("this row does not have one value for each column: {count}, not {columns}"),
                format!("write {columns} values"),
            ),
            _ => continue,
        };
        let (message, help): (String, String) = (message, help);
        problems.push(Problem::new(row.head(), message, help));
    }
}

fn uniform(kind: &Entry, problems: &mut Vec<Problem>) {
    let number = |key| kind.value.get(key).and_then(Node::number);
    if let (Some(min), Some(max), Some(node)) =
        (number("min"), number("max"), kind.value.get("max"))
        && max < min
    {
        let message = "the greatest number is below the least";
        problems.push(node.problem(message, "swap `min` and `max`"));
    }
}

fn sequence(sequence: &Node, problems: &mut Vec<Problem>) {
    if let Some(step) = sequence.get("step")
        && step.number() == Some(0.0)
    {
        let help = "write another step, or the number in place of the template";
        problems.push(step.problem(
            "a sequence with a step of 0 is always the same number",
            help,
        ));
    }
}

fn exponent(settings: &Node, is_law: bool, problems: &mut Vec<Problem>) {
    let pick = settings.get("pick").and_then(Node::text);
    if let Some(exponent) = settings.entry("exponent")
        && !is_law
        && pick != Some("zipf")
    {
        let message = "an `exponent` belongs to `pick: zipf`";
        problems.push(exponent.problem(message, "add `pick: zipf`, or remove the exponent"));
    }
}
