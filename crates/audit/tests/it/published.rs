//! Tests that the audit finds the problems in tables like those of published benchmarks.

use gatebench_audit::{Audit, Finding, Form, Numbering, Severity, audit, audit_rows};
use proptest::prelude::*;

fn audit_of(text: &str, form: Form) -> Audit {
    audit(text, form).unwrap()
}

fn found(text: &str) -> Audit {
    audit_of(text, Form::Markdown)
}

fn rules(audit: &Audit) -> Vec<(&str, Severity, usize)> {
    let seen = |it: &Finding| (it.rule, it.severity, it.line);
    let mut rules: Vec<_> = audit.findings.iter().map(seen).collect();
    rules.sort_unstable();
    rules
}

fn only<'a>(audit: &'a Audit, rule: &str) -> Vec<&'a Finding> {
    audit.findings.iter().filter(|it| it.rule == rule).collect()
}

const CLEAN: &str = "\
| gateway | connections | rps | mean ms | p50 ms | p95 ms | p99 ms | requests | duration | errors | runs |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
| a | 64 | 16000 | 3.98 | 3.71 | 6.12 | 8.30 | 480000 | 30 s | 0 | 10 |
| b | 64 | 15000 | 4.25 | 4.02 | 6.55 | 9.11 | 450000 | 30 s | 0 | 10 |
";

#[test]
fn nothing_is_found_in_a_clean_table() {
    let audit = found(CLEAN);
    assert_eq!((audit.tables, audit.rows), (1, 2));
    assert_eq!(audit.findings, []);
    let csv: String = CLEAN
        .lines()
        .filter(|line| !line.contains("--"))
        .map(|line| line.trim_matches(['|', ' ']).replace(" | ", ",") + "\n")
        .collect();
    let same = audit_of(&csv, Form::Csv);
    assert_eq!((same.tables, same.rows, same.findings), (1, 2, vec![]));
}

#[test]
fn a_percentile_above_a_higher_one_is_reported() {
    let audit = found(&CLEAN.replace("6.55", "9.76"));
    assert_eq!(
        rules(&audit),
        [("percentile-order", Severity::Impossible, 4)]
    );
    assert_eq!(audit.findings[0].columns, ["p95 ms", "p99 ms"]);
    assert_eq!(audit.findings[0].row.as_deref(), Some("b"));
    assert_eq!(
        audit.findings[0].says,
        "p95 ms is 9.76 ms, which is above p99 ms, 9.11 ms"
    );
}

#[test]
fn times_of_different_things_are_not_compared() {
    let text = "|x|proxy p99|client p95|client p99|rps|errors|runs|\n|-|-|-|-|-|-|-|\n|a|9 ms|5 ms|6 ms|100|0|3|\n";
    assert_eq!(
        only(&found(text), "percentile-order"),
        Vec::<&Finding>::new()
    );
}

#[test]
fn numbers_in_different_units_are_not_compared() {
    let table = |avg: &str, p95: &str| {
        found(&format!(
            "|x|{avg}|{p95}|p99 ms|rps|errors|runs|\n|-|-|-|-|-|-|-|\n|a|3.86|8.00|9.50|100|0|3|\n"
        ))
    };
    for rule in ["percentile-order", "mean-and-percentiles"] {
        assert_eq!(only(&table("avg (ms)", "p95"), rule).len(), 0);
    }
    let wrong = table("p50 s", "p95");
    assert_eq!(
        only(&wrong, "percentile-order")[0].columns,
        ["p50 s", "p99 ms"],
        "a number without a unit between them does not hide this"
    );
}

#[test]
fn responses_with_other_statuses_are_errors_of_wrk() {
    let text = wrk_runs(["71337.25", "70337.25", "71037.25"]);
    let lines = "Socket errors: connect 0, read 2, write 0, timeout 1\nNon-2xx or 3xx responses: 40\nRequests/sec:";
    let audit = found(&text.replace("Requests/sec:", lines));
    let errors = only(&audit, "errors");
    assert_eq!(errors.len(), 3, "{audit:?}");
    assert!(
        errors[0]
            .says
            .starts_with("43 of 700000 requests failed (0.01 %)"),
        "{}",
        errors[0].says
    );
}

