//! Pages of runs that another process is writing.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Stdio;

use gatebench_store::{
    LiveEvent, LiveSecond, LiveWriter, RunWriter, Status, Timestamp, TrialWriter,
};
use tempfile::TempDir;

use super::site::Site;
use crate::bench::Bench;
use crate::history::common::manifest;
use crate::history::common::runs::write_run;
use crate::turns::turn;

/// A load that is long enough for several updates of a page.
const SECONDS: &str = "\
- {name: latency, open: {rate_per_second: 200, connections_max: 8}, measure: 4s, timeout: 2s}
";

/// Begins the run `mine` with its first trial, and keeps both open.
pub(super) fn running(folder: &Path) -> (RunWriter, TrialWriter, LiveWriter) {
    let mut manifest = manifest(3);
    manifest.status = Status::Running;
    let trial = manifest.plan.trials[0].clone();
    let writer = RunWriter::create(&folder.join("mine"), manifest).unwrap();
    let open = writer.begin_trial(&trial).unwrap();
    let mut live = open.live().unwrap();
    live.write(&LiveEvent::Trial {
        began: Timestamp::now(),
        left_seconds: 3_600.0,
    })
    .unwrap();
    (writer, open, live)
}

pub(super) fn second(second: u32, completed: u64) -> LiveEvent {
    LiveEvent::Second(LiveSecond {
        phase: "saturate".into(),
        second,
        completed,
        response_p50_ns: Some(1_500_000),
        response_p99_ns: Some(4_500_000),
        ..LiveSecond::default()
    })
}

/// Returns a field of a `stat` file in `/proc`, numbered as in proc(5).
fn stat_field(file: impl AsRef<Path>, field: usize) -> String {
    let stat = fs::read_to_string(file).unwrap();
    // The second field, the name of the program, may contain spaces.
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let mut fields = after_name.split_whitespace();
    fields.nth(field - 3).unwrap().to_owned()
}

#[test]
fn a_run_is_shown_second_by_second_and_a_killed_run_is_marked() {
    let folder = TempDir::new().unwrap();
    let site = Site::start(folder.path(), &["."]);
    assert!(site.page("/").contains("There are no runs yet"));
    let (writer, open, mut live) = running(folder.path());
    let mut changes = site.changes("/run/mine/events");
    changes.until("0 of 9 trials done, about 60 min left");
    let phase = "saturate".to_owned();
    live.write(&LiveEvent::Phase { phase }).unwrap();
    live.write(&LiveEvent::WarmUp {
        completed_per_second: 12_345.0,
        failed: 0,
    })
    .unwrap();
    changes.until("warming up load saturate");
    changes.until("12.3k requests/s");
    live.write(&second(0, 43_210)).unwrap();
    live.write(&second(1, 54_321)).unwrap();
    changes.until("54.3k requests/s");
    changes.until("<svg");

    // A page that is opened later contains everything, even without scripts.
    let page = site.page("/run/mine/");
    assert!(
        page.contains("97,531 responses in 2 seconds, 0 failed"),
        "{page}"
    );
    assert!(page.contains("<noscript><meta http-equiv=\"refresh\""));
    assert!(site.page("/").contains("running"));
    let (_, name) = open.folder().to_str().unwrap().rsplit_once('/').unwrap();
    let trial_page = format!("/run/mine/trial/{name}/");
    assert!(site.page(&trial_page).contains("54.3k requests/s"));

    // Without its process, the run counts as killed, and a different page replaces the open one.
    drop((live, open, writer));
    changes.until("event: over");
    let page = site.page("/run/mine/");
    assert!(
        page.contains("killed") && page.contains("gatebench run --resume"),
        "{page}"
    );
    let page = site.page(&trial_page);
    assert!(
        page.contains("abandoned") && page.contains("97,531 responses"),
        "{page}"
    );
}

