//! Runs gatebench with observers that are stopped in one block of each pair.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gatebench_net::turns::run_when_idle;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::programs::Programs;
use super::grid::{Grid, now_s};
use super::observers::{Stopped, page_of};
use super::pairs::Block;

pub const TABS: usize = 3;
/// The number of seconds at the beginning of each block that are not compared. The measuring
/// process still hands its facts to stopped outputs, which send them when they are resumed.
pub const SETTLE_S: u32 = 1;
/// The number of the outputs' threads: one that encodes, and for each output one that sends.
const OUTPUT_THREADS: usize = 3;
/// The interval between readings of a trial's events, in seconds.
const LOOK_EVERY_S: f64 = 0.02;

/// A run that is watched.
pub struct Run<'a> {
    pub programs: &'a Programs,
    pub load: &'a Path,
    pub out: &'a Path,
    pub seed: usize,
    /// The output for remote write, as for `--out`.
    pub output: &'a str,
    pub block_s: f64,
}

/// The blocks of a run, and the shares of a core that observers used, in percent.
pub struct Seen {
    pub blocks: Vec<Block>,
    pub page: Option<f64>,
    pub outputs: Vec<f64>,
}

impl Run<'_> {
    pub fn run(&self) -> Result<Seen, String> {
        let lines = format!("jsonl={}", self.out.with_extension("jsonl").display());
        let began = Instant::now();
        let mut child = Command::new(&self.programs.gatebench)
            .args(["run", "--no-direct", "--blocks", "1"])
            .args(["--scenario", "proxy-json", "--gateway", "reference"])
            .args(["--seed", &self.seed.to_string(), "--serve"])
            .args(["--out", self.output, "--out", &lines, "--load"])
            .arg(self.load)
            .arg("--dir")
            .arg(self.out)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("gatebench cannot be started: {error}"))?;
        let seen = self.watch(&mut child, began);
        child
            .wait()
            .map_err(|error| format!("cannot wait for gatebench run: {error}"))?;
        seen
    }

    /// Reads a run's standard error until it ends, opens the run's page in [`TABS`] tabs, and stops
    /// the observers in one block of each pair.
    fn watch(&self, child: &mut Child, began: Instant) -> Result<Seen, String> {
        let errors = child.stderr.take().ok_or("the run has no standard error")?;
        let run = child.id();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (mut page, mut blocks) = (None, None);
            let mut outputs = Vec::new();
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                if let Some(url) = line.strip_prefix("page: ") {
                    let url = url.trim().to_owned();
                    for _ in 0..TABS {
                        let url = url.clone();
                        scope.spawn(move || run_when_idle().ok().and_then(|()| tab(&url)));
                    }
                    page = Some(scope.spawn(|| page_cpu_s(run, &is_over)));
                    let grid = Grid::new(self.out.into());
                    let (block_s, is_over) = (self.block_s, &is_over);
                    blocks = Some(scope.spawn(move || alternate(run, grid, block_s, is_over)));
                }
                outputs.extend(output_cpu_s(&line));
            }
            let ran_s = began.elapsed().as_secs_f64();
            is_over.store(true, Ordering::Relaxed);
            let blocks = blocks.and_then(|blocks| blocks.join().ok());
            let share = |used_s: f64| used_s / ran_s * 100.0;
            Ok(Seen {
                blocks: blocks.ok_or("the run printed no URL of a page")??,
                page: page.and_then(|page| page.join().ok()).map(share),
                outputs: outputs.into_iter().map(share).collect(),
            })
        })
    }
}

/// Keeps the observers of process `run` active in one block of each pair and stops them in the
/// other, until the run is over. Blocks begin with a second of a load.
fn alternate(
    run: u32,
    mut grid: Grid,
    block_s: f64,
    is_over: &AtomicBool,
) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut stopped: Option<Stopped> = None;
    for pair in 0.. {
        let first = Block::is_observed_first(pair);
        for is_observed in [first, !first] {
            if !wait_for_second(&mut grid, is_over) {
                return Ok(blocks);
            }
            let from_s = now_s();
            // Both kinds of blocks begin with the same work.
            drop(stopped.take());
            stopped = stop(run)?.filter(|_| !is_observed);
            let (compared_s, to_s) = (from_s + f64::from(SETTLE_S), from_s + block_s);
            sleep(&mut grid, compared_s, is_over);
            let stolen = stolen_ticks();
            sleep(&mut grid, to_s - LOOK_EVERY_S, is_over);
            // Before and after the trial, there are fewer threads.
            let threads = stopped.as_ref().map_or(0, Stopped::threads);
            if is_observed || threads == OUTPUT_THREADS {
                blocks.push(Block {
                    pair,
                    is_observed,
                    is_stolen: stolen.is_none() || stolen != stolen_ticks(),
                    from_s: compared_s,
                    to_s,
                });
            }
        }
    }
    Ok(blocks)
}

