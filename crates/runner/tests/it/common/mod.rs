//! Helpers for runs with real processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gatebench_runner::{
    Interrupt, Library, Observer, Prepared, RunRequest, RunSummary, RunnerError, Selection,
    prepare, run,
};
use gatebench_testbed::Launcher;
use gatebench_testbed::gateway::Catalogue;

pub const LOAD: &str = "profile: short\ntitle: t\nphases:\n\
    - {name: closed, closed: {connections: 4}, measure: 200ms}\n\
    - {name: open, open: {rate_per_second: 500}, measure: 200ms}\n";

/// The phases of [`LOAD`] with warm-ups. With a gateway, each warm-up takes up to two seconds.
pub const WARMED_UP: &str = "profile: short\ntitle: t\nphases:\n\
    - {name: closed, closed: {connections: 4}, warm_up: 50ms, measure: 200ms}\n\
    - {name: open, open: {rate_per_second: 500}, warm_up: 50ms, measure: 200ms}\n";

/// The program that acts as supervisor, upstream and gateway. Cargo builds it next to the tests.
pub fn launcher() -> Launcher {
    let test = std::env::current_exe().unwrap();
    let program = test
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/part");
    assert!(
        program.exists(),
        "{} is missing; run `cargo test` without a target filter, which builds it",
        program.display()
    );
    Launcher {
        program,
        prefix_args: vec!["supervise".into()],
    }
}

/// A run moves this process's threads and observes this process's children, so only one run may be
/// in progress at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder for a run and its input files.
pub struct Bench {
    pub folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("load.yaml"), LOAD).unwrap();
        Self {
            folder,
            _alone: alone(),
        }
    }

    pub fn warmed_up() -> Self {
        let bench = Self::new();
        fs::write(bench.path("load.yaml"), WARMED_UP).unwrap();
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn out(&self) -> PathBuf {
        self.path("run")
    }

    /// Copies the reference gateway's folder under this name, with changed files. Returns the path.
    pub fn gateway(&self, name: &str, change: impl Fn(&str, String) -> String) -> String {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateways/reference");
        let folder = self.path(name);
        fs::create_dir_all(&folder).unwrap();
        for file in ["gateway.yaml", "gateway.json"] {
            let text = fs::read_to_string(source.join(file)).unwrap();
            let text = text.replace("gateway: reference", &format!("gateway: {name}"));
            fs::write(folder.join(file), change(file, text)).unwrap();
        }
        folder.display().to_string()
    }

    /// Prepares a plan with one block of these scenarios and gateways.
    pub fn prepare(&self, scenarios: &[&str], gateways: &[&str]) -> Prepared {
        let selection = Selection {
            words: scenarios.iter().map(ToString::to_string).collect(),
            gateways: gateways.iter().map(ToString::to_string).collect(),
            load: Some(self.path("load.yaml").display().to_string()),
            blocks: Some(1),
            ..Selection::default()
        };
        prepare(
            &selection,
            &Library::default(),
            &Catalogue::default(),
            &launcher(),
        )
        .unwrap()
    }

    pub fn request(&self, prepared: Prepared, resume: bool) -> RunRequest {
        RunRequest {
            outputs: gatebench_runner::outputs::Settings::default(),
            prepared,
            out: self.out(),
            resume,
            command_line: vec!["gatebench".into(), "run".into()],
            backend: None,
            budget: None,
            libraries: BTreeMap::from([("libxml2".into(), "2.9.14".into())]),
        }
    }

    pub fn run(
        &self,
        prepared: Prepared,
        interrupt: &Interrupt,
        observer: &dyn Observer,
    ) -> Result<RunSummary, RunnerError> {
        let summary = run(&self.request(prepared, false), interrupt, observer);
        assert_eq!(
            supervisors(),
            Vec::<u32>::new(),
            "a process was left running"
        );
        summary
    }

    pub fn stored(&self) -> gatebench_store::Run {
        gatebench_store::Run::open(&self.out()).unwrap()
    }
}

pub fn supervisors() -> Vec<u32> {
    let comm = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    children(std::process::id())
        .into_iter()
        .filter(|pid| comm(pid).trim() == "gb-supervisor")
        .collect()
}

pub fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the process ID of the supervised process that plays this part.
pub fn part(name: &str) -> Option<u32> {
    let runs = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(name.as_bytes())
    };
    supervisors().into_iter().flat_map(children).find(runs)
}

pub fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
