//! Tests of `gatebench audit` with documents on standard input.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

const HEAD: &str =
    "|gateway|connections|rps|mean ms|p95 ms|p99 ms|errors|runs|\n|-|-|-|-|-|-|-|-|\n";

fn audit(text: &str, words: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gatebench"))
        .args(["audit", "-"])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_closed_standard_output_does_not_change_the_exit_code() {
    for format in ["--form=markdown", "--json"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatebench"))
            .args(["audit", "-", format])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The command prints only after it has read its input. By then, its output is already
        // closed.
        drop(child.stdout.take());
        let text = format!("{HEAD}|a|64|16000|3.98|9.76|8.77|0|10|\n");
        let mut input = child.stdin.take().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(1), "{format}");
    }
}

#[test]
fn a_clean_table_is_fine() {
    let output = audit(&format!("{HEAD}|a|64|16000|3.98|6.12|8.30|0|10|\n"), &[]);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "no findings in 1 table with 1 row\n");
}

#[test]
fn impossible_figures_are_reported_with_their_place() {
    let text = format!("# Results\n\n{HEAD}|a|64|16000|3.98|9.76|8.77|0|10|\n");
    let output = audit(&text, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.starts_with("Results\n\n✗ impossible  line 5 · a · p95 ms 9.76, p99 ms 8.77\n"),
        "{said}"
    );
    assert!(
        said.ends_with("1 table with 1 row: 1 impossible, 0 misleading, 0 not stated\n"),
        "{said}"
    );

    let output = audit(&text, &["--json"]);
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings["findings"][0]["rule"], "percentile-order");
    assert_eq!(findings["findings"][0]["severity"], "impossible");
    assert_eq!(findings["findings"][0]["line"], 5);
    let cell = &findings["findings"][0]["cells"][1];
    assert_eq!(
        (&cell["row"], &cell["column"]),
        (&"a".into(), &"p99 ms".into())
    );
}

#[test]
fn a_cell_that_is_too_coarse_is_named_with_its_row() {
    let rows = "|a|9|1600|3.98|6.12|8.30|0|9|\n".repeat(4);
    let output = audit(&format!("{HEAD}{rows}|e|9|1600|0.00|0.00|0.02|0|9|\n"), &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    for place in [
        "line 7 · e · mean ms 0.00, p95 ms 0.00\n",
        "line 7 · e · p99 ms 0.02\n",
    ] {
        assert!(said.contains(&format!("! misleading  {place}")), "{said}");
    }
    assert!(!said.contains("misleading  line 2"), "{said}");
}

#[test]
fn a_document_without_figures_is_invalid_input() {
    let output = audit("nothing here\n", &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("contains no table"), "{said}");
    let output = audit("a,b\n1\n", &["--form", "csv"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("line 2: the number of cells is 1, but there are 2 headings"),
        "{said}"
    );
}
