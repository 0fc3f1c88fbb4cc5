//! Tests that the records in a run directory are read back as they were written, and that failures
//! are reported.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{interval, manifest, phase, record, run_with_a_trial, trial};
use gatebench_model::{Blame, Culprit, Trial};
use gatebench_store::{
    Manifest, Outcome, ParityCaseRecord, ParityRecord, PhaseRecord, RequestsRow, Run, RunWriter,
    SCHEMA_VERSION, SeriesRow, SeriesUsage, Status, StoreError, TaggedInterval, TrialRecord,
};
use tempfile::TempDir;

#[test]
fn records_are_read_back_as_written() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("not/yet/there");
    let mut writer = RunWriter::create(&path, manifest()).unwrap();
    let open = writer.begin_trial(&trial(1)).unwrap();
    fs::write(open.gateway_folder().join("nginx.conf"), "events {}").unwrap();
    let mut written = record(1, Outcome::Completed);
    let case = ParityCaseRecord {
        name: "answers".into(),
        passed: true,
        ..Default::default()
    };
    written.parity_before = Some(ParityRecord {
        cases: vec![case],
        ..Default::default()
    });
    let usage = SeriesUsage {
        cpu_ns: 5,
        rss_anon_bytes: 6,
        ..Default::default()
    };
    let rows = [
        SeriesRow {
            phase: "steady".into(),
            completed: 7,
            gateway: Some(usage),
            ..Default::default()
        },
        SeriesRow {
            phase: "steady".into(),
            second: 1,
            response_p50_ns: Some(9),
            pools: [("heap_bytes".to_owned(), 4_096)].into(),
            own_series: [("requests.a.200_per_1000_s".to_owned(), 5)].into(),
            ..Default::default()
        },
    ];
    let intervals = [interval(0, &[1_000, 2_000]), interval(1, &[50_000_000_000])];
    let folder = open.finish(written.clone(), &intervals, &rows).unwrap();
    writer.set_status(Status::Finished).unwrap();

    assert!(folder.ends_with("trials/0001-proxy-json-nginx-b1"));
    let run = Run::open(&path).unwrap();
    assert_eq!(run.manifest().status, Status::Finished);
    assert_eq!(run.manifest().schema, SCHEMA_VERSION);
    let [stored] = run.trials() else {
        panic!("not exactly one trial")
    };
    written.schema = SCHEMA_VERSION;
    assert_eq!(stored.record, written);
    assert_eq!(stored.series().unwrap(), rows);
    assert_eq!(
        stored.gateway_file("nginx.conf").unwrap().as_deref(),
        Some("events {}")
    );
    assert_eq!(stored.gateway_file("../trial.json").unwrap(), None);
    let histograms = stored.histograms().unwrap();
    let merged = &histograms["steady.response.2xx"];
    assert_eq!(merged.len(), 3);
    assert!(merged.equivalent(merged.max(), 50_000_000_000));
}

#[test]
fn the_interval_log_counts_from_the_start_of_the_trial() {
    let dir = TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest()).unwrap();
    let open = writer.begin_trial(&trial(1)).unwrap();
    let folder = open.finish(
        record(1, Outcome::Completed),
        &[interval(1, &[2_000_000])],
        &[],
    );
    let log = fs::read_to_string(folder.unwrap().join("histograms.hlog")).unwrap();
    let line = log.lines().find(|line| line.starts_with("Tag=")).unwrap();
    // The phase began 1.5 s into the trial, and the interval began 1 s into the phase.
    assert!(
        line.starts_with("Tag=steady.response.2xx,2.500,1.000,2.00"),
        "{line}"
    );
    assert!(line.contains(",HISTFAAAA"), "{line}");
    assert!(
        log.starts_with("#[Histogram log format version 1.3]"),
        "{log}"
    );
}

#[test]
fn a_resumed_run_keeps_finished_trials_and_measures_the_rest() {
    let (dir, writer) = run_with_a_trial();
    let interrupted = writer.begin_trial(&trial(2)).unwrap();
    interrupted
        .finish(record(2, Outcome::Interrupted), &[], &[])
        .unwrap();
    let abandoned = writer.begin_trial(&trial(3)).unwrap();
    let unfinished = abandoned.folder().to_owned();
    drop((abandoned, writer));
    assert!(unfinished.exists());
    assert_eq!(Run::open(dir.path()).unwrap().trials().len(), 2);

    let (writer, finished) = RunWriter::resume(dir.path()).unwrap();
    assert!(!unfinished.exists());
    assert_eq!(
        finished
            .iter()
            .map(|record| record.trial.number)
            .collect::<Vec<_>>(),
        [1]
    );
    let again = writer.begin_trial(&trial(2)).unwrap();
    again
        .finish(record(2, Outcome::Completed), &[], &[])
        .unwrap();
    let run = Run::open(dir.path()).unwrap();
    assert!(
        run.trials()
            .iter()
            .all(|trial| trial.record.outcome == Outcome::Completed)
    );
}

