//! Measures the CPU time per request of the reference gateway's processes. For the plain proxy and
//! the common policies, it is compared with that of other gateways; for SOAP/XML chains, with the
//! bare work of their libraries.
//!
//! In every round, `gatebench run` measures each scenario with each gateway, in random order and
//! with fresh processes, and verifies the policies before and after the load. The gateway runs on
//! core 1, and the load generator and the upstream run on core 0.

mod bare;
mod busy;
mod cells;
pub mod endurance;
mod peers;
pub mod recompile;
mod series;
mod table;
mod trials;
mod variants;
mod verdicts;

use std::path::Path;

use self::bare::Bare;
use self::cells::Cell;
use self::peers::Chosen;
use self::trials::Costs;
use super::folder::Folder;
use super::programs::Programs;
use super::settings::Settings;

/// The results of one cell by round.
pub struct Measured {
    pub chosen: Chosen,
    pub costs: Vec<Costs>,
    /// For each round, the CPU time of each scenario's bare work in µs, if it has any.
    pub bare: Vec<Vec<(String, f64)>>,
}

pub fn list() -> Result<(), String> {
    for cell in cells::CELLS {
        println!("{:<10} {}", cell.name, cell.title);
    }
    Ok(())
}

/// Measures the chosen cells, interleaved round by round, and prints their tables.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let chosen = choose(&settings.cells)?;
    let folder = Folder::new()?;
    let bare = Bare::compile(folder.at(), programs)?;
    let load = folder.path("bench.yaml");
    let text = format!(
        "profile: bench\ntitle: Closed, for a benchmark\nphases:\n  - name: closed\n    closed: {{connections: {}}}\n    warm_up: 500ms\n    measure: {}s\n",
        settings.connections, settings.seconds
    );
    std::fs::write(&load, text).map_err(|error| error.to_string())?;
    println!(
        "{} connections, {} s per trial, {} rounds; CPU µs per request of the gateway's processes: median (range)",
        settings.connections, settings.seconds, settings.rounds
    );
    let mut all = Vec::new();
    for cell in &chosen {
        all.push(Measured::none(Chosen::of(cell, programs)?));
    }
    for round in 0..settings.rounds {
        eprintln!("round {} of {}", round + 1, settings.rounds);
        for (cell, measured) in chosen.iter().zip(&mut all) {
            let out = folder.path(&format!("{}-{round}", cell.name));
            let ran = trials::run(cell, &measured.chosen, programs, &load, round, &out)?;
            measured
                .bare
                .push(bare.measure(&ran, cell.trials, folder.at())?);
            measured.costs.push(ran.costs);
        }
    }
    for (cell, measured) in chosen.iter().zip(&all) {
        println!("\n{}", table::text(cell, measured, settings.markdown));
    }
    Ok(())
}

impl Measured {
    fn none(chosen: Chosen) -> Self {
        Self {
            chosen,
            costs: Vec::new(),
            bare: Vec::new(),
        }
    }
}

fn choose(names: &[String]) -> Result<Vec<&'static Cell>, String> {
    let is_cell = |name: &String| cells::CELLS.iter().any(|cell| cell.name == *name);
    if let Some(wrong) = names.iter().find(|name| !is_cell(name)) {
        return Err(format!(
            "there is no cell '{wrong}'; `cargo xtask bench gateway --list` lists the cells"
        ));
    }
    let is_chosen = |cell: &&Cell| names.is_empty() || names.iter().any(|name| name == cell.name);
    Ok(cells::CELLS.iter().filter(is_chosen).collect())
}

fn word(path: &Path) -> String {
    path.display().to_string()
}
