//! Run directories that cannot be created, are on a full disk, are in use, or are damaged.

use std::process::Command;

use crate::bench::{Bench, LONG_MEASURE, UNHURRIED};

#[test]
fn a_directory_that_cannot_be_created() {
    let bench = Bench::new();
    for out in ["/dev/null/run", "/proc/run", "suite.yaml"] {
        let finished = bench.gatebench(&format!("run suite.yaml --dir {out}"));
        finished
            .assert_code(3)
            .assert_says(&["error: environment", out, "  → "]);
    }
}

#[test]
fn a_disk_that_becomes_full() {
    let bench = Bench::new();
    bench.suite("reference", 4);
    let Some(disk) = Disk::mount(&bench, "4m") else {
        // Developers without root may skip this test; CI must run it.
        let is_required = std::env::var_os("CI").is_some();
        assert!(
            !is_required,
            "a small disk cannot be mounted: run the tests as root"
        );
        return eprintln!("SKIPPED: mounting a small disk needs root");
    };
    bench.load(UNHURRIED);
    let session = bench.start("run suite.yaml --dir disk/run");
    bench.wait_for("the first trial", || {
        (!bench.kept_trials("disk/run").is_empty()).then_some(())
    });
    disk.fill();
    let finished = session.wait();
    finished
        .assert_code(3)
        .assert_says(&["environment", "disk/run", "space", "  → "]);
    assert!(
        finished.stdout.contains("reference"),
        "the results are reported nevertheless"
    );

    disk.free();
    let kept = bench.kept_trials("disk/run").len();
    assert!((1..4).contains(&kept), "{kept}");
    bench.assert_reportable("disk/run", kept);
    bench.gatebench("run --resume disk/run").assert_measured();
    bench.assert_reportable("disk/run", 4);
}

#[test]
fn a_limit_on_file_sizes_that_is_too_small() {
    let bench = Bench::new();
    let mut command = Command::new("sh");
    command
        .current_dir(bench.path("."))
        .env(crate::bench::MARK, "limited");
    command.args([
        "-c",
        &format!(
            "ulimit -f 1; exec {} run suite.yaml --dir run",
            env!("CARGO_BIN_EXE_gatebench")
        ),
    ]);
    let finished = bench.spawn(command).wait();
    finished
        .assert_code(3)
        .assert_says(&["environment", "  → "]);
}

#[test]
fn two_runs_on_one_directory() {
    let bench = Bench::new();
    bench.load(LONG_MEASURE);
    let first = bench.start("run suite.yaml --dir run");
    first.until_load();
    let mut command = bench.command();
    command
        .args(["run", "suite.yaml", "--dir", "run"])
        .env_remove(crate::bench::MARK);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(
        stderr.contains("another gatebench run is writing to run") && stderr.contains("--dir"),
        "{stderr}"
    );
    first.signal("INT");
    first.wait().assert_code(130);

    let again = bench.gatebench("run suite.yaml --dir run");
    again
        .assert_code(2)
        .assert_says(&["already contains a run", "--resume run", "  → "]);
}

#[test]
fn two_runs_on_two_directories() {
    let (one, other) = (Bench::new(), Bench::new());
    let sessions = [
        one.start("run suite.yaml --dir run"),
        other.start("run suite.yaml --dir run"),
    ];
    for session in sessions {
        session.wait().assert_measured();
    }
    one.assert_reportable("run", 1);
    other.assert_reportable("run", 1);
}

#[test]
fn a_damaged_trial_is_named() {
    let bench = Bench::new();
    bench
        .gatebench("run suite.yaml --dir run")
        .assert_measured();
    let record = format!("run/trials/{}/trial.json", bench.kept_trials("run")[0]);
    bench.write(&record, "{");
    bench
        .gatebench("report run")
        .assert_code(3)
        .assert_says(&[&record, "damaged", "  → "]);
}

/// A small file system, which is unmounted on drop.
struct Disk {
    at: std::path::PathBuf,
}

impl Disk {
    /// Mounts a file system; returns `None` if the user lacks the permission to mount.
    fn mount(bench: &Bench, size: &str) -> Option<Self> {
        let at = bench.path("disk");
        std::fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
            .arg(&at);
        mount
            .output()
            .is_ok_and(|output| output.status.success())
            .then_some(Self { at })
    }

    fn fill(&self) {
        let filler = std::fs::write(self.at.join("filler"), vec![0; 8 << 20]);
        assert!(filler.is_err(), "the filler is larger than the file system");
    }

    fn free(&self) {
        std::fs::remove_file(self.at.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).output();
    }
}
