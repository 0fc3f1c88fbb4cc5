//! Tests of `gatebench ab`: plans, builds of two commits, and verdicts.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{Bench, Finished};
use crate::folder::gatebench;

/// The folder of the reference gateway, which is available on every machine.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../gateways/reference");

fn git(folder: &Path, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.test", "-C"])
        .arg(folder)
        .args(words)
        .status()
        .unwrap();
    assert!(status.success(), "git {words:?}");
}

fn repository() -> TempDir {
    let folder = TempDir::new().unwrap();
    let gateway = folder.path().join("deploy/gw");
    fs::create_dir_all(&gateway).unwrap();
    for entry in fs::read_dir(REFERENCE).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), gateway.join(entry.file_name())).unwrap();
    }
    git(folder.path(), &["init", "--quiet"]);
    for number in ["one", "two"] {
        fs::write(folder.path().join("number"), number).unwrap();
        git(folder.path(), &["add", "number", "deploy"]);
        git(folder.path(), &["commit", "--quiet", "-m", number]);
        git(folder.path(), &["tag", number]);
    }
    folder
}

#[test]
fn two_commits_are_built_and_planned_with_the_baseline_twice() {
    let folder = repository();
    let words = [
        "ab",
        "--git",
        "one",
        "two",
        "--gateway",
        "deploy/gw",
        "--build",
        "cat number > built",
    ];
    let output = gatebench(
        folder.path(),
        &[&words[..], &["--dry-run", "--json"]].concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let plan = plan.get("plan").unwrap_or(&plan);
    let ab_test = &plan["ab_test"];
    let label = |name: &str| ab_test[name].as_str().unwrap().to_owned();
    assert!(label("candidate").starts_with("two-"), "{ab_test}");
    assert!(label("baseline").starts_with("one-"), "{ab_test}");
    assert_eq!(label("again"), format!("{}-2", label("baseline")));
    assert_eq!(
        (&ab_test["blocks_max"], &plan["blocks"]),
        (&40.into(), &50.into())
    );
    assert_eq!(
        ab_test["decides_first"], true,
        "ten blocks for the other metrics follow"
    );
    let built = |folder: &Value| {
        let top = Path::new(folder.as_str().unwrap())
            .ancestors()
            .nth(2)
            .unwrap();
        fs::read_to_string(top.join("built")).unwrap()
    };
    let variants = plan["variants"].as_array().unwrap();
    let numbers: Vec<String> = variants.iter().map(|it| built(&it["folder"])).collect();
    assert_eq!(numbers, ["two", "one", "one"]);
}

#[test]
fn commits_are_built_in_their_clones_when_a_hook_names_the_repository() {
    let folder = repository();
    let hooked = folder.path().join(".git");
    let head = || fs::read_to_string(hooked.join("HEAD")).unwrap();
    let before = head();
    let words = "ab --git one two --gateway deploy/gw --dry-run --build";
    let output = Command::new(env!("CARGO_BIN_EXE_gatebench"))
        .args(words.split(' '))
        .arg("git checkout --quiet --detach && cat number > built")
        .current_dir(folder.path())
        .env("XDG_DATA_HOME", folder.path().join("data"))
        .env("GIT_DIR", &hooked)
        .env("GIT_INDEX_FILE", hooked.join("index"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(head(), before);
}

#[test]
fn a_known_gateway_runs_the_program_in_each_clone() {
    let folder = repository();
    let own = env!("CARGO_BIN_EXE_gatebench");
    let build = format!(
        "mkdir -p made/bin && printf '#!/bin/sh\\nexec {own} \"$@\"\\n' > made/bin/gatebench && \
         chmod +x made/bin/gatebench"
    );
    let planned = |prefix: &str| {
        let gateway = format!("reference@{prefix}");
        let words = [
            "ab",
            "--git",
            "one",
            "two",
            "--gateway",
            &gateway,
            "--build",
        ];
        let words = [&words[..], &[&build, "--dry-run", "--json"]].concat();
        gatebench(folder.path(), &words)
    };
    let output = planned("made");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let plan: Value = serde_json::from_str(&text).unwrap();
    let plan = plan.get("plan").unwrap_or(&plan);
    let variants = plan["variants"].as_array().unwrap();
    let places: BTreeSet<&str> = variants
        .iter()
        .filter_map(|variant| variant["setup"]["version"].as_str())
        .collect();
    assert_eq!(places.len(), 2, "{text}");
    assert!(places.iter().all(|it| it.ends_with("/made")), "{places:?}");

    let label = |name: &str| plan["ab_test"][name].as_str().unwrap().to_owned();
    assert!(label("candidate").starts_with("two-"), "{text}");
    assert!(label("baseline").starts_with("one-"), "{text}");

    let missing = planned("nowhere");
    assert_eq!(missing.status.code(), Some(2));
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("this commit has no nowhere"), "{said}");
}

#[test]
fn other_metrics_are_omitted_or_measured_in_every_block() {
    let folder = TempDir::new().unwrap();
    let planned = |words: &[&str]| -> Value {
        let words = [
            &["ab", "reference", "reference"][..],
            words,
            &["--dry-run", "--json"],
        ]
        .concat();
        let output = gatebench(folder.path(), &words);
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        plan.get("plan").unwrap_or(&plan).clone()
    };
    let alone = planned(&["--verdict-only", "--blocks", "12"]);
    assert_eq!(
        (&alone["blocks"], &alone["ab_test"]["decides_first"]),
        (&12.into(), &true.into())
    );
    // Every phase measures memory, so every phase is needed for the verdict and none is postponed.
    let memory = planned(&["--metric", "memory", "--blocks", "12"]);
    assert_eq!(memory["blocks"], 12);
    assert_eq!(memory["ab_test"].get("decides_first"), None);
}

#[test]
fn an_unknown_commit_is_refused() {
    let folder = repository();
    let words = ["ab", "--git", "one", "three", "--gateway", "deploy/gw"];
    let output = gatebench(folder.path(), &words);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there is no commit 'three'"), "{said}");
}

#[test]
fn a_run_without_time_is_inconclusive() {
    let folder = TempDir::new().unwrap();
    let words = [
        "ab",
        "reference",
        "reference",
        "--load",
        "smoke",
        "--budget",
        "1s",
        "--dir",
        "run",
    ];
    let files = ["--junit", "ab.xml", "--comment", "ab.md"];
    let output = gatebench(folder.path(), &[&words[..], &files].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(
        said.contains("reference cannot be distinguished from reference-2"),
        "{said}"
    );
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.path().join("run/manifest.json")).unwrap())
            .unwrap();
    assert_eq!(manifest["status"], "finished");
    assert_eq!(manifest["plan"]["blocks"], 1, "only the first block is run");
    assert_eq!(manifest["plan"]["trials"].as_array().unwrap().len(), 3);
    let comment = fs::read_to_string(folder.path().join("ab.md")).unwrap();
    assert!(
        comment.starts_with("### ❔ reference cannot be distinguished"),
        "{comment}"
    );
    assert!(
        fs::read_to_string(folder.path().join("ab.xml"))
            .unwrap()
            .ends_with("</testsuites>\n")
    );
}

#[test]
fn a_resumed_run_ends_with_the_verdict_of_its_test() {
    let folder = TempDir::new().unwrap();
    let words = "ab reference reference --load smoke --budget 1s --dir run";
    let first = gatebench(folder.path(), &words.split(' ').collect::<Vec<_>>());
    let resumed = gatebench(folder.path(), &["run", "--resume", "run"]);
    let said = String::from_utf8_lossy(&resumed.stdout).into_owned();
    assert_eq!(resumed.status.code(), Some(4), "{said}");
    assert_eq!(first.status.code(), resumed.status.code());
    let last = said.trim_end().rsplit("\n\n").next().unwrap();
    assert!(
        last.starts_with("reference cannot be distinguished from reference-2"),
        "{said}"
    );
}

#[test]
fn a_failed_test_and_its_resumed_run_end_with_the_same_verdict_and_exit_code() {
    let bench = Bench::new();
    bench.faulty("refuse:line-7-says-nonsense");
    let end = |finished: &Finished| {
        finished.assert_code(1);
        let last = finished.stdout.trim_end().rsplit("\n\n").next();
        last.unwrap_or_default().to_owned()
    };
    let words = "ab reference ./faulty --scenario ./ping.yaml --load smoke --budget 1s --dir run";
    let verdict = end(&bench.gatebench(words));
    assert!(
        verdict.starts_with("faulty cannot be distinguished from reference"),
        "{verdict}"
    );
    assert_eq!(end(&bench.gatebench("run --resume run")), verdict);
}