#[test]
fn an_error_rate_without_a_unit_is_not_a_count() {
    let audit =
        found("|x|rps|p99 ms|Requests|Error rate|\n|-|-|-|-|-|\n|a|100|9.50|100000|0.02|\n");
    let errors = only(&audit, "errors");
    let says = &errors[0].says;
    assert!(says.starts_with("the error rate is 0.02; "), "{says}");
}

#[test]
fn more_in_flight_than_connections_is_reported() {
    // 16,000/s × 4.98 ms = 79.7 on 64 connections.
    let table = CLEAN.replace("3.98", "4.98");
    let severity = |audit: &Audit| {
        let [finding] = &only(audit, "in-flight")[..] else {
            panic!("not exactly one finding: {audit:?}");
        };
        assert!(finding.says.contains("keep 79.7 in flight"), "{audit:?}");
        (finding.severity, finding.says.clone())
    };
    let under = |heading: &str| severity(&found(&format!("## {heading}\n{table}")));
    for one_at_a_time in ["ab -k", "siege", "oha over HTTP/1.1"] {
        assert_eq!(under(one_at_a_time).0, Severity::Impossible);
    }
    let several = [
        ("wrk -t2 -c64", "wrk adds samples"),
        ("h2load", "several requests in flight per user"),
        ("Results", "does not name the load tool"),
    ];
    for (heading, why) in several {
        let (severity, says) = under(heading);
        assert_eq!(severity, Severity::Misleading, "{heading}");
        assert!(says.contains(why), "{says}");
    }
    let by_row = severity(&found(&table.replace("| a |", "| a, by ab |")));
    assert_eq!(by_row.0, Severity::Impossible, "the row names its tool");
}

#[test]
fn output_of_wrk_for_a_steady_closed_loop_is_possible() {
    let audit = found(&wrk_runs(["71337.25", "71337.25", "77337.25"]));
    // 77,337/s × 13.51 ms = 1,045 on 1,000 connections.
    let found = only(&audit, "in-flight");
    assert_eq!(found.len(), 1, "{audit:?}");
    assert_eq!(found[0].severity, Severity::Misleading);
}

#[test]
fn means_of_gatebench_include_only_requests_that_were_sent() {
    let headings = ["figures", "requests/s", "mean ms", "connections"].map(str::to_owned);
    let row = ["response times", "16000", "4.98", "64"].map(str::to_owned);
    let found = audit_rows("wrk and others", &headings, vec![row.into()]);
    let found = found.iter().find(|it| it.rule == "in-flight").unwrap();
    assert_eq!(found.severity, Severity::Impossible);
}

#[test]
fn a_mean_below_the_bound_of_the_percentiles_is_reported() {
    // Half of the requests take 3.71 ms or more, 5 % take 6.12 ms or more, and 1 % take 8.3 ms or
    // more. The mean is therefore at least 1.99 ms.
    let audit = found(&CLEAN.replace("3.98", "1.90"));
    assert_eq!(only(&audit, "mean-and-percentiles").len(), 1, "{audit:?}");
    assert_eq!(
        only(
            &found(&CLEAN.replace("3.98", "2.05")),
            "mean-and-percentiles"
        )
        .len(),
        0
    );
}

#[test]
fn a_mean_above_the_bound_of_the_longest_time_is_reported() {
    let table = |mean: &str| {
        format!(
            "|x|avg ms|p50 ms|p99 ms|max ms|rps|errors|runs|\n|-|-|-|-|-|-|-|-|\n|a|{mean}|1.0|2.0|10.0|100|0|9|\n"
        )
    };
    // The mean is at most 0.5 × 1 + 0.49 × 2 + 0.01 × 10 = 1.58 ms.
    assert_eq!(
        only(&found(&table("1.6")), "mean-and-percentiles").len(),
        0,
        "the difference may be due to rounding"
    );
    assert_eq!(only(&found(&table("1.8")), "mean-and-percentiles").len(), 1);
}

