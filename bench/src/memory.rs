//! Measures the memory of the load generator at full rate over several minutes.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::CLIENT_CORE;
use super::files::Files;
use super::programs::Programs;
use super::server::{self, Server};
use super::settings::Settings;
use super::tools::ours::OURS;
use super::tools::{Job, Work};

const EVERY: Duration = Duration::from_secs(10);

/// The number of samples that are skipped at the beginning, while the memory of the histograms is
/// used for the first time.
const UNSETTLED: usize = 3;

/// The permitted growth per route, in KiB: one page of memory, which a route's histogram may touch
/// for the first time if a response takes longer than all earlier ones.
const LATE_KIB_PER_ROUTE: u64 = 4;
/// The permitted growth in addition to that of the routes, in KiB.
const LATE_KIB: u64 = 1024;

/// Runs one long closed load and prints the load generator's anonymous memory at intervals. Growth
/// beyond [`LATE_KIB`] plus [`LATE_KIB_PER_ROUTE`] for each route is an error.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let server = Server::upstream(programs, &["ping"])?;
    let seconds = settings.minutes * 60;
    let files = Files::write()?;
    let job = Job {
        work: Work::plain(settings.connections),
        url: &format!("http://{}/ping?route=0", server.address),
        seconds,
        files: &files,
        programs,
    };
    let others =
        (1..settings.routes).map(|it| format!("http://{}/ping?route={it}", server.address));
    let child = Command::new("taskset")
        .args(["-c", CLIENT_CORE])
        .args((OURS.words)(&job)?)
        .args(others)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the client cannot be started: {error}"))?;
    let samples = watch(&child, Duration::from_secs(u64::from(seconds)))?;
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let made = (OURS.read)(&job, &String::from_utf8_lossy(&output.stdout))?;
    println!(
        "{} connections, {} routes: {} requests in {:.1} s",
        settings.connections, settings.routes, made.requests, made.seconds
    );
    judge(&samples, settings.routes)
}

fn judge(samples: &[(f64, u64)], routes: u32) -> Result<(), String> {
    let settled = &samples[samples.len().min(UNSETTLED)..];
    let (Some(first), Some(last)) = (settled.first(), settled.last()) else {
        return Err("the run is too short to judge memory; use --minutes 2 or more".into());
    };
    println!(
        "RssAnon after {:.0} s: {} KiB; at the end: {} KiB",
        first.0, first.1, last.1
    );
    let growth = last.1.saturating_sub(first.1);
    println!(
        "growth: {growth} KiB in {:.1} minutes",
        (last.0 - first.0) / 60.0
    );
    let limit = LATE_KIB + LATE_KIB_PER_ROUTE * u64::from(routes);
    if growth > limit {
        return Err(format!("memory grows: at most {limit} KiB were expected"));
    }
    Ok(())
}

fn watch(child: &Child, length: Duration) -> Result<Vec<(f64, u64)>, String> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while began.elapsed() + EVERY < length {
        std::thread::sleep(EVERY);
        let memory = server::sample(child.id()).rss_anon_bytes / 1024;
        if memory == 0 {
            return Err("the client ended early".into());
        }
        let at = began.elapsed().as_secs_f64();
        eprintln!("{at:>5.0} s  RssAnon {memory} KiB");
        samples.push((at, memory));
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(memory: &[u64]) -> Result<(), String> {
        let samples: Vec<_> = memory.iter().map(|it| (10.0, *it)).collect();
        judge(&samples, 10)
    }

    #[test]
    fn growth_of_memory_is_refused() {
        assert_eq!(judged(&[0, 1, 5_000, 9_000, 9_000, 9_040]), Ok(()));
        assert!(judged(&[0, 0, 0, 9_000, 11_000]).is_err());
        assert!(judged(&[1, 2, 3]).is_err_and(|error| error.contains("--minutes")));
    }
}