#[test]
fn a_resumed_run_repeats_failures_that_were_not_the_gateways_fault() {
    let (dir, writer) = run_with_a_trial();
    let file = Culprit::File {
        path: "mine.yaml".into(),
        line: Some(3),
    };
    let culprits = [
        Culprit::Gateway("nginx".into()),
        file,
        Culprit::Upstream,
        Culprit::Engine,
        Culprit::Environment,
    ];
    for (number, culprit) in (2..).zip(culprits) {
        let failed = Outcome::Failed {
            culprit,
            reason: "it failed".into(),
            remedy: "look".into(),
            phase: None,
        };
        let open = writer.begin_trial(&trial(number)).unwrap();
        open.finish(record(number, failed), &[], &[]).unwrap();
    }
    drop(writer);
    let (_writer, finished) = RunWriter::resume(dir.path()).unwrap();
    let numbers: Vec<_> = finished.iter().map(|record| record.trial.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn a_resumed_run_does_not_repeat_an_attempt_that_was_retried() {
    let (dir, mut writer) = run_with_a_trial();
    let attempt = |number, again| Trial {
        again,
        ..trial(number)
    };
    let attempts = [
        attempt(2, None),
        attempt(3, None),
        attempt(4, Some(2)),
        attempt(5, Some(3)),
        attempt(6, Some(3)),
    ];
    let failed = || Outcome::Failed {
        culprit: Culprit::Environment,
        reason: "it failed".into(),
        remedy: "look".into(),
        phase: None,
    };
    writer
        .update_manifest(|manifest| manifest.plan.trials.extend(attempts.clone()))
        .unwrap();
    for trial in attempts {
        let outcome = match trial.number {
            4 => Outcome::Completed,
            _ => failed(),
        };
        let record = TrialRecord {
            trial: trial.clone(),
            ..record(trial.number, outcome)
        };
        let open = writer.begin_trial(&trial).unwrap();
        open.finish(record, &[], &[]).unwrap();
    }
    drop(writer);
    let (_writer, finished) = RunWriter::resume(dir.path()).unwrap();
    let numbers: Vec<_> = finished.iter().map(|record| record.trial.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5], "the last attempt is repeated");
}

#[test]
fn a_directory_with_a_run_is_not_overwritten() {
    let (dir, writer) = run_with_a_trial();
    drop(writer);
    let error = RunWriter::create(dir.path(), manifest()).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyARun { .. }), "{error}");
    assert!(error.remedy().contains("--resume"));
}

