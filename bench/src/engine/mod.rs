//! Measures the CPU time that gatebench's engine takes per request, with gatebench's own upstream
//! as the server, and compares it with that of a client that parses nothing and of external load
//! generators.

mod cells;
mod rounds;
mod syscalls;
mod table;

use std::time::Instant;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use self::cells::Cell;
use self::rounds::Measured;
use self::syscalls::Counter;
use super::files::Files;
use super::programs::Programs;
use super::server::Server;
use super::settings::Settings;
use super::tools::{Job, Method, Protocol};
use super::{CLIENT_CORE, SERVER_CORE};

/// The number of file descriptors that a tool needs in addition to its connections.
const SPARE_DESCRIPTORS: u64 = 100;

pub fn list() -> Result<(), String> {
    for cell in cells::all() {
        println!("{:<12} {}", cell.name, cell.title);
    }
    Ok(())
}

pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let chosen = choose(&settings.cells)?;
    let descriptors = raise_descriptors();
    let files = Files::write()?;
    let counter = syscalls::counter();
    println!("{}", heading(settings, &chosen, programs, &counter));
    let began = Instant::now();
    for (number, cell) in chosen.iter().enumerate() {
        eprintln!(
            "{} ({} of {}){}",
            cell.name,
            number + 1,
            chosen.len(),
            left(began, number, chosen.len())
        );
        match measure(
            cell,
            settings,
            programs,
            &files,
            descriptors,
            counter.as_ref().ok().copied(),
        ) {
            Ok(measured) => println!("{}", table::text(cell, &measured, settings.markdown)),
            Err(reason) => println!("{} ({}): not available: {reason}\n", cell.title, cell.name),
        }
    }
    Ok(())
}

fn choose(names: &[String]) -> Result<Vec<Cell>, String> {
    let mut cells = cells::all();
    if let Some(wrong) = names
        .iter()
        .find(|name| !cells.iter().any(|cell| cell.name == **name))
    {
        return Err(format!(
            "there is no cell '{wrong}'; `cargo xtask bench engine --list` lists the cells"
        ));
    }
    cells.retain(|cell| names.is_empty() || names.iter().any(|name| name == cell.name));
    Ok(cells)
}

/// Measures a cell with a fresh upstream. The error states why the cell cannot be measured here.
fn measure(
    cell: &Cell,
    settings: &Settings,
    programs: &Programs,
    files: &Files,
    descriptors: u64,
    counter: Option<Counter>,
) -> Result<Measured, String> {
    let needed = u64::from(cell.work.connections) + SPARE_DESCRIPTORS;
    if descriptors < needed {
        return Err(format!(
            "{needed} file descriptors are needed, but only {descriptors} are allowed; raise `ulimit -Hn`"
        ));
    }
    let server = upstream(cell, programs)?;
    let (scheme, path) = (
        if cell.work.protocol == Protocol::Tls {
            "https"
        } else {
            "http"
        },
        path(cell),
    );
    let url = format!("{scheme}://{}{path}", server.address);
    let job = Job {
        work: cell.work,
        url: &url,
        seconds: settings.seconds.max(cell.seconds_min),
        files,
        programs,
    };
    Ok(rounds::measure(cell, settings, &job, &server, counter))
}

fn upstream(cell: &Cell, programs: &Programs) -> Result<Server, String> {
    let kind = if cell.work.method == Method::Post {
        "httpbin"
    } else {
        "ping"
    };
    let words: &[&str] = match cell.work.protocol {
        Protocol::Tls => &[kind, "--tls"],
        Protocol::Http1 | Protocol::Http2 { .. } => &[kind],
    };
    Server::upstream(programs, words)
}

fn path(cell: &Cell) -> &'static str {
    match cell.work.method {
        Method::Get => "/ping",
        Method::Post => "/status/200",
    }
}

fn heading(
    settings: &Settings,
    chosen: &[Cell],
    programs: &Programs,
    counter: &Result<Counter, String>,
) -> String {
    let mut tools: Vec<String> = Vec::new();
    for tool in chosen
        .iter()
        .flat_map(|cell| &cell.tools)
        .filter(|tool| tool.version.is_some())
    {
        let name = tool.name_and_version(programs);
        if !tools.contains(&name) {
            tools.push(name);
        }
    }
    let calls = match counter {
        Ok(Counter::Perf) => "system calls counted by perf in a separate run".into(),
        Ok(Counter::Strace) => {
            "system calls counted by strace in a separate run, because it slows the tool down"
                .into()
        }
        Err(reason) => reason.clone(),
    };
    format!(
        "{} rounds of {} s (at least 5 s with 4,000 connections) after a warm-up; load on core {CLIENT_CORE}, upstream on core {SERVER_CORE}; \
         medians with their range,\nratios of the same round with Student's interval; {calls}.\nPeers: {}.\n",
        settings.rounds,
        settings.seconds,
        tools.join(", ")
    )
}

fn left(began: Instant, done: usize, all: usize) -> String {
    if done == 0 {
        return String::new();
    }
    let minutes = began.elapsed().as_secs_f64() / 60.0 / done as f64 * (all - done) as f64;
    format!(", about {minutes:.0} min left")
}

/// Raises the limit on file descriptors, which child processes inherit, as far as permitted, and
/// returns the resulting limit.
fn raise_descriptors() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return 0;
    };
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    }
}
