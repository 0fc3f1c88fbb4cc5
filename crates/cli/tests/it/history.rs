//! Tests of `gatebench compare`, `baseline`, `history` and `audit RUN` with generated runs.

#[path = "../../../studies/tests/it/common/mod.rs"]
#[allow(dead_code, reason = "the tests of crate studies use the rest")]
pub mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::runs::{slower, write_run};
use common::{SECOND_NS, SECONDS};
use serde_json::Value;
use tempfile::TempDir;

/// Runs `gatebench` and returns its exit code, standard output and standard error.
fn gatebench(folder: &Path, words: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gatebench"))
        .args(words.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Writes the runs of eighteen nights with one block each. From the seventh night on, haproxy uses
/// about 1.3 times the CPU time.
pub fn nights() -> TempDir {
    let folder = TempDir::new().unwrap();
    for night in 1..=18_u32 {
        let factor = if night < 7 { 1.0 } else { 1.3 } + 0.004 * f64::from(night % 4);
        write_run(
            &folder
                .path()
                .join(format!("gatebench-runs/night-{night:02}")),
            1,
            |manifest| manifest.created = format!("2026-01-{night:02}T03:04:05Z").parse().unwrap(),
            |made| slower(made, "haproxy", factor),
        );
    }
    folder
}

#[test]
fn many_nights_have_a_history_and_a_baseline() {
    let folder = nights();
    let (code, said, errors) = gatebench(folder.path(), "history");
    assert_eq!(code, 0, "{errors}");
    assert!(
        said.contains("18 runs") && said.contains("in night-07"),
        "{said}"
    );
    assert!(
        folder
            .path()
            .join("gatebench-runs/history.sqlite")
            .is_file()
    );
    let (_, json, _) = gatebench(folder.path(), "history --json");
    fs::remove_file(folder.path().join("gatebench-runs/history.sqlite")).unwrap();
    let (_, again, _) = gatebench(folder.path(), "history --rescan --format json");
    assert_eq!(json, again, "everything comes from the run directories");
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["runs"].as_array().unwrap().len(), 18);
    let (_, page, _) = gatebench(folder.path(), "history --gateway haproxy --format html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("class=\"change worse\""));
    assert!(!page.contains("nginx"), "only the given gateway is shown");

    let runs: Vec<String> = (1..=6)
        .map(|night| format!("gatebench-runs/night-{night:02}"))
        .collect();
    let (code, said, errors) =
        gatebench(folder.path(), &format!("baseline set {}", runs.join(" ")));
    assert_eq!(
        (code, said.starts_with("main: 6 runs")),
        (0, true),
        "{said}{errors}"
    );
    assert_eq!(
        gatebench(folder.path(), "baseline list").1,
        "main  6 runs\n"
    );
    assert!(
        gatebench(folder.path(), "baseline show")
            .1
            .contains("gatebench-runs/night-03")
    );
    let (code, said, _) = gatebench(
        folder.path(),
        "compare gatebench-runs/night-08 --baseline main",
    );
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("Worse: proxy-json, haproxy"), "{said}");
    let (code, said, _) = gatebench(
        folder.path(),
        "compare gatebench-runs/night-04 --baseline main --format json",
    );
    assert_eq!(code, 0, "{said}");
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        found["baseline"].as_array().unwrap().len(),
        5,
        "a run is not compared with itself"
    );
    let (code, _, errors) = gatebench(
        folder.path(),
        "compare gatebench-runs/night-04 --baseline mine",
    );
    assert_eq!(code, 2);
    assert!(errors.contains("use one of main"), "{errors}");
    let twice = "gatebench-runs/night-01 ./gatebench-runs/night-01/ gatebench-runs/night-02";
    let (_, said, _) = gatebench(folder.path(), &format!("baseline set --name twice {twice}"));
    assert!(
        said.starts_with("twice: 2 runs; a verdict needs 3"),
        "a run counts once: {said}"
    );
    assert_eq!(gatebench(folder.path(), "baseline remove main").0, 0);
}

