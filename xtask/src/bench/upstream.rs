//! Server CPU per request of `upstream ping`, beside nginx `return 200`, under the same client.

use super::client;
use super::pairs::spread;
use super::peers;
use super::server::Server;
use super::{Binaries, Settings};

/// Runs both in turn under the same closed load.
pub fn run(settings: &Settings, binaries: &Binaries) -> Result<(), String> {
    let servers = [
        ("upstream ping", Server::ping(binaries)?),
        ("nginx return 200", Server::nginx()?),
    ];
    println!(
        "{} connections, {} s a run, {} pairs",
        settings.connections, settings.seconds, settings.pairs
    );
    let mut costs = [Vec::new(), Vec::new()];
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..=settings.pairs {
        for (number, (_, server)) in servers.iter().enumerate() {
            let url = format!("http://{}/ping", server.address);
            let peers = peers::all(settings, binaries, &url);
            let before = server.cpu_us();
            let run = client::run(&peers[0].words, peers[0].environment, peers[0].requests)?;
            // The first pair warms everything up and is not counted.
            if round > 0 {
                costs[number].push((server.cpu_us() - before) / run.requests as f64);
                rates[number].push(run.rate_per_second);
            }
        }
    }
    for (number, (name, _)) in servers.iter().enumerate() {
        let (cost, rate) = (spread(costs[number].clone()), spread(rates[number].clone()));
        println!(
            "{name:<18} {cost} µs CPU a request, {:.0} rps ({:.0}–{:.0})",
            rate.median, rate.min, rate.max
        );
    }
    let ratios = costs[0]
        .iter()
        .zip(&costs[1])
        .map(|(ours, nginx)| ours / nginx)
        .collect();
    println!("upstream ping ÷ nginx, CPU: {}", spread(ratios));
    Ok(())
}
