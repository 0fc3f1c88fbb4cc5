//! Runs every tool of a cell in turn, round after round.

use std::time::Instant;

use gatebench_testbed::probe::MachineSample;

use super::cells::Cell;
use super::syscalls::{self, Counter, Syscalls};
use crate::CORES;
use crate::client::{self, Run};
use crate::server::Server;
use crate::settings::Settings;
use crate::tools::{Job, Tool};

/// The result of a cell: one row per tool that can do the work. The row of gatebench, if it has
/// one, is the first.
pub struct Measured {
    pub rows: Vec<Row>,
    /// Tools without a row, with the reason.
    pub absent: Vec<(&'static str, String)>,
}

/// The runs of one tool.
pub struct Row {
    pub name: &'static str,
    /// One run per round; `None` if the run failed.
    pub rounds: Vec<Option<Sample>>,
    /// The reasons why runs failed.
    pub lost: Vec<String>,
    pub syscalls: Option<Syscalls>,
}

/// One run with the disturbances during it.
#[derive(Clone, Debug)]
pub struct Sample {
    pub run: Run,
    /// CPU time of the upstream as a share of the run's duration.
    pub upstream_busy: f64,
    /// Share of the two cores' time that other processes or the hypervisor used.
    pub foreign: f64,
}

/// Measures a cell: a warm-up round of short runs, the measured rounds and, if there is a counter,
/// one more short run of each tool, in which its system calls are counted. Each round begins with
/// the next tool, so no tool always runs first.
pub fn measure(
    cell: &Cell,
    settings: &Settings,
    job: &Job<'_>,
    server: &Server,
    counter: Option<Counter>,
) -> Measured {
    let mut absent = Vec::new();
    let mut able: Vec<&'static Tool> = Vec::new();
    for tool in &cell.tools {
        match (tool.words)(job) {
            Ok(_) => able.push(tool),
            Err(reason) => absent.push((tool.name, reason)),
        }
    }
    let row = |tool: &&Tool| Row {
        name: tool.name,
        rounds: Vec::new(),
        lost: Vec::new(),
        syscalls: None,
    };
    let mut rows: Vec<Row> = able.iter().map(row).collect();
    let short = Job { seconds: 1, ..*job };
    for tool in &able {
        // If a tool cannot run, the rounds below record the reason.
        let _ = client::run(tool, &short);
    }
    for round in 0..settings.rounds {
        for number in order(able.len(), round) {
            let sample = sample(able[number], job, server);
            let row = &mut rows[number];
            row.rounds
                .push(sample.map_err(|reason| row.lost.push(reason)).ok());
        }
        eprintln!("  round {} of {}", round + 1, settings.rounds);
    }
    for (tool, row) in able.iter().zip(&mut rows) {
        row.syscalls = counter.and_then(|counter| syscalls::count(counter, tool, &short).ok());
    }
    Measured { rows, absent }
}

fn order(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (place + round) % count)
}

fn sample(tool: &Tool, job: &Job<'_>, server: &Server) -> Result<Sample, String> {
    let (busy_before, cpu_before) = (busy_seconds(&MachineSample::read()), server.cpu_us());
    let began = Instant::now();
    let run = client::run(tool, job)?;
    let wall = began.elapsed().as_secs_f64();
    let server_seconds = (server.cpu_us() - cpu_before) / 1e6;
    let busy = busy_seconds(&MachineSample::read()) - busy_before;
    let foreign = (busy - server_seconds - run.cpu_us / 1e6) / (2.0 * wall);
    Ok(Sample {
        upstream_busy: server_seconds / run.seconds,
        foreign: foreign.max(0.0),
        run,
    })
}

/// Returns the busy and stolen time of both cores so far, in seconds. Interrupts are excluded,
/// because a kernel with IRQ_TIME_ACCOUNTING charges no process for them.
fn busy_seconds(machine: &MachineSample) -> f64 {
    let charged_ns = machine.busy_ns(&CORES) + machine.steal_ns(&CORES);
    let interrupts_ns = machine.irq_ns(&CORES) + machine.softirq_ns(&CORES);
    (charged_ns - interrupts_ns) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use gatebench_testbed::probe::CoreTimes;

    use super::*;

    #[test]
    fn interrupts_and_other_cores_are_not_busy() {
        let core = |core: usize, busy_ns: u64| CoreTimes {
            core,
            busy_ns,
            irq_ns: 1_000_000_000,
            softirq_ns: 2_000_000_000,
            steal_ns: 500_000_000,
        };
        let machine = MachineSample {
            cores: vec![
                core(0, 4_000_000_000),
                core(1, 3_000_000_000),
                core(2, 9_000_000_000),
            ],
            ..MachineSample::default()
        };
        assert_eq!(busy_seconds(&machine), 2.0);
    }

    #[test]
    fn every_round_begins_with_the_next_tool() {
        let of = |round| order(3, round).collect::<Vec<_>>();
        assert_eq!(
            [of(0), of(1), of(2), of(3)],
            [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]
        );
    }
}