/// The figures of a published test of a gateway's policies.
const POLICIES: &str = "\
## Policies
|scenario|rps|proxy latency p95|avg|p95|p99|
|:--|--:|--:|--:|--:|--:|
|none|12908 rps|0.96 ms|3.86 ms|8.95 ms|14.1 ms|
|one|9071 rps|0.95 ms|2.08 ms|4.55 ms|6.6 ms|
|two|7988 rps|0.95 ms|2.36 ms|4.85 ms|7.09 ms|
|four|6815 rps|0.96 ms|2.78 ms|5.77 ms|8.33 ms|
|five|3133 rps|0.99 ms|6.05 ms|11.15 ms|16.91 ms|
|json|10931 rps|0.96 ms|25.46 ms|46.6 ms|83.2 ms|
";

#[test]
fn rows_at_different_concurrency_and_a_bucket_are_reported() {
    let audit = found(POLICIES);
    assert_eq!(
        rules(&audit),
        [
            ("different-concurrency", Severity::Misleading, 4),
            ("different-concurrency", Severity::Misleading, 9),
            ("errors-not-reported", Severity::Missing, 2),
            ("histogram-bucket", Severity::Misleading, 4),
            ("latency-at-saturation", Severity::Misleading, 5),
            ("no-repetition", Severity::Missing, 2),
        ]
    );
    let says = |rule| only(&audit, rule)[0].says.clone();
    assert!(says("different-concurrency").starts_with("49.8 requests were in flight in this row"));
    assert!(says("latency-at-saturation").contains("in 4 of 6 rows,"));
    assert!(says("histogram-bucket").starts_with("950 µs to 990 µs in every row"));
    assert_eq!(
        only(&audit, "histogram-bucket")[0].columns,
        ["proxy latency p95"]
    );
}

#[test]
fn equal_latency_at_equal_rate_is_not_a_bucket() {
    let text = "|x|rps|p95 ms|errors|runs|\n|-|-|-|-|-|\n|a|1000|0.96|0|9|\n|b|1000|0.95|0|9|\n|c|1000|0.97|0|9|\n";
    assert_eq!(found(text).findings, []);
}

#[test]
fn a_coarse_timer_is_reported() {
    let audit = found("|x|rps|avg s|errors|runs|\n|-|-|-|-|-|\n|a|2461.09|0.00|0|3|\n");
    assert_eq!(rules(&audit), [("resolution", Severity::Misleading, 3)]);
    assert!(audit.findings[0].says.contains("in steps of 10 ms"));
    let audit = found("|x|rps|avg ms|errors|runs|\n|-|-|-|-|-|\n|a|3887|5|0|3|\n");
    assert_eq!(rules(&audit), [("resolution", Severity::Misleading, 3)]);
}

#[test]
fn each_coarse_cell_is_named_with_its_row() {
    let audit = found(
        "# Times\n\n|gateway|rps|mean ms|p50 ms|p95 ms|p99 ms|max ms|errors|runs|\n|-|-|-|-|-|-|-|-|-|\n\
         |a|900|1.21|1.10|2.31|2.98|3.10|0|9|\n|b|900|1.31|1.20|2.31|2.98|3.10|0|9|\n\
         |c|900|1.41|1.30|2.31|2.98|3.10|0|9|\n|d|900|1.51|1.40|2.31|2.98|3.10|0|9|\n\
         |e|900|0.00|0.00|0.00|0.01|0.02|0|9|\n",
    );
    let [zeros, coarse] = &only(&audit, "resolution")[..] else {
        panic!("not one finding for zeros and one for coarse steps: {audit:?}");
    };
    for finding in [zeros, coarse] {
        assert_eq!((finding.line, finding.row.as_deref()), (9, Some("e")));
    }
    assert_eq!(zeros.columns, ["mean ms", "p50 ms", "p95 ms"]);
    assert_eq!(
        places(zeros),
        [
            "9 e, mean ms: 0.00",
            "9 e, p50 ms: 0.00",
            "9 e, p95 ms: 0.00"
        ]
    );
    assert_eq!(places(coarse), ["9 e, p99 ms: 0.01", "9 e, max ms: 0.02"]);
    assert_eq!(
        coarse.says,
        "written in steps of 10 µs, which is 100 % of 10 µs"
    );
}

fn places(finding: &Finding) -> Vec<String> {
    let cells = finding.cells.iter();
    let place = cells.map(|it| format!("{} {}, {}: {}", it.line, it.row, it.column, it.written));
    place.collect()
}

