//! Measures the effect of watching a run of the reference gateway. The run has observers: its page
//! is open in three tabs, and it writes to two outputs. The observers are stopped in one of two
//! adjacent blocks of a load and run in the other, and the two blocks are compared. Both come from
//! the same processes at almost the same time, so the result does not depend on how much whole runs
//! differ.
//!
//! The tabs and the server for remote write stand for programs on other machines. They run under
//! `SCHED_IDLE`, because they would otherwise compete with the gateway.

mod grid;
mod observers;
mod pairs;
mod seconds;
mod watched;

use std::thread;

use gatebench_net::turns::run_when_idle;

use super::folder::Folder;
use super::programs::Programs;
use super::server::Server;
use super::settings::Settings;
use super::spread::{median_interval, spread};
use pairs::Pair;
use watched::{Run, SETTLE_S, TABS};

/// The smallest effect that matters, as a ratio minus one.
const EFFECT_MAX: f64 = 0.02;
/// The number of blocks of each load in a run.
const BLOCKS: u32 = 170;

pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    // Remote write is sent to a server that only responds with 200. A Prometheus on the same two
    // cores would change the figures more than the outputs do.
    let server = idle_server()?;
    let url = format!("prometheus=http://{}/api/v1/write", server.address);
    let folder = Folder::new()?;
    let block_s = SETTLE_S + settings.seconds;
    let load_s = BLOCKS * block_s;
    let load = folder.write("load.yaml", load(load_s))?;
    println!(
        "{} runs of two loads of {load_s} s; {TABS} tabs, remote write and JSON lines are stopped in one of two adjacent blocks of {block_s} s, whose first {SETTLE_S} s are not compared",
        settings.rounds
    );
    let mut pairs = Vec::new();
    let (mut of_page, mut of_outputs) = (Vec::new(), Vec::new());
    for round in 0..settings.rounds {
        let out = folder.path(&format!("run-{round}"));
        let seen = Run {
            programs,
            load: &load,
            out: &out,
            seed: round + 1,
            output: &url,
            block_s: block_s.into(),
        }
        .run()?;
        pairs.extend(pairs::of(&seen.blocks, &seconds::read(&out)?));
        of_page.extend(seen.page);
        of_outputs.extend(seen.outputs);
    }
    for (phase, name, figure) in pairs::FIGURES {
        println!("{phase:<9} {name:<27} {}", compared(&pairs, phase, figure)?);
    }
    for (name, shares) in [("the page", of_page), ("the outputs", of_outputs)] {
        if let Some(shares) = spread(&shares) {
            println!("{name} used {shares} % of a core");
        }
    }
    Ok(())
}

/// Starts nginx under `SCHED_IDLE`, which it inherits from the thread that starts it.
fn idle_server() -> Result<Server, String> {
    let start = || {
        run_when_idle().map_err(|error| format!("SCHED_IDLE is refused: {error}"))?;
        Server::nginx()
    };
    let started = thread::spawn(start).join();
    started.map_err(|_| "the thread that starts nginx has panicked".to_owned())?
}

fn load(seconds: u32) -> String {
    format!(
        "profile: observed\ntitle: Observed\nphases:\n\
         - {{name: saturate, closed: {{connections: 64}}, warm_up: 2s, measure: {seconds}s}}\n\
         - {{name: steady, open: {{rate_per_second: 5000, connections_max: 256}}, warm_up: 2s, measure: {seconds}s}}\n"
    )
}

/// Describes the ratio of a figure with and without observers: the median of the pairs of blocks
/// and its interval. Pairs with stolen time are left out, because stolen time does not depend on
/// the observers. A median is used because other disturbances remain, which would dominate a mean.
fn compared(pairs: &[Pair], phase: &str, figure: pairs::Figure) -> Result<String, String> {
    let of_phase: Vec<&Pair> = pairs.iter().filter(|pair| pair.phase == phase).collect();
    let undisturbed = of_phase.iter().filter(|pair| !pair.is_stolen);
    let values: Vec<f64> = undisturbed.filter_map(|pair| pair.ratio(figure)).collect();
    let median = spread(&values).map(|it| it.median);
    let Some((median, (low, high))) = median.zip(median_interval(&values)) else {
        return Err(format!(
            "too few pairs of blocks without stolen time in phase {phase} ({} of {}): use more --rounds",
            values.len(),
            of_phase.len()
        ));
    };
    let word = match (low >= 1.0 - EFFECT_MAX, high <= 1.0 + EFFECT_MAX) {
        (true, true) => "within 2 %",
        _ if low <= 1.0 && high >= 1.0 => "no change found, but the interval extends beyond 2 %",
        _ => "a change",
    };
    Ok(format!(
        "observed ÷ unobserved: {low:.4} to {high:.4} (median {median:.4}, {} of {} pairs without stolen time): {word}",
        values.len(),
        of_phase.len()
    ))
}
