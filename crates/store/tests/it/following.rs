//! Tests that a run can be followed while it is written, and that only its own files are listed and
//! opened.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::{manifest, record, run_with_a_trial, trial};
use gatebench_store::files::{files_of_run, files_of_trial, open_file, open_trial_file};
use gatebench_store::{
    LiveEvent, LiveReader, LiveSecond, Outcome, RunOverview, RunState, RunWriter, Status,
    StoreError, TrialFolder,
};
use tempfile::TempDir;

const TRIAL: &str = "0001-proxy-json-nginx-b1";

fn second(second: u32) -> LiveEvent {
    LiveEvent::Second(LiveSecond {
        phase: "steady".into(),
        second,
        completed: 100,
        response_p50_ns: Some(1_000),
        ..LiveSecond::default()
    })
}

fn begin() -> LiveEvent {
    LiveEvent::Trial {
        began: "2026-01-02T03:04:06Z".parse().unwrap(),
        left_seconds: 60.0,
    }
}

#[test]
fn a_run_is_running_while_its_process_lives() {
    let dir = TempDir::new().unwrap();
    let state = || RunOverview::read(dir.path()).unwrap().state;
    let mut writer = RunWriter::create(dir.path(), manifest()).unwrap();
    assert_eq!(state(), RunState::Running);
    drop(writer);
    assert_eq!(state(), RunState::Killed);
    writer = RunWriter::resume(dir.path()).unwrap().0;
    assert_eq!(
        state(),
        RunState::Running,
        "a reader does not keep the lock"
    );
    writer.set_status(Status::Finished).unwrap();
    assert_eq!(state(), RunState::Finished);
}

#[test]
fn events_are_followed_while_they_are_written() {
    let dir = TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest()).unwrap();
    let mut reader = LiveReader::new(dir.path(), TRIAL);
    assert!(
        reader.follow().unwrap().is_empty(),
        "the file does not exist yet"
    );
    let open = writer.begin_trial(&trial(1)).unwrap();
    let mut live = open.live().unwrap();
    live.write(&begin()).unwrap();
    assert_eq!(reader.follow().unwrap(), [begin()]);
    live.write(&second(0)).unwrap();
    live.write(&second(1)).unwrap();
    assert_eq!(reader.follow().unwrap(), [second(0), second(1)]);

    let path = open.folder().join("live.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let whole = text.len();
    text.push_str("{\"event\":\"of another version\"}\n{\"event\":\"step\",\"ste");
    fs::write(&path, &text).unwrap();
    assert!(
        reader.follow().unwrap().is_empty(),
        "an incomplete line is not read"
    );
    text.push_str("p\":\"down\"}\n");
    fs::write(&path, &text).unwrap();
    let step = "down".into();
    assert_eq!(reader.follow().unwrap(), [LiveEvent::Step { step }]);
    // The trial is repeated, with a new file.
    fs::write(&path, &text[..whole]).unwrap();
    assert_eq!(reader.follow().unwrap(), [begin(), second(0), second(1)]);

    let folders = || TrialFolder::all(dir.path()).unwrap();
    let folder = |is_complete, is_live| TrialFolder {
        name: TRIAL.into(),
        is_complete,
        is_live,
    };
    assert_eq!(folders(), [folder(false, true)]);
    open.finish(record(1, Outcome::Completed), &[], &[])
        .unwrap();
    assert_eq!(folders(), [folder(true, false)]);
}

#[test]
fn after_a_day_the_file_grows_slowly() {
    let dir = TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest()).unwrap();
    let open = writer.begin_trial(&trial(1)).unwrap();
    let mut live = open.live().unwrap();
    for number in 86_390..86_520 {
        live.write(&second(number)).unwrap();
    }
    let events = LiveReader::new(dir.path(), TRIAL).follow().unwrap();
    let numbers = events.into_iter().filter_map(|event| match event {
        LiveEvent::Second(second) => Some(second.second),
        _ => None,
    });
    let first_day = 86_390..86_400;
    let expected = Vec::from_iter(first_day.chain([86_400, 86_460]));
    assert_eq!(Vec::from_iter(numbers), expected);
}

#[test]
fn only_files_below_the_run_are_listed_and_opened() {
    let (dir, writer) = run_with_a_trial();
    drop(writer);
    let elsewhere = TempDir::new().unwrap();
    fs::write(elsewhere.path().join("secret"), "of another user").unwrap();
    let trial = dir.path().join("trials").join(TRIAL);
    fs::write(trial.join("gateway/a b.conf"), "x").unwrap();
    symlink(elsewhere.path(), trial.join("gateway/folder")).unwrap();
    symlink(elsewhere.path().join("secret"), trial.join("secret")).unwrap();

    let paths = |files: Vec<gatebench_store::files::StoredFile>| {
        Vec::from_iter(files.into_iter().map(|it| it.path))
    };
    assert_eq!(paths(files_of_run(dir.path()).unwrap()), ["manifest.json"]);
    let listed = paths(files_of_trial(dir.path(), TRIAL).unwrap());
    assert!(
        listed.contains(&"gateway/a b.conf".to_owned()),
        "{listed:?}"
    );
    assert!(!listed.iter().any(|it| it.contains("secret")), "{listed:?}");

    let opened = |path: &str| open_trial_file(dir.path(), TRIAL, path);
    assert!(opened("gateway/a b.conf").unwrap().is_some());
    for outside in [
        "../../manifest.json",
        "/etc/passwd",
        "..",
        "gateway/../trial.json",
    ] {
        assert!(opened(outside).unwrap().is_none(), "{outside}");
        assert!(
            open_file(dir.path(), outside).unwrap().is_none(),
            "{outside}"
        );
    }
    for link in ["secret", "gateway/folder/secret"] {
        assert!(
            matches!(opened(link), Err(StoreError::Link { .. })),
            "{link}"
        );
    }
    assert!(opened("a\0b").is_err());
}
