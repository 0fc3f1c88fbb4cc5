//! Measures the effect of watching a run: a run with its page in three tabs and with two outputs is
//! compared with the same run without them. The gateway is the reference gateway in every run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::folder::Folder;
use super::programs::Programs;
use super::server::Server;
use super::settings::Settings;
use super::spread::{ratios, spread};

/// The compared metrics, by load.
const METRICS: [(&str, &str); 5] = [
    ("saturate", "gateway_cpu_per_request_ns"),
    ("saturate", "throughput_per_second"),
    ("saturate", "response_p99_ns"),
    ("steady", "gateway_cpu_per_request_ns"),
    ("steady", "response_p99_ns"),
];
const TABS: usize = 3;
/// The smallest effect that matters, as a ratio minus one.
const EFFECT_MAX: f64 = 0.02;

/// The figures of a run, by load and metric.
type Figures = BTreeMap<(String, String), Figure>;

struct Figure {
    value: f64,
    /// True unless the run's summary marks the value as valid.
    is_limited: bool,
}

pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    // Remote write is sent to a server that only responds with 200. A Prometheus on the same two
    // cores would change the figures more than the outputs do.
    let server = Server::nginx()?;
    let url = format!("prometheus=http://{}/api/v1/write", server.address);
    let folder = Folder::new()?;
    let load = folder.write("load.yaml", load(settings.seconds))?;
    println!(
        "{} pairs of runs, two loads of {} s each; observed runs have {TABS} tabs, remote write and JSON lines",
        settings.rounds, settings.seconds
    );
    let (mut pairs, mut of_page, mut of_outputs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..settings.rounds {
        let mut figures = [Figures::new(), Figures::new()];
        // The order of the two runs alternates from round to round.
        for number in [round % 2, 1 - round % 2] {
            let out = folder.path(&format!("run-{round}-{number}"));
            let ran = Run {
                programs,
                load: &load,
                out: &out,
                seed: round + 1,
                output: (number == 1).then_some(&*url),
            };
            let seen = ran.run()?;
            of_page.extend(seen.page);
            of_outputs.extend(seen.outputs);
            figures[number] = summary(&out)?;
        }
        pairs.push(figures);
    }
    for (phase, metric) in METRICS {
        let key = (phase.to_owned(), metric.to_owned());
        let ratio = |pair: &[Figures; 2]| Some(pair[1].get(&key)?.value / pair[0].get(&key)?.value);
        let of_pairs: Vec<f64> = pairs.iter().filter_map(ratio).collect();
        let Some((low, high)) = ratios(&of_pairs).and_then(|it| it.interval) else {
            return Err(format!("too few runs have {metric} under {phase}"));
        };
        let word = match (low >= 1.0 - EFFECT_MAX, high <= 1.0 + EFFECT_MAX) {
            (true, true) => "within 2 %",
            _ if low <= 1.0 && high >= 1.0 => {
                "no change found, but the interval extends beyond 2 %"
            }
            _ => "a change",
        };
        let limited = [0, 1].map(|side| {
            let figures = pairs.iter().filter_map(|pair| pair[side].get(&key));
            figures.filter(|it| it.is_limited).count()
        });
        println!(
            "{phase:<9} {metric:<27} observed ÷ unobserved: {low:.4} to {high:.4}: {word}; not marked as valid: {} observed, {} unobserved",
            limited[1], limited[0]
        );
    }
    for (name, shares) in [("the page", of_page), ("the outputs", of_outputs)] {
        if let Some(shares) = spread(&shares) {
            println!("{name} used {shares} % of a core");
        }
    }
    Ok(())
}

fn load(seconds: u32) -> String {
    format!(
        "profile: observed\ntitle: Observed\nphases:\n\
         - {{name: saturate, closed: {{connections: 64}}, warm_up: 2s, measure: {seconds}s}}\n\
         - {{name: steady, open: {{rate_per_second: 5000, connections_max: 256}}, warm_up: 1s, measure: {seconds}s}}\n"
    )
}

struct Run<'a> {
    programs: &'a Programs,
    load: &'a Path,
    out: &'a Path,
    seed: usize,
    /// The output of an observed run for remote write, as for `--out`; `None` if the run is not
    /// observed.
    output: Option<&'a str>,
}

