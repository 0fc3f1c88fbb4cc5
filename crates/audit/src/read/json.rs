//! Finds the tables in a JSON document. A table is a list of objects or an object of equally long
//! lists, anywhere in the document.

use serde_json::{Map, Value};

use crate::AuditError;
use crate::finding::Numbering;
use crate::table::Table;

pub(super) fn tables(text: &str) -> Result<Vec<Table>, AuditError> {
    let value: Value = serde_json::from_str(text).map_err(|error| AuditError {
        line: error.line(),
        what: format!("the document is not JSON: {error}"),
    })?;
    let mut found = Vec::new();
    search(&value, "", &mut found);
    Ok(found)
}

fn search(value: &Value, name: &str, found: &mut Vec<Table>) {
    match value {
        Value::Array(items) => match of_objects(items, name) {
            Some(table) => found.push(table),
            None => items.iter().for_each(|it| search(it, name, found)),
        },
        Value::Object(members) => match of_lists(members, name) {
            Some(table) => found.push(table),
            None => members
                .iter()
                .for_each(|(name, it)| search(it, name, found)),
        },
        _ => {}
    }
}

/// Converts a list of objects to rows. The column of a nested value is named after the value's
/// path.
fn of_objects(items: &[Value], name: &str) -> Option<Table> {
    let rows: Option<Vec<Vec<(String, String)>>> = items.iter().map(flattened).collect();
    let rows = rows.filter(|it| !it.is_empty())?;
    let mut headings: Vec<&str> = Vec::new();
    for (heading, _) in rows.iter().flatten() {
        if !headings.contains(&heading.as_str()) {
            headings.push(heading);
        }
    }
    let cells = |row: &Vec<(String, String)>| {
        let cell = |heading: &&str| {
            let found = row.iter().find(|(name, _)| name == heading);
            found.map_or(String::new(), |(_, text)| text.clone())
        };
        headings.iter().map(cell).collect()
    };
    Some(of_items(name, &headings, rows.iter().map(cells)))
}

fn of_items(name: &str, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    Table {
        numbering: Numbering::Item,
        ..Table::of(name, headings, (1..).zip(rows).collect())
    }
}

fn flattened(item: &Value) -> Option<Vec<(String, String)>> {
    fn add(path: &str, members: &Map<String, Value>, cells: &mut Vec<(String, String)>) {
        for (name, value) in members {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path} {name}")
            };
            match value {
                Value::Object(members) => add(&path, members, cells),
                Value::String(text) => cells.push((path, text.clone())),
                Value::Number(number) => cells.push((path, number.to_string())),
                _ => {}
            }
        }
    }
    let mut cells = Vec::new();
    add("", item.as_object()?, &mut cells);
    Some(cells)
}

fn of_lists(members: &Map<String, Value>, name: &str) -> Option<Table> {
    let lists: Option<Vec<&Vec<Value>>> = members.values().map(Value::as_array).collect();
    let lists = lists.filter(|it| it.len() > 1)?;
    let length = lists[0].len();
    let is_nested = |value: &&Value| value.is_object() || value.is_array();
    if length == 0
        || lists.iter().any(|list| list.len() != length)
        || lists.iter().copied().flatten().any(|it| is_nested(&it))
    {
        return None;
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let row = |at: usize| lists.iter().map(|list| text(&list[at])).collect();
    let headings: Vec<&str> = members.keys().map(String::as_str).collect();
    Some(of_items(name, &headings, (0..length).map(row)))
}
