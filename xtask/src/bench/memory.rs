//! Memory of the engine at full rate over minutes.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::CLIENT_CORE;
use super::files::Files;
use super::programs::Programs;
use super::server::Server;
use super::settings::Settings;
use super::tools::ours::OURS;
use super::tools::{Job, Work};

/// How often memory is read.
const EVERY: Duration = Duration::from_secs(10);

/// Runs one long closed load and prints the client's anonymous memory as it goes.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let server = Server::upstream(programs, &["ping"])?;
    let url = format!("http://{}/ping", server.address);
    let seconds = settings.minutes * 60;
    let files = Files::write()?;
    let work = Work::plain(settings.connections);
    let job = Job {
        work,
        url: &url,
        seconds,
        files: &files,
        programs,
    };
    let child = Command::new("taskset")
        .args(["-c", CLIENT_CORE])
        .args((OURS.words)(&job)?)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the client cannot be started: {error}"))?;
    let samples = watch(&child, Duration::from_secs(u64::from(seconds)))?;
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let made = (OURS.read)(&job, &String::from_utf8_lossy(&output.stdout))?;
    println!("{} requests in {:.1} s", made.requests, made.seconds);
    // The first samples see the histograms being touched for the first time.
    let settled = &samples[samples.len().min(3)..];
    let (Some(first), Some(last)) = (settled.first(), settled.last()) else {
        return Err("a run this short says nothing about memory: give --minutes 2 or more".into());
    };
    println!(
        "RssAnon after {:.0} s: {} KiB; at the end: {} KiB",
        first.0, first.1, last.1
    );
    println!(
        "growth: {:.1} KiB a minute",
        (last.1 as f64 - first.1 as f64) / ((last.0 - first.0) / 60.0)
    );
    Ok(())
}

fn watch(child: &Child, length: Duration) -> Result<Vec<(f64, u64)>, String> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while began.elapsed() + EVERY < length {
        std::thread::sleep(EVERY);
        let memory = rss_anon_kib(child.id()).ok_or("the client ended early")?;
        let at = began.elapsed().as_secs_f64();
        eprintln!("{at:>5.0} s  RssAnon {memory} KiB");
        samples.push((at, memory));
    }
    Ok(samples)
}

fn rss_anon_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
