//! Measures the server CPU per request of `upstream ping` and of nginx `return 200`, with the same
//! client.

use super::client;
use super::files::Files;
use super::programs::Programs;
use super::server::Server;
use super::settings::Settings;
use super::spread::{Spread, ratios, spread};
use super::tools::ours::OURS;
use super::tools::{Job, Work};

pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let servers = [
        ("upstream ping", Server::upstream(programs, &["ping"])?),
        ("nginx return 200", Server::nginx()?),
    ];
    let files = Files::write()?;
    println!(
        "{} connections, {} s per run, {} rounds",
        settings.connections, settings.seconds, settings.rounds
    );
    let mut costs = [Vec::new(), Vec::new()];
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..=settings.rounds {
        for (number, (_, server)) in servers.iter().enumerate() {
            let url = format!("http://{}/ping", server.address);
            let before = server.cpu_us();
            let job = Job {
                work: Work::plain(settings.connections),
                url: &url,
                seconds: settings.seconds,
                files: &files,
                programs,
            };
            let run = client::run(&OURS, &job)?;
            // The first round is a warm-up.
            if round > 0 {
                costs[number].push((server.cpu_us() - before) / run.requests as f64);
                rates[number].push(run.rate_per_second());
            }
        }
    }
    for (number, (name, _)) in servers.iter().enumerate() {
        let Some((cost, rate)) = spread(&costs[number]).zip(spread(&rates[number])) else {
            return Err("no round was measured".into());
        };
        let Spread {
            median, min, max, ..
        } = rate;
        println!("{name:<18} {cost} µs CPU per request, {median:.0} rps ({min:.0}–{max:.0})");
    }
    let pairs = costs[0].iter().zip(&costs[1]);
    if let Some(ratio) = ratios(&pairs.map(|(ours, nginx)| ours / nginx).collect::<Vec<_>>()) {
        println!("upstream ping ÷ nginx, CPU: {ratio}");
    }
    Ok(())
}
