//! Runs the real `gatebench` in a folder with small files for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::processes;
use crate::turns::Slot;

/// The maximum duration of an operation; a test that waits longer fails.
pub const PATIENCE: Duration = Duration::from_secs(480);

const POLL: Duration = Duration::from_millis(5);

/// The pause between two polls of [`Bench::wait_for`]. Many polls read all of `/proc`, so it is
/// longer than [`POLL`].
const LOOK: Duration = Duration::from_millis(20);

/// The environment variable that marks a test's processes, so that the test can find those that are
/// left.
pub const MARK: &str = "GATEBENCH_TEST_MARK";

/// A working folder with `suite.yaml`, `ping.yaml` and `load.yaml`.
pub struct Bench {
    dir: tempfile::TempDir,
    mark: String,
    _slot: Slot,
}

/// A load without a warm-up, because a warm-up would take seconds.
pub const QUICK: &str = "\
- {name: throughput, closed: {connections: 8}, measure: 300ms, timeout: 2s}
- {name: latency, open: {rate_per_second: 200, connections_max: 8}, measure: 300ms, timeout: 2s}
";

/// A load whose warm-up waits for the CPU time per request to settle.
pub const WARMED_UP: &str = "\
- {name: throughput, closed: {connections: 8}, warm_up: 100ms, measure: 300ms, timeout: 2s}
";

/// A load that uses little CPU time, and is long enough that a test on a busy machine can act
/// before the trial ends.
pub const UNHURRIED: &str = "\
- {name: latency, open: {rate_per_second: 200, connections_max: 8}, measure: 2s, timeout: 2s}
";

pub const LONG_WARM_UP: &str =
    "- {name: throughput, closed: {connections: 8}, warm_up: 60s, measure: 300ms, timeout: 2s}\n";

pub const LONG_MEASURE: &str =
    "- {name: throughput, closed: {connections: 8}, measure: 60s, timeout: 2s}\n";

const PING: &str = "\
scenario: ping
title: The smallest response
upstream: ping
routes: [{name: ping, path: /ping}]
requests:
  - {path: /ping, checks: [{status: 200}, {body_contains: ok}]}
parity:
  - {name: a request gets a response, request: {path: /ping, checks: [{status: 200}, {body_contains: ok}]}, reaches_upstream: true}
";

impl Bench {
    /// Creates a bench whose suite runs one block of the reference gateway with the scenario
    /// `ping`, without the direct variant.
    pub fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    /// Creates a bench for tests with containers. Temporary folders may be in `/dev/shm`, which
    /// containers do not share with the machine, so this folder is elsewhere.
    pub fn for_containers() -> Self {
        Self::in_folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn in_folder(dir: tempfile::TempDir) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let slot = Slot::wait();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let bench = Self {
            dir,
            mark: format!("{}-{number}", std::process::id()),
            _slot: slot,
        };
        bench.write("ping.yaml", PING);
        bench.load(QUICK);
        bench.suite("reference", 1);
        bench
    }

    pub fn load(&self, phases: &str) {
        self.write(
            "load.yaml",
            &format!("profile: short\ntitle: Short\nphases:\n{phases}"),
        );
    }

    /// Replaces the suite. The gateways are separated by commas.
    pub fn suite(&self, gateways: &str, blocks: u32) {
        let text = format!(
            "suite: small\ntitle: Small\ngateways: [{gateways}]\nscenarios: [./ping.yaml]\nload: ./load.yaml\n\
             blocks: {blocks}\ndirect: false\n"
        );
        self.write("suite.yaml", &text);
    }

    /// Creates the folder `./faulty`, a gateway with this behavior.
    pub fn faulty(&self, behavior: &str) {
        fs::create_dir_all(self.path("faulty")).unwrap();
        // Only a gateway that never becomes ready reaches this timeout; Python starts slowly on a
        // busy machine.
        let ready_timeout = if behavior == "hang:1" { "2s" } else { "20s" };
        let spec = include_str!("faulty/gateway.yaml")
            .replace("READY_TIMEOUT", ready_timeout)
            .replace("BEHAVIOR", &format!("{behavior:?}"));
        self.write("faulty/gateway.yaml", &spec);
        self.write("faulty/faulty.py", include_str!("faulty/faulty.py"));
    }

    /// Creates the folder `./mine`, a correct gateway that gatebench does not include.
    pub fn own_gateway(&self) {
        fs::create_dir_all(self.path("mine")).unwrap();
        self.write(
            "mine/gateway.yaml",
            include_str!("own_gateway/gateway.yaml"),
        );
        self.write("mine/mine.json", include_str!("own_gateway/mine.json"));
        self.write("mine/proxy.py", include_str!("own_gateway/proxy.py"));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs `gatebench` with arguments, separated by spaces, until it ends.
    #[track_caller]
    pub fn gatebench(&self, words: &str) -> Finished {
        self.start(words).wait()
    }

    pub fn start(&self, words: &str) -> Session<'_> {
        let mut command = self.command();
        command.args(words.split_whitespace());
        self.spawn(command)
    }