#[test]
fn two_writers_on_one_directory_are_refused() {
    let (dir, writer) = run_with_a_trial();
    let open = writer.begin_trial(&trial(2)).unwrap();
    drop(writer);
    // The trial that is being written keeps the lock of the directory.
    let error = RunWriter::resume(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    drop(open);
    RunWriter::resume(dir.path()).unwrap();
}

#[test]
fn the_kernel_releases_the_lock_of_a_process_that_ends() {
    let (dir, writer) = run_with_a_trial();
    drop(writer);
    let lock = dir.path().join(".lock");
    let mut other = Command::new("flock")
        .arg(lock)
        .args(["sh", "-c", "echo held; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut held = String::new();
    BufReader::new(other.stdout.take().unwrap())
        .read_line(&mut held)
        .unwrap();
    assert_eq!(held, "held\n");
    assert!(matches!(
        RunWriter::resume(dir.path()),
        Err(StoreError::Locked { .. })
    ));
    drop(other.stdin.take());
    other.wait().unwrap();
    RunWriter::resume(dir.path()).unwrap();
}

fn io_kind(error: &StoreError) -> ErrorKind {
    let StoreError::Io { source, .. } = error else {
        panic!("{error}")
    };
    source.kind()
}

/// The environment variable that contains the path of the small disk. It is set only in the process
/// that a test starts.
const SMALL_DISK: &str = "GATEBENCH_TEST_SMALL_DISK";

/// Runs one test of this program again, in a process that sees a disk of 256 KiB.
fn with_a_small_disk(test: &str) {
    let place = TempDir::new().unwrap();
    let script =
        "mount -t tmpfs -o size=256k none \"$1\" && exec \"$0\" --exact \"$2\" --nocapture";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(place.path())
        .arg(test)
        .env(SMALL_DISK, place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn a_full_disk_keeps_finished_trials() {
    let Some(disk) = std::env::var_os(SMALL_DISK) else {
        return with_a_small_disk("run_directory::a_full_disk_keeps_finished_trials");
    };
    let dir = Path::new(&disk).join("run");
    let mut writer = RunWriter::create(&dir, manifest()).unwrap();
    let open = writer.begin_trial(&trial(1)).unwrap();
    let finished = open.finish(record(1, Outcome::Completed), &[], &[]);
    finished.unwrap();
    let open = writer.begin_trial(&trial(2)).unwrap();
    let filled = fs::write(Path::new(&disk).join("filler"), vec![0; 1 << 20]);
    assert_eq!(filled.unwrap_err().kind(), ErrorKind::StorageFull);
    let error = open
        .finish(record(2, Outcome::Completed), &[], &[])
        .unwrap_err();
    assert_eq!(io_kind(&error), ErrorKind::StorageFull, "{error}");
    assert_eq!(error.culprit(), Culprit::Environment);
    assert!(
        error.remedy().contains("free up space"),
        "{}",
        error.remedy()
    );
    assert_eq!(Run::open(&dir).unwrap().trials().len(), 1);
    let error = writer.set_status(Status::Finished).unwrap_err();
    assert_eq!(io_kind(&error), ErrorKind::StorageFull, "{error}");
    assert_eq!(writer.manifest().status, Status::Running);
    let status = Run::open(&dir).unwrap().manifest().status;
    assert_eq!(status, Status::Running);
    let left = fs::read_dir(&dir).unwrap().flatten();
    let mut left = left.map(|it| it.file_name().to_string_lossy().into_owned());
    assert!(left.all(|name| !name.ends_with(".tmp")));
}

#[test]
fn a_directory_that_cannot_be_created_is_named() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a-file");
    fs::write(&file, "").unwrap();
    let error = RunWriter::create(&file.join("run"), manifest()).unwrap_err();
    assert_eq!(io_kind(&error), ErrorKind::NotADirectory);
    assert!(error.to_string().contains("a-file/run"), "{error}");
    assert!(error.remedy().contains("--dir"), "{}", error.remedy());
}

#[test]
fn the_remedy_for_a_read_only_file_system_is_another_directory() {
    // In sysfs, nobody may create directories, not even root.
    let error = RunWriter::create(Path::new("/sys/gatebench"), manifest()).unwrap_err();
    let kind = io_kind(&error);
    assert!(
        matches!(
            kind,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
        ),
        "{error}"
    );
    assert!(error.remedy().contains("--dir DIR"));
}

#[test]
fn a_newer_run_is_reported_as_newer() {
    let (dir, _writer) = run_with_a_trial();
    for path in [
        "manifest.json",
        "trials/0001-proxy-json-nginx-b1/trial.json",
    ] {
        let path = dir.path().join(path);
        let kept = fs::read_to_string(&path).unwrap();
        // A newer document need not have any other field that this program knows.
        fs::write(&path, "{\"schema\": 99, \"unheard_of\": []}").unwrap();
        let error = Run::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains("schema version 99"), "{error}");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
        fs::write(&path, kept).unwrap();
    }
}

#[test]
fn a_damaged_file_is_named() {
    let (dir, _writer) = run_with_a_trial();
    let folder = dir.path().join("trials/0001-proxy-json-nginx-b1");
    let damage = BTreeMap::from([
        ("trial.json", "{\"schema\": 1, \"trial\": "),
        (
            "series.csv",
            "phase,second,completed,failed\nsteady,x,0,0\n",
        ),
        (
            "histograms.hlog",
            "Tag=steady.response.2xx,0.0,1.0,1.0,HISTFnonsense\n",
        ),
    ]);
    for (file, text) in damage {
        let path = folder.join(file);
        let kept = fs::read(&path).unwrap();
        fs::write(&path, text).unwrap();
        let error = Run::open(dir.path())
            .and_then(|run| run.trials()[0].series().and(run.trials()[0].histograms()))
            .unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(file), "{error}");
        fs::write(&path, kept).unwrap();
    }
}

#[test]
fn a_trial_is_visible_once_its_record_exists() {
    let (dir, writer) = run_with_a_trial();
    let again = writer.begin_trial(&trial(1)).unwrap();
    fs::write(again.gateway_folder().join("gateway.stdout.log"), "").unwrap();
    assert!(Run::open(dir.path()).unwrap().trials().is_empty());
    let folder = again.folder().to_owned();
    let finished = again.finish(record(1, Outcome::Completed), &[], &[]);
    assert_eq!(finished.unwrap(), folder);
    assert_eq!(Run::open(dir.path()).unwrap().trials()[0].folder(), folder);
}

#[test]
fn a_directory_without_a_manifest_is_not_a_run() {
    let dir = TempDir::new().unwrap();
    assert!(matches!(
        Run::open(dir.path()),
        Err(StoreError::NotARun { .. })
    ));
    assert!(matches!(
        RunWriter::resume(dir.path()),
        Err(StoreError::NotARun { .. })
    ));
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    let dir = TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest()).unwrap();
    let open = writer.begin_trial(&trial(1)).unwrap();
    let error = open
        .finish(record(2, Outcome::Completed), &[], &[])
        .unwrap_err();
    assert!(matches!(error, StoreError::Inconsistent { .. }), "{error}");
    for tag in [
        "other.response.2xx",
        "steady.response",
        "steady.re sponse.2xx",
    ] {
        let open = writer.begin_trial(&trial(1)).unwrap();
        let wrong = TaggedInterval {
            tag: tag.into(),
            ..interval(0, &[1])
        };
        let error = open
            .finish(record(1, Outcome::Completed), &[wrong], &[])
            .unwrap_err();
        assert!(matches!(error, StoreError::Inconsistent { .. }), "{error}");
    }
}

#[test]
fn a_label_that_is_a_path_stays_in_the_directory() {
    let dir = TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest()).unwrap();
    let odd = Trial {
        variant: "../mine/gw@1.2".into(),
        ..trial(1)
    };
    let open = writer.begin_trial(&odd).unwrap();
    let folder = open.finish(
        TrialRecord {
            trial: odd,
            ..record(1, Outcome::Completed)
        },
        &[],
        &[],
    );
    assert!(
        folder
            .unwrap()
            .ends_with("trials/0001-proxy-json-.._mine_gw_1.2-b1")
    );
}

