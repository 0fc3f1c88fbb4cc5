//! Measures the cost of the load generator's second worker: compares two workers of one process
//! with two processes, which share nothing, and with one worker alone.
//!
//! The upstream has a worker on each of the two cores, so both cores are always busy, and the rates
//! say little about the load generator. The cost of sharing shows in the CPU time per request.

use std::thread;

use super::client;
use super::files::Files;
use super::programs::Programs;
use super::server::Server;
use super::settings::Settings;
use super::spread::{ratios, spread};
use super::tools::ours::OURS;
use super::tools::{Job, Made, Work};

/// Simultaneous processes, each with one worker on each of its cores.
struct Arrangement {
    name: &'static str,
    processes: &'static [&'static str],
}

const ALL: [Arrangement; 3] = [
    Arrangement {
        name: "one worker",
        processes: &["0"],
    },
    Arrangement {
        name: "two workers",
        processes: &["0,1"],
    },
    Arrangement {
        name: "two processes",
        processes: &["0", "1"],
    },
];

#[derive(Clone, Copy)]
struct Round {
    cpu_us_per_request: f64,
    rate_per_second: f64,
}

pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let server = Server::upstream(programs, &["ping", "--cores", "0,1"])?;
    let url = format!("http://{}/ping", server.address);
    let files = Files::write()?;
    println!(
        "{} connections per worker, {} s per run, {} rounds; the upstream has a worker on each core",
        settings.connections, settings.seconds, settings.rounds
    );
    let mut rounds = [const { Vec::new() }; ALL.len()];
    for round in 0..=settings.rounds {
        for (arrangement, kept) in ALL.iter().zip(&mut rounds) {
            let measured = measure(arrangement, settings, programs, &files, &url)?;
            // The first round is a warm-up.
            if round > 0 {
                kept.push(measured);
            }
        }
    }
    print(&rounds)
}

fn measure(
    arrangement: &Arrangement,
    settings: &Settings,
    programs: &Programs,
    files: &Files,
    url: &str,
) -> Result<Round, String> {
    let before = client::children_cpu_us();
    let made = thread::scope(|scope| {
        let start = |cores: &&'static str| {
            let cores = *cores;
            scope.spawn(move || load(cores, settings, programs, files, url))
        };
        let started: Vec<_> = arrangement.processes.iter().map(start).collect();
        let ended = started.into_iter().map(|it| it.join());
        ended
            .map(|it| it.unwrap_or_else(|_| Err("a load's thread has panicked".into())))
            .collect::<Result<Vec<Made>, String>>()
    })?;
    let requests: u64 = made.iter().map(|it| it.requests).sum();
    let rates = made.iter().map(|it| it.requests as f64 / it.seconds);
    Ok(Round {
        cpu_us_per_request: (client::children_cpu_us() - before) / requests as f64,
        rate_per_second: rates.sum(),
    })
}

/// Runs one process with a worker on each of these cores, which are separated by commas.
fn load(
    cores: &str,
    settings: &Settings,
    programs: &Programs,
    files: &Files,
    url: &str,
) -> Result<Made, String> {
    let workers = cores.split(',').count() as u32;
    let job = Job {
        work: Work::plain(settings.connections * workers),
        url,
        seconds: settings.seconds,
        files,
        programs,
    };
    let mut words = (OURS.words)(&job)?;
    words.extend(["--cores".into(), cores.into()]);
    let output = client::pinned(cores, &[], &words, job.seconds)?;
    (OURS.read)(&job, &output)
}

fn print(rounds: &[Vec<Round>; ALL.len()]) -> Result<(), String> {
    for (arrangement, rounds) in ALL.iter().zip(rounds) {
        let of = |value: fn(&Round) -> f64| spread(&rounds.iter().map(value).collect::<Vec<_>>());
        let cost = of(|round| round.cpu_us_per_request);
        let Some((cost, rate)) = cost.zip(of(|round| round.rate_per_second)) else {
            return Err("no round was measured".into());
        };
        println!(
            "{:<14} {cost} µs CPU per request, {:.0} requests/s ({:.0}–{:.0})",
            arrangement.name, rate.median, rate.min, rate.max
        );
    }
    let [one, two, apart] = rounds;
    for (name, peer) in [("one worker", one), ("two processes", apart)] {
        let pairs = two.iter().zip(peer);
        let pairs = pairs.map(|(two, peer)| two.cpu_us_per_request / peer.cpu_us_per_request);
        if let Some(ratio) = ratios(&pairs.collect::<Vec<_>>()) {
            println!("two workers ÷ {name}, CPU per request: {ratio}");
        }
    }
    Ok(())
}