/// The shares of a core that observers used, in percent.
#[derive(Default)]
struct Seen {
    page: Option<f64>,
    outputs: Vec<f64>,
}

impl Run<'_> {
    fn run(&self) -> Result<Seen, String> {
        let mut command = Command::new(&self.programs.gatebench);
        command
            .args([
                "run",
                "--no-direct",
                "--blocks",
                "1",
                "--scenario",
                "proxy-json",
            ])
            .args(["--gateway", "reference", "--seed", &self.seed.to_string()])
            .arg("--load")
            .arg(self.load)
            .arg("--dir")
            .arg(self.out);
        if let Some(server) = self.output {
            let lines = self.out.with_extension("jsonl");
            command.args(["--serve", "--out", server]);
            command
                .arg("--out")
                .arg(format!("jsonl={}", lines.display()));
        }
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("gatebench cannot be started: {error}"))?;
        let seen = watch(&mut child, began);
        child
            .wait()
            .map_err(|error| format!("cannot wait for gatebench run: {error}"))?;
        Ok(seen)
    }
}

/// Reads a run's standard error until it ends, and opens the run's page in [`TABS`] tabs.
fn watch(child: &mut Child, began: Instant) -> Seen {
    let Some(errors) = child.stderr.take() else {
        return Seen::default();
    };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut page = None;
        let mut outputs = Vec::new();
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            if let Some(url) = line.strip_prefix("page: ") {
                let url = url.trim().to_owned();
                for _ in 0..TABS {
                    let url = url.clone();
                    scope.spawn(move || tab(&url));
                }
                let (parent, is_over) = (child.id(), &is_over);
                page = Some(scope.spawn(move || page_cpu_s(parent, is_over)));
            }
            outputs.extend(output_cpu_s(&line));
        }
        let ran_s = began.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        let page_s = page.and_then(|page| page.join().ok());
        Seen {
            page: page_s.map(|it| it / ran_s * 100.0),
            outputs: outputs
                .into_iter()
                .map(|it: f64| it / ran_s * 100.0)
                .collect(),
        }
    })
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

/// Returns the CPU time in seconds of `gatebench serve`, a child of process `parent`, as last read
/// before the run was over.
fn page_cpu_s(parent: u32, is_over: &AtomicBool) -> f64 {
    let mut used_s = 0.0;
    while !is_over.load(Ordering::Relaxed) {
        used_s = children(parent)
            .into_iter()
            .filter(|it| is_serving(*it))
            .find_map(cpu_s)
            .unwrap_or(used_s);
        thread::sleep(Duration::from_millis(100));
    }
    used_s
}

/// Returns the CPU time in seconds from the last line of an output: `output TARGET: …, with 0.012 s
/// of CPU time`.
fn output_cpu_s(line: &str) -> Option<f64> {
    let (before, _) = line.strip_prefix("output ")?.split_once(" s of CPU time")?;
    before.rsplit(' ').next()?.parse().ok()
}

fn summary(run: &Path) -> Result<Figures, String> {
    let path = run.join("summary.csv");
    let unreadable = |error: csv::Error| format!("{}: {error}", path.display());
    let mut reader = csv::Reader::from_path(&path).map_err(unreadable)?;
    let head = reader.headers().map_err(unreadable)?.clone();
    let mut figures = Figures::new();
    for cells in reader.records() {
        let cells = cells.map_err(unreadable)?;
        let of = |name: &str| {
            let column = head.iter().position(|it| it == name);
            column.and_then(|it| cells.get(it)).unwrap_or_default()
        };
        if let Ok(value) = of("value").parse() {
            let is_limited = of("validity") != "valid";
            let figure = Figure { value, is_limited };
            figures.insert((of("phase").into(), of("metric").into()), figure);
        }
    }
    Ok(figures)
}

fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|it| it.parse().ok())
        .collect()
}

fn is_serving(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(b"serve")
}

/// Returns the user and system time of a process in seconds, assuming 100 clock ticks per second.
fn cpu_s(pid: u32) -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
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
