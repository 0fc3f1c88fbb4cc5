//! Rules for sources of values.

use gatebench_config::{Data, Entry, Node, Problem};

use super::{in_order, unique};
use crate::repeat::INDEX;
use crate::template::{is_column_name, is_source_name};

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    for source in root.mapping("data") {
        name(source, problems);
        for kind in source.value.entries() {
            match kind.key.as_str() {
                "list" => list(&kind.value, problems),
                "uniform" => {
                    let message = "the maximum is below the minimum";
                    in_order(&kind.value, Node::number, message, problems);
                }
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
        let message = "a source cannot be called `index`, which is the number of a repeated item";
        problems.push(source.problem(message, "give the source another name"));
    }
}

fn list(list: &Node, problems: &mut Vec<Problem>) {
    let columns = list.list("columns");
    let help = "give each column a unique name";
    unique(columns, "columns", help, problems);
    for column in columns {
        if let Some(name) = column.text().filter(|name| !is_column_name(name)) {
            let message = format!("a template cannot refer to the column `{name}`");
            problems.push(column.problem(message, "use only letters, digits, `_`, `-` and `.`"));
        }
    }
    for row in list.list("values") {
        let is_row = matches!(row.data, Data::List(_));
        let count = row.items().len();
        let mut wrong = |message: &str, help: &str| {
            problems.push(Problem::new(row.head(), message, help));
        };
        match (columns.len(), is_row) {
            (0, true) => {
                let help = "name them under `columns:`, or write one value";
                wrong("this is a row, but there are no columns", help);
            }
            (1.., false) => {
                let message = "this is one value, but there are columns";
                wrong(message, "write a row, as in [a, b]");
            }
            (columns, true) if columns != count => {
                let message = format!(
                    "the row length ({count}) differs from the number of columns ({columns})"
                );
                wrong(&message, &format!("write {columns} values"));
            }
            _ => {}
        }
    }
}

fn sequence(sequence: &Node, problems: &mut Vec<Problem>) {
    if let Some(step) = sequence.get("step")
        && step.number() == Some(0.0)
    {
        let message = "a sequence with a step of 0 always yields the same number";
        let help = "use another step, or write the number in place of the template";
        problems.push(step.problem(message, help));
    }
}

fn exponent(settings: &Node, is_law: bool, problems: &mut Vec<Problem>) {
    let pick = settings.text_of("pick");
    if let Some(exponent) = settings.entry("exponent")
        && !is_law
        && pick != Some("zipf")
    {
        let message = "an `exponent` is valid only with `pick: zipf`";
        problems.push(exponent.problem(message, "add `pick: zipf`, or remove the exponent"));
    }
}
