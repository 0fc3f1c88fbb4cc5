//! Tests the index and the baselines of a folder of runs.

use std::fs;
use std::path::{Path, PathBuf};

use gatebench_store::history::{
    BASELINES_FILE, Baselines, CellEntry, HistoryIndex, INDEX_FILE, RunEntry,
};
use tempfile::TempDir;

fn directory(folder: &Path, name: &str, manifest: &str) {
    fs::create_dir_all(folder.join(name)).unwrap();
    fs::write(folder.join(name).join("manifest.json"), manifest).unwrap();
}

fn entry(dir: &str, stamp: &str, created: &str) -> RunEntry {
    let cell = CellEntry {
        scenario: "proxy'json".into(),
        gateway: "nginx".into(),
        version: "1.26".into(),
        conditions: "abc".into(),
        load: "64 connections".into(),
        metric: "throughput".into(),
        unit: "requests_per_second".into(),
        higher_is_better: true,
        value: 41_234.5,
        min: 1e-9,
        max: 1e12,
        blocks: 3,
        limited: false,
        control: Some(9.5),
        spoiled: 0,
    };
    RunEntry {
        dir: dir.into(),
        stamp: stamp.into(),
        created: created.parse().unwrap(),
        suite: "tour".into(),
        gatebench: "0.1.0".into(),
        blocks: 3,
        left_out: None,
        cells: vec![
            cell.clone(),
            CellEntry {
                limited: true,
                spoiled: 2,
                ..cell
            },
        ],
    }
}

#[test]
fn entries_are_read_back_oldest_first_and_only_changed_runs_are_stale() {
    let folder = TempDir::new().unwrap();
    directory(folder.path(), "b", "{}");
    directory(folder.path(), "a", "{}");
    fs::create_dir(folder.path().join("no-run")).unwrap();
    let mut index = HistoryIndex::open(folder.path()).unwrap();
    let stale = index.stale().unwrap();
    let names = |found: &[gatebench_store::history::Found]| -> Vec<String> {
        found.iter().map(|it| it.dir.clone()).collect()
    };
    assert_eq!(names(&stale), ["a", "b"]);
    let later = entry("a", &stale[0].stamp, "2026-02-01T00:00:00Z");
    let sooner = entry("b", &stale[1].stamp, "2026-01-01T00:00:00Z");
    index.put(&later).unwrap();
    index.put(&sooner).unwrap();
    drop(index);
    let index = HistoryIndex::open(folder.path()).unwrap();
    assert!(folder.path().join(INDEX_FILE).exists());
    assert_eq!(index.entries().unwrap(), [sooner, later]);
    assert_eq!(index.stale().unwrap(), []);
    directory(folder.path(), "a", "{ }");
    assert_eq!(names(&index.stale().unwrap()), ["a"]);
    fs::remove_dir_all(folder.path().join("b")).unwrap();
    index.stale().unwrap();
    assert_eq!(
        index.entries().unwrap().len(),
        1,
        "a missing run is removed from the index"
    );
}

#[test]
fn a_damaged_or_deleted_index_is_rebuilt() {
    let folder = TempDir::new().unwrap();
    directory(folder.path(), "a", "{}");
    fs::write(
        folder.path().join(INDEX_FILE),
        "this is not a database, and longer than the header of one ".repeat(40),
    )
    .unwrap();
    let mut index = HistoryIndex::open(folder.path()).unwrap();
    let stale = index.stale().unwrap();
    index
        .put(&entry("a", &stale[0].stamp, "2026-02-01T00:00:00Z"))
        .unwrap();
    drop(index);
    let index = HistoryIndex::rebuild(folder.path()).unwrap();
    assert_eq!(index.stale().unwrap(), stale);
}

#[test]
fn baselines_move_with_their_folder() {
    let folder = TempDir::new().unwrap();
    let mut known = Baselines::read(folder.path()).unwrap();
    assert!(known.baselines.is_empty());
    let dirs = [folder.path().join("a"), PathBuf::from("/elsewhere/b")];
    known.set(folder.path(), "main", &dirs);
    known.write(folder.path()).unwrap();
    let known = Baselines::read(folder.path()).unwrap();
    assert_eq!(
        known.baselines["main"],
        [PathBuf::from("a"), PathBuf::from("/elsewhere/b")]
    );
    assert_eq!(
        known.runs(Path::new("/moved"), "main").unwrap()[0],
        Path::new("/moved/a")
    );
    assert_eq!(known.runs(folder.path(), "other"), None);
}

#[test]
fn a_run_counts_once_in_a_baseline() {
    let folder = TempDir::new().unwrap();
    for name in ["a", "b"] {
        directory(folder.path(), name, "{}");
    }
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let mut known = Baselines::default();
    let dirs = [a.clone(), b, a.clone()];
    assert_eq!(known.set(folder.path(), "main", &dirs), 2);
    let expected = [PathBuf::from("a"), PathBuf::from("b")];
    assert_eq!(known.baselines["main"], expected);

    // An earlier version stored a run once for each time that it was named.
    let runs = serde_json::json!(["a", a, "b", "./a"]);
    let text = serde_json::json!({"schema": 1, "baselines": {"main": runs}}).to_string();
    fs::write(folder.path().join(BASELINES_FILE), text).unwrap();
    let known = Baselines::read(folder.path()).unwrap();
    assert_eq!(known.baselines["main"], expected);
}