/// A table, a rule, and the cells that the rule's only finding in the table must name.
type Located = (String, &'static str, &'static [&'static str]);

/// Returns, for each rule that names cells, a table in which the rule finds something.
fn located() -> Vec<Located> {
    let clean = |from: &str, to: &str| CLEAN.replace(from, to);
    let cpu = "|x|rps|cpu per request (µs)|cores|errors|runs|\n|-|-|-|-|-|-|\n|a|9000|441|4|0|3|\n|b|9900|441|4|0|3|\n";
    let few = "|x|rps|p99 ms|requests|errors|runs|\n|-|-|-|-|-|-|\n|a|50|3.12|500|0|3|\n";
    let runs = "|run|rps|errors|\n|-|-|-|\n|a (run 1)|1000.001|0|\n|a (run 2)|1100.001|0|\n|a (run 3)|1200.001|0|\n";
    vec![
        (
            clean("6.55", "9.76"),
            "percentile-order",
            &["4 b, p95 ms: 9.76", "4 b, p99 ms: 9.11"],
        ),
        (
            clean("4.25", "1.25"),
            "mean-and-percentiles",
            &[
                "4 b, mean ms: 1.25",
                "4 b, p50 ms: 4.02",
                "4 b, p95 ms: 6.55",
                "4 b, p99 ms: 9.11",
            ],
        ),
        (
            clean("4.25", "5.25"),
            "in-flight",
            &[
                "4 b, rps: 15000",
                "4 b, mean ms: 5.25",
                "4 b, connections: 64",
            ],
        ),
        (
            clean("450000", "300000"),
            "rate-and-count",
            &[
                "4 b, requests: 300000",
                "4 b, duration: 30 s",
                "4 b, rps: 15000",
            ],
        ),
        (
            clean("450000 | 30 s | 0", "450000 | 30 s | 7"),
            "errors",
            &["4 b, errors: 7", "4 b, requests: 450000"],
        ),
        (
            few.into(),
            "too-few-samples",
            &["3 a, p99 ms: 3.12", "3 a, requests: 500"],
        ),
        (
            cpu.into(),
            "cpu-bound",
            &[
                "4 b, rps: 9900",
                "4 b, cpu per request (µs): 441",
                "4 b, cores: 4",
            ],
        ),
        (clean("6.55", "7"), "resolution", &["4 b, p95 ms: 7"]),
        (
            runs.into(),
            "drift",
            &[
                "3 a (run 1), rps: 1000.001",
                "4 a (run 2), rps: 1100.001",
                "5 a (run 3), rps: 1200.001",
            ],
        ),
        (
            runs.into(),
            "false-precision",
            &[
                "3 a (run 1), rps: 1000.001",
                "4 a (run 2), rps: 1100.001",
                "5 a (run 3), rps: 1200.001",
            ],
        ),
        (
            POLICIES.into(),
            "histogram-bucket",
            &[
                "4 none, proxy latency p95: 0.96 ms",
                "5 one, proxy latency p95: 0.95 ms",
                "6 two, proxy latency p95: 0.95 ms",
                "7 four, proxy latency p95: 0.96 ms",
                "8 five, proxy latency p95: 0.99 ms",
                "9 json, proxy latency p95: 0.96 ms",
            ],
        ),
        (
            POLICIES.into(),
            "latency-at-saturation",
            &[
                "5 one, rps: 9071 rps",
                "5 one, avg: 2.08 ms",
                "6 two, rps: 7988 rps",
                "6 two, avg: 2.36 ms",
                "7 four, rps: 6815 rps",
                "7 four, avg: 2.78 ms",
                "8 five, rps: 3133 rps",
                "8 five, avg: 6.05 ms",
            ],
        ),
        (
            POLICIES.replace("25.46 ms", "1.73 ms"),
            "different-concurrency",
            &["4 none, rps: 12908 rps", "4 none, avg: 3.86 ms"],
        ),
    ]
}

#[test]
fn every_finding_names_its_row_and_its_cells() {
    for (table, rule, cells) in located() {
        let audit = found(&table);
        let [finding] = &only(&audit, rule)[..] else {
            panic!("not exactly one finding of {rule}: {audit:?}");
        };
        assert_eq!(places(finding), cells, "{rule}");
        let first = &finding.cells[0];
        assert_eq!(finding.line, first.line, "{rule}");
        let is_one = finding.cells.iter().all(|it| it.line == first.line);
        assert_eq!(finding.row.as_ref(), is_one.then_some(&first.row), "{rule}");
        for column in &finding.columns {
            assert!(
                finding.cells.iter().any(|it| it.column == *column),
                "{rule}"
            );
        }
    }
    // Missing information has no line, so the finding names the line of the headings.
    let audit = found("# A\n\n|x|rps|\n|-|-|\n|a|900|\n");
    let missing = [
        ("errors-not-reported", Severity::Missing, 3),
        ("no-repetition", Severity::Missing, 3),
    ];
    assert_eq!(rules(&audit), missing);
}

#[test]
fn lines_of_csv_are_those_of_the_file() {
    let rows = ["a,900,2.00,1.00", "b,900,1.00,2.00", "c,900,2.00,1.00"];
    for end in ["\n", "\r\n"] {
        let text = [
            "# made by hand",
            "",
            "x,rps,p50 ms,p99 ms",
            rows[0],
            "",
            "# and",
            rows[1],
            rows[2],
        ];
        let audit = audit_of(&text.join(end), Form::Csv);
        let order = only(&audit, "percentile-order");
        let lines: Vec<usize> = order.iter().map(|it| it.line).collect();
        assert_eq!(lines, [4, 8], "{end:?}: {audit:?}");
        assert_eq!(only(&audit, "errors-not-reported")[0].line, 3);
    }
}

#[test]
fn items_of_json_are_counted_and_rows_without_a_label_have_a_number() {
    let rows =
        r#"[{"rps": 9, "p50_ms": 1.0, "p99_ms": 2.0}, {"rps": 9, "p50_ms": 2.0, "p99_ms": 1.0}]"#;
    let audit = audit_of(rows, Form::Json);
    let order = only(&audit, "percentile-order")[0];
    assert_eq!((order.numbering, order.line), (Numbering::Item, 2));
    assert_eq!(order.row.as_deref(), Some("row 2"));
    assert_eq!(
        places(order),
        ["2 row 2, p50_ms: 2.0", "2 row 2, p99_ms: 1.0"]
    );
}

#[test]
fn a_peak_rate_with_a_mean_time_is_reported() {
    let audit = found(&CLEAN.replace("| 480000 |", "| 300000 |"));
    assert_eq!(rules(&audit), [("rate-and-count", Severity::Misleading, 3)]);
    assert!(
        audit.findings[0]
            .says
            .contains("a peak instead of the mean")
    );
}

#[test]
fn failures_and_percentiles_of_few_samples_are_reported() {
    let audit = found(&CLEAN.replace("30 s | 0", "30 s | 480"));
    assert_eq!(only(&audit, "errors").len(), 2);
    assert!(
        audit.findings[0]
            .says
            .starts_with("480 of 480000 requests failed (0.1 %)")
    );
    let few = found("|x|rps|p99 ms|requests|errors|runs|\n|-|-|-|-|-|-|\n|a|50|3.12|500|0|3|\n");
    assert_eq!(rules(&few), [("too-few-samples", Severity::Misleading, 3)]);
}

#[test]
fn more_cpu_time_than_cores_is_reported() {
    let table = |rps: u32| {
        format!(
            "|x|rps|cpu per request (µs)|cores|errors|runs|\n|-|-|-|-|-|-|\n|a|{rps}|441|4|0|3|\n"
        )
    };
    assert_eq!(found(&table(9071)).findings, []);
    assert_eq!(
        rules(&found(&table(9900))),
        [("cpu-bound", Severity::Impossible, 3)]
    );
}

fn wrk_runs(rates: [&str; 3]) -> String {
    let run = |(number, rate): (usize, &&str)| {
        format!(
            "### Result (run {number}):\nRunning 10s test @ http://10.0.0.9:8000/\n  5 threads and 1000 connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency    13.51ms   61.46ms   1.04s   98.99%\n    \
             Req/Sec    14.31k     2.61k   20.80k    82.59%\n  700000 requests in 10.00s, 154.07MB read\n\
             Requests/sec:  {rate}\nTransfer/sec:     15.30MB\n\n"
        )
    };
    (1..).zip(&rates).map(run).collect()
}

#[test]
fn repetitions_that_drift_are_reported() {
    let audit = found(&wrk_runs(["68803.45", "70337.25", "72141.41"]));
    assert_eq!((audit.tables, audit.rows), (1, 3));
    assert_eq!(
        only(&audit, "drift").len(),
        0,
        "the rate drifts by only 4.9 %"
    );
    assert_eq!(only(&audit, "false-precision").len(), 1);
    assert_eq!(only(&audit, "no-repetition").len(), 0);
    let audit = found(&wrk_runs(["68003.45", "70337.25", "72141.41"]));
    assert_eq!(only(&audit, "drift").len(), 1, "the rate drifts by 6.1 %");
}

#[test]
fn output_of_siege_has_a_coarse_timer() {
    let text = "$ siege -c 16 -b -t 1M http://10.0.0.9:7000/ping\nTransactions:\t\t      708638 hits\n\
        Availability:\t\t      100.00 %\nElapsed time:\t\t       59.22 secs\nData transferred:\t        2.03 MB\n\
        Response time:\t\t        0.00 secs\nTransaction rate:\t    11966.19 trans/sec\nThroughput:\t\t        0.03 MB/sec\n\
        Concurrency:\t\t       15.67\nSuccessful transactions:      708638\nFailed transactions:\t           0\n\
        Longest transaction:\t        0.03\nShortest transaction:\t        0.00\n";
    let audit = found(text);
    let coarse = only(&audit, "resolution");
    assert_eq!(
        coarse.len(),
        2,
        "one finding for the mean and one for the longest time: {audit:?}"
    );
    assert_eq!(coarse[0].columns, ["Response time"]);
}

#[test]
fn json_is_read_as_objects_and_as_lists() {
    let rows = r#"{"results": [{"name": "a", "rate_per_second": 100, "latency": {"p50_ms": 2.0, "p99_ms": 1.0}}]}"#;
    let audit = audit_of(rows, Form::Json);
    assert_eq!(only(&audit, "percentile-order").len(), 1, "{audit:?}");
    let lists =
        r#"{"name": ["a", "b"], "rps": [100, 100], "p50_ms": [2.0, 1.0], "p99_ms": [1.0, 3.0]}"#;
    let audit = audit_of(lists, Form::Json);
    let order = only(&audit, "percentile-order");
    assert_eq!(order.len(), 1);
    assert_eq!(order[0].row.as_deref(), Some("a"));
}

#[test]
fn an_unreadable_document_is_an_error_with_its_line() {
    let error = |text: &str, form| audit(text, form).unwrap_err().to_string();
    assert_eq!(
        error("a,b\n1,2\n1,2,3\n", Form::Csv),
        "line 3: the number of cells is 3, but there are 2 headings"
    );
    assert!(error("{\n \"a\": }", Form::Json).starts_with("line 2: the document is not JSON"));
}

#[test]
fn a_table_without_figures_is_ignored() {
    let audit = found("|driver|commits|releases|\n|-|-|-|\n|local|yes|yes|\n");
    assert_eq!((audit.tables, audit.passed_over), (0, 1));
}

proptest! {
    #[test]
    fn any_text_is_judged(text in "[-|:a-z0-9. %\\\\\n(±–p]{0,200}") {
        for form in [Form::Markdown, Form::Csv, Form::Json] {
            let _ = audit(&text, form);
        }
    }

    /// Tests that figures, units and decimal places in any combination cause no panic, and that no
    /// finding contains NaN or infinity.
    #[test]
    fn any_figures_are_judged(cells in prop::collection::vec("[0-9]{1,12}(\\.[0-9]{1,3})?( ms| s| %|k|)", 6)) {
        let row = cells.join("|");
        let text = format!("|x|connections|rps|mean|p95|p99|requests|\n|-|-|-|-|-|-|-|\n|a|{row}|\n");
        let audit = found(&text);
        prop_assert_eq!(audit.rows, 1);
        for finding in &audit.findings {
            prop_assert!(!finding.says.contains("NaN") && !finding.says.contains("inf "), "{}", finding.says);
        }
    }
}
