//! Tests the supervisor without a gateway: whichever process ends, no other process is left. Also
//! tests the start of an upstream.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::common::{below, eventually, exists, kill, launcher};
use gatebench_model::Blame;
use gatebench_testbed::services::UpstreamStart;

fn supervise(script: &str, orders: &str) -> Child {
    Command::new(launcher().program)
        .args([orders, "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the exit code of the supervisor. Its stdin stays open until it exits, because closing
/// stdin would signal the end of gatebench.
fn exit_code(mut child: Child) -> Option<i32> {
    let stdin = child.stdin.take();
    let status = child.wait().unwrap();
    drop(stdin);
    status.code()
}

#[test]
fn the_exit_of_the_command_is_passed_on() {
    assert_eq!(exit_code(supervise("exit 7", "{}")), Some(7));
    assert_eq!(exit_code(supervise("kill -9 $$", "{}")), Some(137));
}

#[test]
fn a_missing_program_is_reported() {
    let output = Command::new(launcher().program)
        .args(["{}", "--", "/no/such"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("cannot start /no/such")
    );
}

#[test]
fn cores_and_descriptors_are_inherited() {
    let child = supervise(
        "test $(ulimit -n) = 123 && grep -q 'Cpus_allowed_list:.0$' /proc/self/status",
        r#"{"nofile": 123, "cores": [0]}"#,
    );
    assert_eq!(exit_code(child), Some(0));
}

#[test]
fn orphans_in_other_sessions_are_ended_too() {
    let temporary = tempfile::tempdir().unwrap();
    let note = temporary.path().join("pid");
    let script = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; trap \"\" TERM; sleep 600 & wait' & \
                          while ! test -e {0}; do sleep 0.01; done; exit 0",
        note.display()
    );
    let child = supervise(&script, "{}");
    assert_eq!(exit_code(child), Some(0));
    assert!(!exists(
        fs::read_to_string(note).unwrap().trim().parse().unwrap()
    ));
}

#[test]
fn when_its_parent_is_killed_the_supervisor_ends_everything() {
    let temporary = tempfile::tempdir().unwrap();
    let fifo = temporary.path().join("fifo");
    // The shell plays the role of gatebench: it holds the other end of the supervisor's stdin until
    // the shell ends.
    let script = format!(
        "mkfifo {0}; {1} '{{\"stop_timeout\": {{\"secs\": 0, \"nanos\": 50000000}}}}' -- sh -c 'trap \"\" TERM; sleep 600 & wait; wait' < {0} & exec 3> {0}; wait",
        fifo.display(),
        launcher().program.display()
    );
    let mut parent = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let mut processes = Vec::new();
    eventually("the supervised command", || {
        processes = below(parent.id());
        processes.len() >= 3
    });
    kill(parent.id());
    parent.wait().unwrap();
    for pid in processes {
        eventually("the end of a process", || !exists(pid));
    }
}

fn upstream(
    script: &str,
) -> (
    tempfile::TempDir,
    Result<gatebench_testbed::services::Service, gatebench_testbed::DriverError>,
) {
    let work = tempfile::tempdir().unwrap();
    let started = UpstreamStart {
        command: ["sh", "-c", script].map(Into::into).to_vec(),
        work: work.path().to_owned(),
        cores: vec![0],
        launcher: launcher(),
    }
    .start("127.0.0.1:0".parse().unwrap());
    (work, started)
}

#[test]
fn an_upstream_prints_its_address() {
    let (_work, started) = upstream(r#"echo '{"listening":"127.0.0.1:4321"}'; exec sleep 600"#);
    let mut upstream = started.unwrap();
    assert_eq!(upstream.addr.port(), 4321);
    assert!(upstream.process.is_alive());
    let processes = below(upstream.process.supervisor_pid());
    upstream.process.stop();
    assert!(!processes.into_iter().any(exists));
}

#[test]
fn an_upstream_that_ends_is_reported() {
    let (_work, started) = upstream("echo 'no port' >&2; exit 1");
    let error = started.err().unwrap();
    assert_eq!(error.culprit(), gatebench_model::Culprit::Upstream);
    assert_eq!(
        error.to_string(),
        "the upstream did not start: it ended (exit code 1)\nno port"
    );
    let (_work, started) = upstream("echo hello; exec sleep 600");
    assert!(
        started
            .err()
            .unwrap()
            .to_string()
            .contains("it printed 'hello'")
    );
}
