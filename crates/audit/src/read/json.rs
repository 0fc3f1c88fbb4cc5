//! Lists of objects anywhere in a JSON document; an object of equally long lists is a table too.

use serde_json::{Map, Value};

use crate::AuditError;
use crate::table::Table;

pub(super) fn tables(text: &str) -> Result<Vec<Table>, AuditError> {
    let value: Value = serde_json::from_str(text).map_err(|error| AuditError {
        line: error.line(),
        what: format!("this is not JSON: {error}"),
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

/// Each object is a row; a nested value is a column named by its path.
fn of_objects(items: &[Value], name: &str) -> Option<Table> {
    let rows: Option<Vec<Vec<(String, String)>>> = items.iter().map(flattened).collect();
    let rows = rows.filter(|it| !it.is_empty())?;
    let mut headings: Vec<String> = Vec::new();
    for (heading, _) in rows.iter().flatten() {
        if !headings.contains(heading) {
            headings.push(heading.clone());
        }
    }
    let cells = |row: &Vec<(String, String)>| {
        let cell = |heading: &String| {
            let found = row.iter().find(|(name, _)| name == heading);
            found.map_or(String::new(), |(_, text)| text.clone())
        };
        headings.iter().map(cell).collect()
    };
    // A list may be on one line, so its items are numbered instead.
    let rows = rows
        .iter()
        .enumerate()
        .map(|(at, row)| (at + 1, cells(row)));
    Some(Table::of(name, &headings, rows.collect()).of_items())
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
    let is_table = length > 0
        && lists.iter().all(|list| list.len() == length)
        && lists
            .iter()
            .all(|list| list.iter().all(|it| !it.is_object() && !it.is_array()));
    if !is_table {
        return None;
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let row = |at: usize| (at + 1, lists.iter().map(|list| text(&list[at])).collect());
    let headings: Vec<String> = members.keys().cloned().collect();
    Some(Table::of(name, &headings, (0..length).map(row).collect()).of_items())
}
