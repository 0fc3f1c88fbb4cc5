//! Printed and published output contains neither secrets, unless requested, nor escape sequences
//! from a gateway.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::bench::Bench;

const SECRET: &str = "SEKRET-API-KEY-123";

/// Sets up a scenario whose route requires a key, and a suite with these gateways.
fn keyed(bench: &Bench, gateways: &str) {
    let response = "checks: [{status: 200}, {body_contains: ok}]";
    let request = format!("path: /ping, headers: {{X-Api-Key: {SECRET}}}, {response}");
    bench.write(
        "keyed.yaml",
        &format!(
            "scenario: keyed\ntitle: Behind a key\nupstream: ping\n\
             routes: [{{name: ping, path: /ping, policies: [api_key: {{header: X-Api-Key}}]}}]\n\
             consumers: [{{name: a, keys: [{SECRET}]}}]\n\
             requests:\n  - {{{request}}}\n\
             parity:\n  - {{name: a key is accepted, request: {{{request}}}, reaches_upstream: true}}\n"
        ),
    );
    bench.suite(gateways, 1);
    let suite = bench
        .read("suite.yaml")
        .replace("./ping.yaml", "./keyed.yaml");
    bench.write("suite.yaml", &suite);
}

/// Sets up a gateway that writes this Python string to standard error and exits at once.
fn ends_with(bench: &Bench, words: &str) {
    bench.faulty("honest");
    let spec = bench.read("faulty/gateway.yaml") + "policies: {api_key: native}\n";
    bench.write("faulty/gateway.yaml", &spec);
    let program = format!("import sys\nif sys.argv[1] != 'check':\n    sys.exit({words})\n");
    bench.write("faulty/faulty.py", &program);
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}

fn is_for_others(path: &Path) -> bool {
    fs::metadata(path).unwrap().permissions().mode() & 0o077 != 0
}

#[test]
fn a_secret_is_in_no_report_and_in_no_file_that_others_may_read() {
    let bench = Bench::new();
    ends_with(&bench, &format!("'refused: {SECRET}'"));
    keyed(&bench, "reference, ./faulty");
    let finished = bench.gatebench("run suite.yaml --dir run");
    finished.assert_code(1).assert_says(&["refused: [masked]"]);
    assert!(!finished.stderr.contains(SECRET), "{}", finished.stderr);
    assert!(!finished.stdout.contains(SECRET), "{}", finished.stdout);

    let holders: Vec<PathBuf> = files_below(&bench.path("run"))
        .into_iter()
        .filter(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).contains(SECRET))
        .collect();
    let named = |name: &str| holders.iter().any(|path| path.ends_with(name));
    for name in [
        "manifest.json",
        "gateway.json",
        "trial.json",
        "gateway.stderr.log",
    ] {
        assert!(named(name), "{name} is not in {holders:?}");
    }
    assert!(
        !named("report.html") && !named("report.json"),
        "{holders:?}"
    );
    let shown: Vec<_> = holders.iter().filter(|path| is_for_others(path)).collect();
    assert!(shown.is_empty(), "{shown:?}");

    for format in ["terminal", "markdown", "html", "json", "csv"] {
        let printed = bench.gatebench(&format!("report run --format {format}"));
        printed.assert_code(0);
        assert!(!printed.stdout.contains(SECRET), "{}", printed.stdout);
    }
    let page = bench.gatebench("report run --format html").stdout;
    assert!(page.contains("[masked]"), "{page}");
    let all = bench.gatebench("report run --show-secrets --format json");
    all.assert_code(0).assert_prints(&[SECRET, "refused: "]);
    let redacted = bench.gatebench("report run --redact --format html");
    redacted.assert_code(0).assert_prints(&["[left out]"]);
    for local in [bench.path("run").to_str().unwrap(), "refused: "] {
        assert!(!redacted.stdout.contains(local), "{local}");
    }
    assert!(!is_for_others(&bench.path("run/manifest.json")));
    assert!(is_for_others(&bench.path("run/report.html")));
    bench.gatebench("report run --show-secrets").assert_code(0);
    assert!(!is_for_others(&bench.path("run/report.html")));
    bench
        .gatebench("report run --show-secrets --redact")
        .assert_code(2);
}

#[test]
fn a_report_does_not_follow_links() {
    let bench = Bench::new();
    bench
        .gatebench("run suite.yaml --dir run")
        .assert_measured();
    let trial = bench.kept_trials("run").remove(0);
    let file = bench.path(&format!("run/trials/{trial}/gateway/gateway.json"));
    bench.write("mine", "what only the reader has");
    fs::remove_file(&file).unwrap();
    symlink(bench.path("mine"), &file).unwrap();
    let printed = bench.gatebench("report run --format html");
    printed
        .assert_code(2)
        .assert_says(&["gateway.json: is a symbolic link", "  → "]);
    assert!(printed.stdout.is_empty(), "{}", printed.stdout);
    // Writing a report does not follow a link: the file that the link names stays unchanged.
    fs::remove_file(&file).unwrap();
    fs::write(&file, "{}").unwrap();
    symlink(bench.path("mine"), bench.path("run/report.tmp")).unwrap();
    bench.gatebench("report run").assert_code(0);
    assert_eq!(bench.read("mine"), "what only the reader has");
}

#[test]
fn text_of_a_gateway_does_not_control_the_terminal() {
    let bench = Bench::new();
    let words = r"'bad \x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\rline\x9b2K\u202eend'";
    ends_with(&bench, words);
    bench.suite("reference, ./faulty", 1);
    let finished = bench.gatebench("run suite.yaml --dir run");
    finished
        .assert_code(1)
        .assert_says(&["gateway faulty", "bad red lineend"]);
    let checked = bench.gatebench("check gateway ./faulty --scenario contract --scenario api-key");
    checked.assert_prints(&["bad red lineend"]);
    let reported = bench.gatebench("report run");
    for text in [
        &finished.stdout,
        &finished.stderr,
        &checked.stdout,
        &checked.stderr,
        &reported.stdout,
    ] {
        let acts = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(acts), "{text:?}");
    }
}