/// Stops the observers of process `run`; `None` if it has no page at the moment.
fn stop(run: u32) -> Result<Option<Stopped>, String> {
    match Stopped::of(run) {
        Ok(stopped) => Ok(Some(stopped)),
        // ptrace also refuses a thread that is about to end, but then the run has no page.
        Err(errno @ (Errno::EPERM | Errno::EACCES)) if page_of(run).is_some() => {
            // The measurement is pointless, so the run ends now.
            let _ = kill(Pid::from_raw(run.cast_signed()), Signal::SIGINT);
            Err(forbidden(errno))
        }
        Err(_) => Ok(None),
    }
}

/// Waits until a second of a load begins; returns false if the run is over.
fn wait_for_second(grid: &mut Grid, is_over: &AtomicBool) -> bool {
    while grid.next_s().is_none() && !is_over.load(Ordering::Relaxed) {
        sleep(grid, now_s() + LOOK_EVERY_S, is_over);
    }
    if let Some(next_s) = grid.next_s() {
        sleep(grid, next_s, is_over);
    }
    !is_over.load(Ordering::Relaxed)
}

/// Sleeps until the time, in seconds since 1970, or until the run is over.
fn sleep(grid: &mut Grid, until_s: f64, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        grid.follow();
        let left_s = until_s - now_s();
        if left_s <= 0.0 {
            return;
        }
        thread::sleep(Duration::from_secs_f64(left_s.min(LOOK_EVERY_S)));
    }
}

fn forbidden(errno: Errno) -> String {
    format!(
        "the threads of the outputs cannot be stopped, because ptrace is forbidden ({}): run as \
         root, or set /proc/sys/kernel/yama/ptrace_scope to 0",
        errno.desc()
    )
}

/// Acts as a browser's tab: exchanges the token for a cookie and follows the page until the server
/// ends.
fn tab(url: &str) -> Option<()> {
    let (host, path) = url.strip_prefix("http://")?.split_once('/')?;
    let ask = |path: &str, cookie: &str| {
        let mut stream = TcpStream::connect(host).ok()?;
        let lines = format!("Host: {host}\r\n{cookie}Connection: close\r\n");
        let head = format!("GET /{path} HTTP/1.1\r\n{lines}\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut text = Vec::new();
        // The result is ignored, because the event stream breaks off when the server ends.
        let _ = stream.read_to_end(&mut text);
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let head = ask(path, "")?.to_ascii_lowercase();
    let (_, cookie) = head.split_once("set-cookie: ")?;
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next()?);
    let (page, _) = path.split_once('?')?;
    ask(page, &cookie)?;
    ask(&format!("{page}events"), &cookie).map(drop)
}

/// Returns the CPU time, in seconds, of the page's server, a child of process `run`, as last read
/// before the run was over.
fn page_cpu_s(run: u32, is_over: &AtomicBool) -> f64 {
    let mut used_s = 0.0;
    while !is_over.load(Ordering::Relaxed) {
        used_s = page_of(run).and_then(cpu_s).unwrap_or(used_s);
        thread::sleep(Duration::from_millis(500));
    }
    used_s
}

/// Returns the CPU time in seconds from the last line of an output: `output TARGET: …, with 0.012 s
/// of CPU time`.
fn output_cpu_s(line: &str) -> Option<f64> {
    let (before, _) = line.strip_prefix("output ")?.split_once(" s of CPU time")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Returns the time that the host of a virtual machine has taken from all cores, in clock ticks
/// (`steal` in Linux's proc_stat(5)).
fn stolen_ticks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let of_all = stat.lines().next()?.strip_prefix("cpu ")?;
    of_all.split_whitespace().nth(7)?.parse().ok()
}

/// Returns the user and system time of a process in seconds, assuming 100 clock ticks per second.
fn cpu_s(process: Pid) -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_an_output_is_in_its_last_line() {
        let line = "output jsonl=/tmp/x: 12 of 12 parts delivered, with 0.034 s of CPU time";
        assert_eq!(output_cpu_s(line), Some(0.034));
        assert_eq!(output_cpu_s("the output of CPU time"), None);
    }
}