#[test]
fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
    let folder = TempDir::new().unwrap();
    let run = folder.path().join("gatebench-runs/only");
    write_run(&run, 1, |_| (), |_| ());
    for (words, known) in [
        ("--scenario proxy-jsn", "use one of proxy-json"),
        ("--gateway haprxy", "haproxy, nginx"),
    ] {
        let (code, said, errors) = gatebench(folder.path(), &format!("history {words}"));
        assert_eq!((code, said.as_str()), (2, ""), "{errors}");
        assert!(errors.contains(words) && errors.contains(known), "{errors}");
    }
    let words = "history --scenario proxy-json --gateway haproxy";
    assert_eq!(gatebench(folder.path(), words).0, 0);
}

#[test]
fn a_baseline_without_another_run_is_an_error() {
    let folder = TempDir::new().unwrap();
    let run = folder.path().join("gatebench-runs/only");
    write_run(&run, 1, |_| (), |_| ());
    let set = gatebench(folder.path(), "baseline set gatebench-runs/only");
    assert_eq!(set.0, 0, "{}", set.2);
    let words = "compare gatebench-runs/only --baseline main";
    let (code, said, errors) = gatebench(folder.path(), words);
    assert_eq!((code, said.as_str()), (2, ""), "{errors}");
    assert!(
        errors.contains("the baseline 'main' contains no other run"),
        "{errors}"
    );
    let remedy = "gatebench baseline set RUN RUN RUN --name main\n";
    assert!(errors.contains(remedy), "{errors}");

    write_run(&folder.path().join("elsewhere/only"), 1, |_| (), |_| ());
    let words = "compare elsewhere/only --baseline main --runs-in elsewhere";
    let remedy = "gatebench baseline set RUN RUN RUN --name main --runs-in elsewhere";
    let (_, _, errors) = gatebench(folder.path(), words);
    assert!(errors.contains("there is no baseline of that name"));
    assert!(errors.contains(remedy), "{errors}");
    let set = "baseline set elsewhere/only --runs-in elsewhere";
    assert_eq!(gatebench(folder.path(), set).0, 0);
    let (_, _, errors) = gatebench(folder.path(), words);
    assert!(errors.contains("contains no other run"), "{errors}");
    assert!(errors.contains(remedy), "{errors}");
}

#[test]
fn two_runs_are_compared_in_every_form() {
    let folder = TempDir::new().unwrap();
    for (name, factor) in [("before", 1.0), ("after", 1.1)] {
        write_run(
            &folder.path().join(name),
            10,
            |_| (),
            |made| slower(made, "haproxy", factor),
        );
    }
    let (code, said, errors) = gatebench(folder.path(), "compare before after");
    assert_eq!(code, 1, "{said}{errors}");
    assert!(
        said.contains("1.100× (1.098–1.102)") && said.contains("There is one run on each side"),
        "{said}"
    );
    let (_, said, _) = gatebench(folder.path(), "compare before after --format markdown");
    assert!(
        said.starts_with("### ❌ Worse: proxy-json, haproxy"),
        "{said}"
    );
    let (_, page, _) = gatebench(folder.path(), "compare before after --format html");
    assert!(
        page.contains("How was this computed?") && page.contains("id=\"method-comparing-runs\"")
    );
    assert_eq!(
        gatebench(folder.path(), "compare before before").0,
        0,
        "a run is not worse than itself"
    );
    assert_eq!(gatebench(folder.path(), "compare before").0, 2);
    assert_eq!(gatebench(folder.path(), "compare before nothing").0, 2);
}

#[test]
fn manipulated_figures_are_found() {
    let folder = TempDir::new().unwrap();
    write_run(&folder.path().join("run"), 1, |_| (), |_| ());
    assert_eq!(gatebench(folder.path(), "audit run").0, 0);
    let trials = folder.path().join("run/trials");
    let nginx = fs::read_dir(trials).unwrap().flatten();
    let nginx = nginx
        .map(|it| it.path())
        .find(|it| it.to_string_lossy().contains("nginx"));
    let file = nginx.unwrap().join("trial.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    record["phases"][0]["usage"]["gateway"]["cpu_ns"] = (2 * SECONDS * SECOND_NS).into();
    fs::write(&file, record.to_string()).unwrap();
    let (code, said, _) = gatebench(folder.path(), "audit run");
    assert_eq!(code, 1);
    assert!(said.contains("keep 2 cores busy, more than"), "{said}");
    let (_, page, _) = gatebench(folder.path(), "report run --format html");
    assert!(
        page.contains("cannot be true"),
        "the report also states this"
    );
}