#[test]
fn other_runs_are_not_read_while_a_run_is_measured() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str| write_run(&folder.path().join(name), 1, |_| {}, |_| {});
    write("earlier");
    let (writer, open, live) = running(folder.path());
    let site = Site::start(folder.path(), &["."]);
    let mut changes = site.changes("/events");
    changes.until("value=\"0\" max=\"9\"");
    write("newcomer");
    let manifest = folder.path().join("earlier/manifest.json");
    fs::write(manifest, "{\"schema\": 1, \"gatebench\"").unwrap();
    // The list shows the progress of the measured run, but no change to another run.
    fs::write(open.folder().join("trial.json"), "{}").unwrap();
    changes.until("value=\"1\" max=\"9\"");
    for path in ["/", "/compare"] {
        let page = site.page(path);
        assert!(page.contains("earlier"), "{page}");
        assert!(!page.contains("newcomer"), "{page}");
        assert!(!page.contains("is damaged"), "{page}");
    }
    drop((live, open, writer));
    let list = site.page("/");
    for words in ["killed", "newcomer", "is damaged"] {
        assert!(list.contains(words), "{words}:\n{list}");
    }
}

#[test]
fn every_thread_of_a_server_has_the_lowest_priority() {
    let folder = TempDir::new().unwrap();
    let site = Site::start(folder.path(), &["."]);
    // A separate thread renders the page.
    site.page("/");
    let nice = site.threads().map(|it| stat_field(it.join("stat"), 19));
    let nice: Vec<String> = nice.collect();
    assert!(nice.len() > 1, "{nice:?}");
    assert!(nice.iter().all(|it| it == "19"), "{nice:?}");
}

#[test]
fn a_run_prints_the_url_of_its_page_before_the_first_trial() {
    // The page is not updated while other tests keep all cores busy.
    let _turn = turn();
    let bench = Bench::new();
    bench.load(SECONDS);
    let mut command = bench.command();
    command
        .args(["run", "suite.yaml", "--dir", "runs/mine", "--serve"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap());
    let mut url = String::new();
    while !url.starts_with("page: ") {
        url.clear();
        assert!(said.read_line(&mut url).unwrap() > 0, "no URL was printed");
        assert!(!url.starts_with("[1/1"), "the trial came first");
    }
    assert!(url.contains("/run/mine/?token="), "{url}");
    let address = url.trim_start_matches("page: ").trim();
    let port = address.split([':', '/']).find_map(|it| it.parse().ok());
    let port: u16 = port.unwrap();
    let listening = |pid: u32| {
        let sockets = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap();
        let port = format!(":{port:04X} 00000000:0000 0A");
        let line = sockets.lines().find(|it| it.contains(&port)).unwrap();
        let inode = line.split_whitespace().nth(9).unwrap();
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        let mut targets = entries.filter_map(|it| fs::read_link(it.path()).ok());
        targets.any(|it| it.to_string_lossy() == format!("socket:[{inode}]"))
    };
    assert!(!listening(run.id()), "the measuring process opens no port");
    // `SCHED_IDLE` is 5.
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    let children = fs::read_to_string(children).unwrap();
    let server = children.split_whitespace().next().unwrap();
    assert_eq!(stat_field(format!("/proc/{server}/stat"), 41), "5");

    // On busy cores, the page responds only after a while, so the facts above are read first.
    let site = Site::at(address);
    let mut changes = site.changes("/run/mine/events");
    changes.until("measuring load latency");
    changes.until(" responses in ");
    changes.until("event: over");
    // The server ends seconds after the run, so the report is requested first.
    let page = site.page("/run/mine/");
    assert!(
        page.contains("finished") && page.contains("id=\"results\""),
        "{page}"
    );
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let code = run.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 4)), "{code:?}\n{rest}");
    bench.wait_for("the end of the page", || {
        bench.processes().is_empty().then_some(())
    });
    let live = fs::read_dir(bench.path("runs/mine/trials")).unwrap();
    for trial in live.flatten() {
        assert!(!trial.path().join("live.jsonl").exists());
    }
}
