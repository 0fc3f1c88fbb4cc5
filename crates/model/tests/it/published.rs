//! Tests the rules for published documents.

use gatebench_config::parse;
use gatebench_model::Published;

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
            "a.yaml:5:61: the head has more than two lines; write one or two lines",
            "a.yaml:8:9: no row is called `nobody`; name one of the table's `rows`",
            "a.yaml:9:34: the column has no head; \
                 add its `head`; only tables of `connections` have a column for each target",
            "a.yaml:10:34: the row has no scenario; \
                 add the scenario that measures it, as in `scenario: proxy-json`",
            "a.yaml:10:39: the rows contain `a` twice; give each row a unique name",
            "a.yaml:11:3: the table has no rows; \
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
            "a.yaml:6:3: the table has no columns; add `groups` to it, or to the document",
            "a.yaml:8:47: `half` is not a number of CPUs; write a number, as in \"0.5\"",
            "a.yaml:8:54: `half` has no key `rats`; did you mean `rate`?",
            "a.yaml:10:12: the effect `rounded` needs `step_ms`; \
                 add the step of its times, as in `step_ms: 10`",
            "a.yaml:11:52: `pairs` is valid only with the effect `compression`; remove it",
            "a.yaml:12:73: the bound is not above the one before it; \
                 write the bounds from the lowest to the highest",
            "a.yaml:13:82: no row is called `b`; name a row of one of the tables",
        ]
    );
}
