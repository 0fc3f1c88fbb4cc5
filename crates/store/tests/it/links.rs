//! Tests that links in run directories are not followed, that only regular files are read and
//! written, and that files that may contain keys are private.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use crate::common::run_with_a_trial;
use gatebench_model::Blame;
use gatebench_store::{Run, RunWriter, Status, StoreError};
use tempfile::TempDir;

#[test]
fn files_that_may_contain_keys_are_private() {
    let (dir, mut writer) = run_with_a_trial();
    writer.set_status(Status::Finished).unwrap();
    let mode = |file: &str| {
        let status = fs::metadata(dir.path().join(file)).unwrap();
        status.permissions().mode() & 0o777
    };
    assert_eq!(mode("manifest.json"), 0o600);
    assert_eq!(mode("trials/0001-proxy-json-nginx-b1/trial.json"), 0o600);
}

/// Opens run directories, each with one link that another user might have placed there.
#[test]
fn no_link_in_a_run_directory_is_followed() {
    let trial = "trials/0001-proxy-json-nginx-b1";
    let file = |name: &str| format!("{trial}/{name}");
    for linked in [
        "manifest.json".to_owned(),
        "trials".to_owned(),
        trial.to_owned(),
        file("trial.json"),
        file("histograms.hlog"),
        file("series.csv"),
        file("steady.folded"),
        file("gateway"),
        file("gateway/nginx.conf"),
    ] {
        let (dir, writer) = run_with_a_trial();
        drop(writer);
        let trial = dir.path().join(trial);
        fs::write(trial.join("gateway/nginx.conf"), "events {}").unwrap();
        fs::write(trial.join("steady.folded"), "").unwrap();
        let elsewhere = TempDir::new().unwrap();
        let (path, there) = (dir.path().join(&linked), elsewhere.path().join("it"));
        fs::rename(&path, &there).unwrap();
        symlink(&there, &path).unwrap();
        let read = |run: Run| {
            let trial = &run.trials()[0];
            trial.histograms()?;
            trial.seconds("steady")?;
            trial.series()?;
            trial.profile("steady.folded")?;
            trial.gateway_file("nginx.conf")
        };
        let error = Run::open(dir.path()).and_then(read).unwrap_err();
        assert!(
            matches!(&error, StoreError::Link { path: it } if *it == path),
            "{error}"
        );
        let message = format!("{} is a symbolic link", path.display());
        assert!(error.to_string().starts_with(&message), "{error}");
        assert!(error.remedy().contains("replace it with its target"));
    }
}

#[test]
fn a_run_directory_may_be_a_link_and_no_path_leaves_it() {
    let (dir, writer) = run_with_a_trial();
    drop(writer);
    let elsewhere = TempDir::new().unwrap();
    let link = elsewhere.path().join("run");
    symlink(dir.path(), &link).unwrap();
    let run = Run::open(&link).unwrap();
    let trial = &run.trials()[0];
    assert!(trial.series().unwrap().is_empty());
    fs::write(dir.path().join("secret"), "text").unwrap();
    for path in ["../../../secret", "/etc/passwd", "../trial.json", "absent"] {
        assert_eq!(trial.gateway_file(path).unwrap(), None, "{path}");
    }
    RunWriter::resume(&link).unwrap();
}

#[test]
fn only_regular_files_are_read_and_written() {
    let (dir, writer) = run_with_a_trial();
    drop(writer);
    let folder = dir.path().join("trials/0001-proxy-json-nginx-b1");
    let fifo = folder.join("series.csv");
    fs::remove_file(&fifo).unwrap();
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let run = Run::open(dir.path()).unwrap();
    let error = run.trials()[0].series().unwrap_err();
    assert!(error.to_string().contains("series.csv"), "{error}");
    assert!(error.to_string().contains("not a regular file"), "{error}");

    let elsewhere = TempDir::new().unwrap();
    let theirs = elsewhere.path().join("theirs");
    fs::write(&theirs, "kept").unwrap();
    symlink(&theirs, dir.path().join(".manifest.json.tmp")).unwrap();
    let (mut writer, _) = RunWriter::resume(dir.path()).unwrap();
    writer.set_status(Status::Finished).unwrap();
    drop(writer);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "kept");
    fs::remove_file(dir.path().join(".lock")).unwrap();
    symlink(elsewhere.path().join("new"), dir.path().join(".lock")).unwrap();
    assert!(RunWriter::resume(dir.path()).is_err());
    assert!(!elsewhere.path().join("new").exists());
}