#[test]
fn a_checkpoint_survives_the_end_of_the_process() {
    let (dir, writer) = run_with_a_trial();
    let open = writer.begin_trial(&trial(2)).unwrap();
    let mut sofar = record(2, Outcome::Completed);
    sofar.phases = vec![phase("steady", 0)];
    open.checkpoint(&sofar, &[interval(0, &[1_000])], &[])
        .unwrap();
    let seen = Run::open(dir.path()).unwrap().trials()[1].record.clone();
    assert_eq!(seen.outcome, Outcome::Interrupted);
    assert_eq!(seen.phases.len(), 1);

    let mut further = sofar.clone();
    further.phases.push(phase("later", 2_000_000_000));
    let intervals = [interval(0, &[1_000]), interval(1, &[2_000])];
    open.finish(further, &intervals, &[]).unwrap();
    let run = Run::open(dir.path()).unwrap();
    let whole = &run.trials()[1];
    assert_eq!(whole.record.outcome, Outcome::Completed);
    assert_eq!(whole.histograms().unwrap()["steady.response.2xx"].len(), 2);

    let open = writer.begin_trial(&trial(3)).unwrap();
    open.checkpoint(&record(3, Outcome::Completed), &[], &[])
        .unwrap();
    drop((open, writer));
    let (_writer, finished) = RunWriter::resume(dir.path()).unwrap();
    assert_eq!(finished.len(), 2, "the third trial is measured again");
}

#[test]
fn an_earlier_name_of_a_key_is_read() {
    let mut old = serde_json::to_value(manifest()).unwrap();
    old["foreign_engine"] =
        serde_json::json!({"name": "wrk", "version": "4.1.0", "binary": "/usr/bin/wrk"});
    let read: Manifest = serde_json::from_value(old).unwrap();
    assert_eq!(read.external_generator.unwrap().name, "wrk");

    let mut old = serde_json::to_value(phase("steady", 0)).unwrap();
    old["foreign"] = serde_json::json!({"engine": "wrk", "command": [], "rate_per_second": 7.0});
    let read: PhaseRecord = serde_json::from_value(old).unwrap();
    assert_eq!(read.external.unwrap().rate_per_second, 7.0);
}

#[test]
fn requests_by_outcome_are_read_as_they_were_written() {
    let dir = TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest()).unwrap();
    let open = writer.begin_trial(&trial(1)).unwrap();
    let row = |second, status| RequestsRow {
        phase: "steady".into(),
        second,
        statuses: [(status, 40)].into(),
        errors: [("timeout".into(), 2)].into(),
        checks_failed: [(3, 1)].into(),
        failing_checks: 1,
        dropped: 5,
        bytes_sent: 6,
        bytes_received: 7,
        busy: 8,
    };
    let rows = [row(0, 200), row(1, 404)];
    open.keep_requests(&rows).unwrap();
    open.finish(record(1, Outcome::Completed), &[], &[])
        .unwrap();
    let run = Run::open(dir.path()).unwrap();
    assert_eq!(run.trials()[0].requests().unwrap(), rows);
    let (earlier, _) = run_with_a_trial();
    let run = Run::open(earlier.path()).unwrap();
    assert_eq!(run.trials()[0].requests().unwrap(), []);
}
