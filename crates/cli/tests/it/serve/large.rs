//! Pages of many runs, and of long runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use gatebench_store::{LiveEvent, LiveSecond};
use tempfile::TempDir;

use super::pages::gatebench;
use super::site::Site;
use super::while_it_runs::running;
use crate::history::common::runs::write_run;
use crate::turns::turn;

/// The factor by which a build without optimization may exceed the time limits of these tests.
const SLOWNESS: u32 = if cfg!(debug_assertions) { 3 } else { 1 };

/// Gets a page that must exist. Returns its size and the CPU time that the server spent, which,
/// unlike wall time, does not depend on other programs on the machine.
#[track_caller]
fn timed(site: &Site, path: &str) -> (usize, Duration) {
    let before = site.cpu_time();
    let response = site.get(path);
    assert_eq!(response.status, 200, "{path}: {}", response.head);
    (response.body.len(), site.cpu_time() - before)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[test]
fn a_hundred_runs_are_listed_within_a_second() {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    let runs = folder.path().join("gatebench-runs");
    write_run(&runs.join("run-000"), 10, |_| {}, |_| {});
    gatebench(folder.path(), "report gatebench-runs/run-000");
    for number in 1..100 {
        copy(
            &runs.join("run-000"),
            &runs.join(format!("run-{number:03}")),
        );
    }
    let site = Site::start(folder.path(), &[]);
    let (bytes, took) = timed(&site, "/");
    assert!(site.page("/").matches("href=\"/run/").count() >= 100);
    eprintln!("100 runs listed in {took:?}, {bytes} bytes");
    assert!(took < Duration::from_secs(1) * SLOWNESS, "{took:?}");
}

#[test]
fn a_soak_of_a_day_is_drawn_within_200_ms() {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    let (_writer, open, mut live) = running(folder.path());
    let phase = "soak".to_owned();
    live.write(&LiveEvent::Phase { phase }).unwrap();
    let day = 0..86_400_u32;
    for second in day {
        let noise = u64::from(second.wrapping_mul(2_654_435_761) >> 16);
        live.write(&LiveEvent::Second(LiveSecond {
            phase: "soak".into(),
            second,
            completed: 2_000 + noise % 50,
            response_p50_ns: Some(300_000 + noise % 50_000),
            response_p99_ns: Some(3_000_000 + noise * 20),
            ..LiveSecond::default()
        }))
        .unwrap();
    }
    let file = open.folder().join("live.jsonl");
    let of_day = fs::metadata(&file).unwrap().len();
    assert!(of_day < 16 << 20, "{of_day} bytes");
    let site = Site::start(folder.path(), &["."]);
    let (_, first) = timed(&site, "/run/mine/");
    let (bytes, again) = timed(&site, "/run/mine/");
    eprintln!("live.jsonl has {of_day} bytes; first page {first:?}, next {again:?}, {bytes} bytes");
    assert!(first < Duration::from_millis(200) * SLOWNESS, "{first:?}");
    assert!(again < Duration::from_millis(200) * SLOWNESS, "{again:?}");
    assert!(bytes < 512 << 10, "{bytes} bytes");

    // The second day adds only about a sixtieth of the first day's size to the file.
    for second in 86_400..172_800_u32 {
        live.write(&LiveEvent::Second(LiveSecond {
            phase: "soak".into(),
            second,
            completed: 2_000,
            response_p50_ns: Some(300_000),
            response_p99_ns: Some(3_000_000),
            ..LiveSecond::default()
        }))
        .unwrap();
    }
    let of_two = fs::metadata(&file).unwrap().len();
    assert!(of_two < of_day + of_day / 50, "{of_two} after {of_day}");
}
