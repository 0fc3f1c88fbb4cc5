//! Measures the CPU time and memory of the coordinator, the process that controls the agents. All
//! agents run on this machine, each with one worker on core 0.
//!
//! ```text
//! scripts/build-agent
//! target/x86_64-unknown-linux-gnu/dist/examples/coordinator AGENTS RATE SECONDS
//! ```

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use gatebench_agent::Agents;
use gatebench_engine::{Control, Group, Load, Target};
use gatebench_model::load::Open;
use gatebench_model::{Order, Place, Request, Shape};
use gatebench_testbed::Launcher;
use gatebench_testbed::probe::{Sampler, Scope};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [agents, rate, seconds] = &words[..] else {
        return Err("usage: coordinator AGENTS RATE SECONDS".into());
    };
    let (count, rate): (usize, f64) = (agents.parse()?, rate.parse()?);
    let folder = std::env::current_exe()?;
    let folder = folder.parent().and_then(|examples| examples.parent());
    let program = folder.ok_or("no folder")?.join("gatebench-agent");
    let mut upstream = Command::new(&program)
        .args(["upstream", "ping"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(stdout) = upstream.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let said: serde_json::Value = serde_json::from_str(&line)?;
    let address: SocketAddr = said["listening"].as_str().unwrap_or_default().parse()?;
    let measured = measure(program, count, rate, seconds.parse()?, address);
    upstream.kill()?;
    upstream.wait()?;
    println!("{}", measured?);
    Ok(())
}

fn measure(
    program: std::path::PathBuf,
    count: usize,
    rate: f64,
    seconds: u64,
    upstream: SocketAddr,
) -> Result<String, Failure> {
    let launcher = Launcher {
        program,
        prefix_args: vec!["supervise".into()],
    };
    let agents = Agents::connect(&vec![Place::Here; count], &launcher, &[0], None)?;
    let load = Load {
        groups: vec![Group {
            name: "all".into(),
            target: Target::new(upstream, "localhost"),
            requests: vec![Request::new("GET", "/ping")],
            order: Order::default(),
            shape: Shape::Open(Open::new(rate)),
            timeout: Duration::from_secs(5),
        }],
        data: Arc::default(),
        warm_up: Duration::from_secs(1),
        measure: Duration::from_secs(seconds),
        drain: Duration::from_secs(5),
        cores: Vec::new(),
        spin: false,
        backend: None,
        trace_tag: Some(1),
        shares_clock: true,
        part: None,
        seed: 1,
    };
    let control = Control::new(agents.count());
    let clock = gatebench_testbed::probe::clock_identity();
    let mut own = Sampler::new(std::process::id(), Scope::Process);
    let before = own.sample();
    let conducted = agents.run(&load, &control, &[clock], |_, _| {})?;
    let after = own.sample();
    if let Some(lost) = conducted.failure {
        return Err(format!("agent {} was {lost}", lost.agent).into());
    }
    let records: u64 = conducted.agents.iter().map(|it| it.records).sum();
    let bytes: u64 = conducted.agents.iter().map(|it| it.bytes).sum();
    let cpu_ns = after.cpu_ns - before.cpu_ns;
    let per_record = |sum: u64| sum as f64 / records.max(1) as f64;
    Ok(format!(
        "{count} agents, {} requests: {records} records of {:.0} bytes, {:.0} µs of CPU each, \
         {:.2} % of a core, {:.1} MiB, spread {:?}",
        conducted.outcome.counts.completed,
        per_record(bytes),
        per_record(cpu_ns) / 1e3,
        100.0 * cpu_ns as f64 / (after.at_ns - before.at_ns) as f64,
        after.rss_anon_bytes as f64 / f64::from(1 << 20),
        conducted.start,
    ))
}
