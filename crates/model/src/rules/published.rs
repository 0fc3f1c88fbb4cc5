//! Rules for published documents.

use gatebench_config::{Node, Problem};

use super::unique;

/// The effects that need a setting of their own, each with the setting's name and the end of the
/// remedy if the setting is missing. The setting is invalid with any other effect.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "rounded",
        "step_ms",
        "the step of its times, as in `step_ms: 10`",
    ),
    (
        "buckets",
        "buckets_ms",
        "the bounds, as in `buckets_ms: [1, 2, 5]`",
    ),
    (
        "compression",
        "pairs",
        "rows, as in `pairs: [{row: plain, other: gzip}]`",
    ),
];

pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    groups(root, true, problems);
    for table in root.list("tables") {
        let is_of = |word| table.text_of("row") == Some(word);
        groups(table, is_of("connections"), problems);
        if root.list("groups").is_empty() && table.list("groups").is_empty() {
            let help = "add `groups` to it, or to the document";
            let message = "the table has no columns";
            problems.push(Problem::new(table.head(), message, help));
        }
        let names = table.list("rows").iter().filter_map(|row| row.get("row"));
        unique(names, "rows", "give each row a unique name", problems);
        if is_of("scenario") {
            rows(table, problems);
        }
        if table.get("by_cpus").is_some() {
            cpus(table, problems);
        }
    }
    corrections(root, problems);
}

fn groups(parent: &Node, has_targets: bool, problems: &mut Vec<Problem>) {
    let columns = parent.list("groups").iter().map(|it| it.list("columns"));
    for column in columns.flatten() {
        let lines = column.list("head");
        if let Some(third) = lines.get(2) {
            let help = "write one or two lines";
            let message = "the head has more than two lines";
            problems.push(Problem::new(third.head(), message, help));
        }
        if lines.is_empty() && !has_targets {
            let help = "add its `head`; only tables of `connections` have a column for each target";
            problems.push(Problem::new(column.head(), "the column has no head", help));
        }
    }
}

/// Checks that a table of scenarios has rows, that each row names a scenario, and that bases are
/// rows.
fn rows(table: &Node, problems: &mut Vec<Problem>) {
    let rows = table.list("rows");
    if rows.is_empty() {
        let message = "the table has no rows";
        let help = "add `rows`, as in `- {row: no policy, scenario: proxy-json}`";
        problems.push(Problem::new(table.head(), message, help));
    }
    for row in rows {
        if row.get("scenario").is_none() {
            let help = "add the scenario that measures it, as in `scenario: proxy-json`";
            problems.push(Problem::new(row.head(), "the row has no scenario", help));
        }
    }
    let bases = [table].into_iter().chain(rows);
    for base in bases.filter_map(|it| it.get("base")) {
        is_row(
            base,
            rows.iter(),
            "name one of the table's `rows`",
            problems,
        );
    }
}

fn is_row<'n>(
    node: &Node,
    rows: impl Iterator<Item = &'n Node>,
    help: &str,
    problems: &mut Vec<Problem>,
) {
    let mut names = rows.filter_map(|row| row.text_of("row"));
    if let Some(name) = node.text().filter(|name| names.all(|it| it != *name)) {
        problems.push(node.problem(format!("no row is called `{name}`"), help));
    }
}

fn cpus(table: &Node, problems: &mut Vec<Problem>) {
    let published = table.list("rows").iter();
    let sizes = published.filter_map(|row| row.get("published_of"));
    for entry in sizes.flat_map(Node::entries) {
        let cpus = entry.key.parse().ok();
        if cpus.is_none_or(|cpus: f64| !cpus.is_finite() || cpus <= 0.0) {
            let message = format!("`{}` is not a number of CPUs", entry.key);
            problems.push(entry.problem(message, "write a number, as in \"0.5\""));
        }
    }
}

fn corrections(root: &Node, problems: &mut Vec<Problem>) {
    for correction in root.list("corrections") {
        bounds(correction, problems);
        pairs(root, correction, problems);
        let Some(effect) = correction.get("effect") else {
            continue;
        };
        for (owner, setting, what) in SETTINGS {
            let is_owner = effect.text() == Some(owner);
            match correction.entry(setting) {
                None if is_owner => {
                    let message = format!("the effect `{owner}` needs `{setting}`");
                    problems.push(effect.problem(message, format!("add {what}")));
                }
                Some(entry) if !is_owner => {
                    let message = format!("`{setting}` is valid only with the effect `{owner}`");
                    problems.push(entry.problem(message, "remove it"));
                }
                None | Some(_) => {}
            }
        }
    }
}

fn bounds(correction: &Node, problems: &mut Vec<Problem>) {
    for pair in correction.list("buckets_ms").windows(2) {
        if let [Some(before), Some(bound)] = [&pair[0], &pair[1]].map(Node::number)
            && bound <= before
        {
            let help = "write the bounds from the lowest to the highest";
            problems.push(pair[1].problem("the bound is not above the one before it", help));
        }
    }
}

fn pairs(root: &Node, correction: &Node, problems: &mut Vec<Problem>) {
    let named = correction.list("pairs").iter();
    let named = named.flat_map(|pair| [pair.get("row"), pair.get("other")]);
    for node in named.flatten() {
        let rows = root.list("tables").iter().flat_map(|it| it.list("rows"));
        is_row(node, rows, "name a row of one of the tables", problems);
    }
}
