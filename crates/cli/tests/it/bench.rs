//! A folder with small files of a user's own, and the real `gatebench` run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::processes;

/// Longer than anything here takes; a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(480);

const POLL: Duration = Duration::from_millis(5);

/// Between two looks for something, most of which read all of `/proc`.
const LOOK: Duration = Duration::from_millis(20);

/// The environment variable by which everything that a test starts is found again.
pub const MARK: &str = "GATEBENCH_TEST_MARK";

/// A working folder with `suite.yaml`, `ping.yaml` and `load.yaml`.
pub struct Bench {
    dir: tempfile::TempDir,
    mark: String,
}

/// Phases of a load in which everything goes quickly: a warm-up would take seconds.
pub const QUICK: &str = "\
- {name: throughput, closed: {connections: 8}, measure: 300ms, timeout: 2s}
- {name: latency, open: {rate_per_second: 200, connections_max: 8}, measure: 300ms, timeout: 2s}
";

/// A load whose warm-up waits for the CPU time per request to settle.
pub const WARMED_UP: &str = "\
- {name: throughput, closed: {connections: 8}, warm_up: 100ms, measure: 300ms, timeout: 2s}
";

/// A load that leaves the cores to others and is long enough that a test on a busy machine does not
/// miss the end of a trial.
pub const UNHURRIED: &str = "\
- {name: latency, open: {rate_per_second: 200, connections_max: 8}, measure: 2s, timeout: 2s}
";

/// A warm-up that only an interruption ends.
pub const LONG_WARM_UP: &str =
    "- {name: throughput, closed: {connections: 8}, warm_up: 60s, measure: 300ms, timeout: 2s}\n";

/// A measurement that only an interruption or a failure ends.
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
    /// One block of the reference gateway over `ping`, without the direct variant.
    pub fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    /// The same for containers, which see its folder: they have a `/dev/shm` of their own, where
    /// temporary folders may be.
    pub fn for_containers() -> Self {
        Self::in_folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn in_folder(dir: tempfile::TempDir) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let bench = Self {
            dir,
            mark: format!("{}-{number}", std::process::id()),
        };
        bench.write("ping.yaml", PING);
        bench.load(QUICK);
        bench.suite("reference", 1);
        bench
    }

    /// Replaces the phases of the load.
    pub fn load(&self, phases: &str) {
        self.write(
            "load.yaml",
            &format!("profile: short\ntitle: Short\nphases:\n{phases}"),
        );
    }

    /// Replaces the suite: gateways, comma-separated, and blocks.
    pub fn suite(&self, gateways: &str, blocks: u32) {
        let text = format!(
            "suite: small\ntitle: Small\ngateways: [{gateways}]\nscenarios: [./ping.yaml]\nload: ./load.yaml\n\
             blocks: {blocks}\ndirect: false\n"
        );
        self.write("suite.yaml", &text);
    }

    /// Makes the folder `./faulty`, a gateway that behaves like that.
    pub fn faulty(&self, behaviour: &str) {
        fs::create_dir_all(self.path("faulty")).unwrap();
        // Only what never becomes ready waits this long to the end; Python starts slowly on a busy
        // machine.
        let ready_timeout = if behaviour == "hang:1" { "2s" } else { "20s" };
        let spec = include_str!("faulty/gateway.yaml")
            .replace("READY_TIMEOUT", ready_timeout)
            .replace("BEHAVIOUR", &format!("{behaviour:?}"));
        self.write("faulty/gateway.yaml", &spec);
        self.write("faulty/faulty.py", include_str!("faulty/faulty.py"));
    }

    /// Makes the folder `./mine`, a gateway that is in no list and does what it should.
    pub fn own_gateway(&self) {
        fs::create_dir_all(self.path("mine")).unwrap();
        self.write(
            "mine/gateway.yaml",
            include_str!("own_gateway/gateway.yaml"),
        );
        self.write("mine/mine.json", include_str!("own_gateway/mine.json"));
        self.write("mine/proxy.py", include_str!("own_gateway/proxy.py"));
    }

    /// A file or folder of the bench.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs `gatebench` with arguments, separated by spaces, to its end.
    #[track_caller]
    pub fn gatebench(&self, words: &str) -> Finished {
        self.start(words).wait()
    }

    /// Starts `gatebench` with arguments, separated by spaces.
    pub fn start(&self, words: &str) -> Session<'_> {
        let mut command = self.command();
        command.args(words.split_whitespace());
        self.spawn(command)
    }

    /// The program in the bench's folder, marked.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatebench"));
        command
            .current_dir(self.dir.path())
            .env(MARK, &self.mark)
            .env_remove("NO_COLOR");
        command
    }

    /// The environment variable by which what this bench starts is found again, and its value.
    pub fn mark(&self) -> (&str, &str) {
        (MARK, &self.mark)
    }

    /// Starts a command, with its output caught.
    pub fn spawn(&self, mut command: Command) -> Session<'_> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Session::new(self, child.unwrap())
    }

    /// Processes that a `gatebench` of this bench started, itself included.
    pub fn processes(&self) -> Vec<processes::Process> {
        processes::marked(&format!("{MARK}={}", self.mark), self.dir.path())
    }

    /// Folders of the trials that were kept in a run.
    pub fn kept_trials(&self, run: &str) -> Vec<String> {
        self.kept_trials_in(&format!("{run}/trials"))
    }

    /// Folders of the trials that were kept below a folder.
    pub fn kept_trials_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten();
        // A folder without a record is a trial under way, or one that was cut off.
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().join("trial.json").exists())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Asserts the state after any end of a run: nothing runs, and the finished part is
    /// reportable.
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

    /// Waits until something is so.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = poll() {
                return found;
            }
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            thread::sleep(LOOK);
        }
    }
}

/// A `gatebench` that runs. Dropped, it is killed.
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

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the load goes through the gateway: all its connections are there.
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

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        processes::signal(self.pid(), signal);
    }

    /// Waits for its end. Whatever happened, nothing that it started is left.
    #[track_caller]
    pub fn wait(self) -> Finished {
        let bench = self.bench;
        let finished = self.wait_for_end();
        let left = bench.processes();
        assert!(
            left.is_empty(),
            "left running: {left:#?}\n{}",
            finished.stderr
        );
        finished
    }

    /// Waits for its end; what it started may take a little longer.
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
        // Fails where it has ended, which is what is wanted.
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

/// The output and the exit code of a `gatebench`.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// It ended with this code.
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

    /// It printed all these texts, besides errors.
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

    /// A run ended as it should. Loads this short on a machine this busy may all be invalid, which
    /// is an exit code of its own; then the report says so.
    #[track_caller]
    pub fn assert_measured(&self) -> &Self {
        if self.code == Some(4) {
            assert!(self.stdout.contains("invalid"), "{}", self.stdout);
            return self;
        }
        self.assert_code(0)
    }

    /// Standard error says all of this.
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

/// Replaces the phases of a load of the library for commands with `--overlay over`.
pub fn replace_load(folder: &Path, profile: &str, phases: &str) {
    let loads = folder.join("over/scenarios/loads");
    fs::create_dir_all(&loads).unwrap();
    let text = format!("profile: {profile}\ntitle: Short\nphases:\n{phases}");
    fs::write(loads.join(format!("{profile}.yaml")), text).unwrap();
}

/// Reports whether a folder contains an entry of that name.
pub fn exists(dir: &Path, name: &str) -> bool {
    dir.join(name).exists()
}