    /// Returns a command that runs `gatebench` in the bench's folder, with the mark.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatebench"));
        command
            .current_dir(self.dir.path())
            .env(MARK, &self.mark)
            .env_remove("NO_COLOR");
        command
    }

    pub fn mark(&self) -> (&str, &str) {
        (MARK, &self.mark)
    }

    pub fn spawn(&self, mut command: Command) -> Session<'_> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Session::new(self, child.unwrap())
    }

    /// Returns the `gatebench` processes of this bench and the processes that they started.
    pub fn processes(&self) -> Vec<processes::Process> {
        processes::marked(&format!("{MARK}={}", self.mark), self.dir.path())
    }

    /// Returns the folder names of a run's stored trials, including failed ones.
    pub fn kept_trials(&self, run: &str) -> Vec<String> {
        self.kept_trials_in(&format!("{run}/trials"))
    }

    pub fn kept_trials_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten();
        // A folder without a record belongs to a trial that is running or was interrupted.
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().join("trial.json").exists())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Asserts the state after a run has ended in any way: this number of trials is stored, and the
    /// report can be rebuilt.
    #[track_caller]
    pub fn assert_reportable(&self, run: &str, trials: usize) {
        assert_eq!(
            self.kept_trials(run).len(),
            trials,
            "{:?}",
            self.kept_trials(run)
        );
        let report = self.gatebench(&format!("report {run}"));
        report.assert_code(0);
        for file in ["report.html", "report.md", "report.json", "summary.csv"] {
            assert!(self.path(run).join(file).is_file(), "{file} is missing");
        }
    }

    /// Polls until there is a result; fails after [`PATIENCE`].
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = poll() {
                return found;
            }
            assert!(Instant::now() < deadline, "timed out waiting for {what}");
            thread::sleep(LOOK);
        }
    }
}

/// A running `gatebench`, which is killed on drop.
pub struct Session<'a> {
    bench: &'a Bench,
    child: Child,
    output: Option<[thread::JoinHandle<String>; 2]>,
}

impl<'a> Session<'a> {
    fn new(bench: &'a Bench, mut child: Child) -> Self {
        let stdout = child.stdout.take().unwrap();
        let stderr = child.stderr.take().unwrap();
        Self {
            bench,
            child,
            output: Some([collect(stdout), collect(stderr)]),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the gateway has at least 8 sockets, the number of connections of most loads.
    #[track_caller]
    pub fn until_load(&self) -> processes::Process {
        self.bench.wait_for("the load", || {
            let gateways = self
                .bench
                .processes()
                .into_iter()
                .filter(processes::Process::is_gateway);
            gateways.into_iter().find(|process| process.sockets() >= 8)
        })
    }

    pub fn signal(&self, signal: &str) {
        processes::signal(self.pid(), signal);
    }

    /// Waits for the end, after which no process that `gatebench` started may be left.
    #[track_caller]
    pub fn wait(self) -> Finished {
        let bench = self.bench;
        let finished = self.wait_for_end();
        let left = bench.processes();
        assert!(
            left.is_empty(),
            "processes are still running: {left:#?}\n{}",
            finished.stderr
        );
        finished
    }

    /// Waits for the end of `gatebench` only; the processes that `gatebench` started may take a
    /// little longer.
    #[track_caller]
    pub fn wait_for_end(mut self) -> Finished {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < deadline,
                "gatebench did not end; running: {:#?}",
                self.bench.processes()
            );
            thread::sleep(POLL);
        };
        let [stdout, stderr] = self
            .output
            .take()
            .unwrap()
            .map(|output| output.join().unwrap());
        Finished {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // Killing fails if the process has already ended, which is not an error here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(mut from: impl std::io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

#[derive(Debug)]
pub struct Finished {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(
            self.code,
            Some(code),
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Asserts that standard output contains all these strings.
    #[track_caller]
    pub fn assert_prints(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(
                self.stdout.contains(word),
                "'{word}' is not in\n{}",
                self.stdout
            );
        }
        self
    }

    /// Asserts that the run ended normally. On a busy machine, all loads may be invalid, because
    /// they are so short; the exit code then differs, and the report states the reason.
    #[track_caller]
    pub fn assert_measured(&self) -> &Self {
        if self.code == Some(4) {
            assert!(self.stdout.contains("invalid"), "{}", self.stdout);
            return self;
        }
        self.assert_code(0)
    }

    /// Asserts that standard error contains all these strings.
    #[track_caller]
    pub fn assert_says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "'{word}' is not in\n{}",
                self.stderr
            );
        }
        self
    }
}

/// Replaces the phases of a load profile from the library, for commands with `--overlay over`.
pub fn replace_load(folder: &Path, profile: &str, phases: &str) {
    let loads = folder.join("over/scenarios/loads");
    fs::create_dir_all(&loads).unwrap();
    let text = format!("profile: {profile}\ntitle: Short\nphases:\n{phases}");
    fs::write(loads.join(format!("{profile}.yaml")), text).unwrap();
}

pub fn exists(dir: &Path, name: &str) -> bool {
    dir.join(name).exists()
}
