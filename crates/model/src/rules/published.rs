//! Rules of published documents.

use gatebench_config::{Node, Problem};

use super::unique;

/// The settings of corrections that only one effect has.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "rounded",
        "step_ms",
        "add the step of its times, as in `step_ms: 10`",
    ),
    (
        "buckets",
        "buckets_ms",
        "add the bounds, as in `buckets_ms: [1, 2, 5]`",
    ),
    (
        "compression",
        "pairs",
        "add rows, as in `pairs: [{row: plain, other: gzip}]`",
    ),
];

/// The mistakes of a published document beyond its schema.
pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    groups(root, true, problems);
    for table in root.list("tables") {
        let is_of = |word| table.get("row").and_then(Node::text) == Some(word);
        groups(table, is_of("connections"), problems);
        if root.list("groups").is_empty() && table.list("groups").is_empty() {
            let help = "add `groups` to it, or to the document";
            let message = "a table without columns";
            problems.push(Problem::new(table.head(), message, help));
        }
        let names = table.list("rows").iter().filter_map(|row| row.get("row"));
        unique(names, "rows", "give each row a name of its own", problems);
        if is_of("scenario") {
            rows(table, problems);
        }
        if table.get("by_cpus").is_some() {
            cpus(table, problems);
        }
    }
    corrections(root, problems);
}

/// Heads have up to two lines; a column of each target has none, and stands where there are
/// targets.
fn groups(parent: &Node, has_targets: bool, problems: &mut Vec<Problem>) {
    let columns = parent.list("groups").iter().map(|it| it.list("columns"));
    for column in columns.flatten() {
        let lines = column.list("head");
        if let Some(third) = lines.get(2) {
            let help = "write one or two lines";
            let message = "a head of more than two lines";
            problems.push(Problem::new(third.head(), message, help));
        }
        if lines.is_empty() && !has_targets {
            let help = "add its `head`; only tables of `connections` have a column for each target";
            problems.push(Problem::new(column.head(), "a column without a head", help));
        }
    }
}

/// Rows of scenarios name a scenario, and a base among the rows.
fn rows(table: &Node, problems: &mut Vec<Problem>) {
    let rows = table.list("rows");
    if rows.is_empty() {
        let help = "add `rows`, as in `- {row: no policy, scenario: proxy-json}`";
        problems.push(Problem::new(
            table.head(),
            "a table of scenarios without rows",
            help,
        ));
    }
    for row in rows {
        if row.get("scenario").is_none() {
            let help = "add the scenario that measures it, as in `scenario: proxy-json`";
            problems.push(Problem::new(row.head(), "a row without a scenario", help));
        }
    }
    let is_row = |base: &&Node| {
        let mut names = rows.iter().filter_map(|row| row.get("row")?.text());
        base.text().is_none_or(|base| names.any(|it| it == base))
    };
    let bases = [table].into_iter().chain(rows);
    for base in bases.filter_map(|it| it.get("base")) {
        if !is_row(&base) {
            let message = format!("no row is called `{}`", base.text().unwrap_or_default());
            let help = "name one of the table's `rows`";
            problems.push(Problem::new(base.span.clone(), message, help));
        }
    }
}

/// The keys of figures of several sizes are numbers of CPUs.
fn cpus(table: &Node, problems: &mut Vec<Problem>) {
    let published = table.list("rows").iter();
    let sizes = published.filter_map(|row| row.get("published_of"));
    for entry in sizes.flat_map(Node::entries) {
        let cpus = entry.key.parse().ok();
        if cpus.is_none_or(|cpus: f64| !cpus.is_finite() || cpus <= 0.0) {
            let message = format!("`{}` is not a number of CPUs", entry.key);
            let help = "write a number, as in \"0.5\"";
            problems.push(Problem::new(entry.key_span.clone(), message, help));
        }
    }
}

/// An effect has the settings that it needs, and no other's.
fn corrections(root: &Node, problems: &mut Vec<Problem>) {
    for correction in root.list("corrections") {
        bounds(correction, problems);
        pairs(root, correction, problems);
        let Some(effect) = correction.get("effect") else {
            continue;
        };
        for (owner, setting, help) in SETTINGS {
            let is_owner = effect.text() == Some(owner);
            match correction.entry(setting) {
                None if is_owner => {
                    let message = format!("the effect `{owner}` needs `{setting}`");
                    problems.push(Problem::new(effect.span.clone(), message, help));
                }
                Some(entry) if !is_owner => {
                    let message = format!("`{setting}` belongs to the effect `{owner}`");
                    let span = entry.key_span.clone();
                    problems.push(Problem::new(span, message, "remove it"));
                }
                None | Some(_) => {}
            }
        }
    }
}

