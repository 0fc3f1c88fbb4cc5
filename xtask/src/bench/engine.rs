//! Client CPU per request of the engine, beside its peers, against `upstream ping`.

use std::time::Instant;

use super::client::{self, Run};
use super::pairs::spread;
use super::peers::{self, Peer};
use super::server::Server;
use super::{Binaries, CLIENT_CORE, SERVER_CORE, Settings};

/// Runs every tool in turn, again and again, and prints each one's cost in terms of ours.
pub fn run(settings: &Settings, binaries: &Binaries) -> Result<(), String> {
    let server = Server::ping(binaries)?;
    let url = format!("http://{}/ping", server.address);
    let peers = peers::all(settings, binaries, &url);
    println!(
        "GET /ping, {} connections, {} s a run, {} rounds; load on core {CLIENT_CORE}, upstream on core {SERVER_CORE}",
        settings.connections, settings.seconds, settings.pairs
    );
    let mut rounds: Vec<Vec<Run>> = Vec::new();
    let mut busy = vec![Vec::new(); peers.len()];
    for round in 0..=settings.pairs {
        let mut runs = Vec::new();
        for (number, peer) in peers.iter().enumerate() {
            let (cpu, began) = (server.cpu_us(), Instant::now());
            runs.push(client::run(&peer.words, peer.environment, peer.requests)?);
            let share = (server.cpu_us() - cpu) / began.elapsed().as_secs_f64() / 1e4;
            if round > 0 {
                busy[number].push(share);
            }
        }
        // The first round warms everything up and is not counted.
        if round > 0 {
            eprintln!("round {round} of {}", settings.pairs);
            rounds.push(runs);
        }
    }
    print(&peers, &rounds, &busy);
    Ok(())
}

fn print(peers: &[Peer], rounds: &[Vec<Run>], busy: &[Vec<f64>]) {
    println!(
        "{:<22} {:>10} {:>12} {:>9}   {:<22} {:<22}",
        "", "rps", "CPU µs/req", "upstream", "CPU, × gatebench", "rps, × gatebench"
    );
    for (number, peer) in peers.iter().enumerate() {
        let of =
            |pick: fn(&Run) -> f64| spread(rounds.iter().map(|runs| pick(&runs[number])).collect());
        let ratio = |pick: fn(&Run) -> f64| {
            spread(
                rounds
                    .iter()
                    .map(|runs| pick(&runs[number]) / pick(&runs[0]))
                    .collect(),
            )
        };
        println!(
            "{:<22} {:>10.0} {:>12.2} {:>7.0} %   {:<22} {:<22}",
            peer.name,
            of(|run| run.rate_per_second).median,
            of(|run| run.cpu_us_per_request).median,
            spread(busy[number].clone()).median,
            ratio(|run| run.cpu_us_per_request).to_string(),
            ratio(|run| run.rate_per_second).to_string(),
        );
    }
}