/// Bounds of buckets rise.
fn bounds(correction: &Node, problems: &mut Vec<Problem>) {
    for pair in correction.list("buckets_ms").windows(2) {
        if let [Some(before), Some(bound)] = [&pair[0], &pair[1]].map(Node::number)
            && bound <= before
        {
            let message = "a bound that is not above the one before it";
            let help = "write the bounds from the lowest to the highest";
            problems.push(Problem::new(pair[1].span.clone(), message, help));
        }
    }
}

/// Paired rows are rows of a table.
fn pairs(root: &Node, correction: &Node, problems: &mut Vec<Problem>) {
    let named = correction.list("pairs").iter();
    let named = named.flat_map(|pair| [pair.get("row"), pair.get("other")]);
    for node in named.flatten() {
        let rows = root.list("tables").iter().flat_map(|it| it.list("rows"));
        let mut names = rows.filter_map(|row| row.get("row")?.text());
        if let Some(name) = node.text().filter(|name| names.all(|it| it != *name)) {
            let message = format!("no row is called `{name}`");
            let help = "name a row of one of the tables";
            problems.push(Problem::new(node.span.clone(), message, help));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::parse;

    use crate::Published;

    fn mistakes(text: &str) -> Vec<String> {
        let text = format!("published: a\ntitle: t\nsetting: s\nsuite: s\n{text}");
        let found = parse::<Published>("a.yaml", &text).unwrap_err();
        found.all().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_and_columns_are_complete() {
        let text = "groups: [{group: g, columns: [{figure: rate}, {head: [a, b, c], figure: cpu}]}]\n\
                    tables:\n\
                    - row: scenario\n\
                    \x20 base: nobody\n\
                    \x20 groups: [{group: g, columns: [{figure: rate}]}]\n\
                    \x20 rows: [{row: a, scenario: s}, {row: a}]\n\
                    - row: scenario\n";
        assert_eq!(
            mistakes(text),
            [
                "a.yaml:5:61: a head of more than two lines; write one or two lines",
                "a.yaml:8:9: no row is called `nobody`; name one of the table's `rows`",
                "a.yaml:9:34: a column without a head; \
                 add its `head`; only tables of `connections` have a column for each target",
                "a.yaml:10:34: a row without a scenario; \
                 add the scenario that measures it, as in `scenario: proxy-json`",
                "a.yaml:10:39: two rows are `a`; give each row a name of its own",
                "a.yaml:11:3: a table of scenarios without rows; \
                 add `rows`, as in `- {row: no policy, scenario: proxy-json}`",
            ]
        );
    }

    #[test]
    fn figures_and_effects_have_the_settings_that_they_need() {
        let text = "tables:\n\
                    - row: scenario\n\
                    \x20 by_cpus: true\n\
                    \x20 rows: [{row: a, scenario: s, published_of: {half: {rats: 1}}}]\n\
                    corrections:\n\
                    - {effect: rounded, title: t, published: p, here: h}\n\
                    - {effect: drift, title: t, published: p, here: h, pairs: []}\n\
                    - {effect: buckets, title: t, published: p, here: h, buckets_ms: [1, 5, 2]}\n\
                    - {effect: compression, title: t, published: p, here: h, pairs: [{row: a, other: b}]}\n";
        assert_eq!(
            mistakes(text),
            [
                "a.yaml:6:3: a table without columns; add `groups` to it, or to the document",
                "a.yaml:8:47: `half` is not a number of CPUs; write a number, as in \"0.5\"",
                "a.yaml:8:54: `half` has no key `rats`; did you mean `rate`?",
                "a.yaml:10:12: the effect `rounded` needs `step_ms`; \
                 add the step of its times, as in `step_ms: 10`",
                "a.yaml:11:52: `pairs` belongs to the effect `compression`; remove it",
                "a.yaml:12:73: a bound that is not above the one before it; \
                 write the bounds from the lowest to the highest",
                "a.yaml:13:82: no row is called `b`; name a row of one of the tables",
            ]
        );
    }
}
