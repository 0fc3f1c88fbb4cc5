//! When a figure is not what it looks like: the engine, the machine or the schedule was the limit.

use gatebench_analysis::findings::Unit;
use gatebench_analysis::thresholds::{
    ACHIEVED_MIN, ENGINE_BUSY_MAX, ENGINE_WAIT_MAX, LATENESS_P99_NS_MAX, STEAL_SHARE_MAX,
};
use gatebench_analysis::words::{grouped, quantity};
use gatebench_engine::HIGHEST_NS;

use super::figures::Figures;
use super::words::threshold::percent;

/// Shares of a window shorter than this are chance.
const WINDOW_S_MIN: f64 = 0.25;

/// What the machine did in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineShare {
    /// Part of the workers' cores' time, of all cores where workers are not pinned, that the
    /// hypervisor gave to others.
    pub stolen: f64,
    /// How long a CPU limit stopped this program, nanoseconds.
    pub throttled_ns: u64,
}

/// Something that limits what may be concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// The word in JSON.
    pub word: &'static str,
    /// Whether the engine, and not the target, was the limit.
    pub is_engine: bool,
    /// What was seen.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// Everything that limits a load, the gravest first.
pub fn cautions(figures: &Figures<'_>, machine: MachineShare, open: bool) -> Vec<Caution> {
    let of_schedule = [dropped(figures), not_achieved(figures), late(figures)];
    let of_schedule = of_schedule.into_iter().filter(|_| open);
    let is_long = figures.window_s >= WINDOW_S_MIN;
    let others = [
        engine_busy(figures, open).filter(|_| is_long),
        engine_waited(figures).filter(|_| is_long),
        throttled(machine),
        stolen(machine),
        clamped(figures),
    ];
    of_schedule.chain(others).flatten().collect()
}

fn caution(word: &'static str, what: String, remedy: impl Into<String>) -> Caution {
    Caution {
        word,
        is_engine: word.starts_with("engine"),
        what,
        remedy: remedy.into(),
    }
}

/// A request that is never sent has no latency, and it would have had the longest.
fn dropped(figures: &Figures<'_>) -> Option<Caution> {
    let dropped = figures.counts().dropped;
    (dropped > 0).then(|| {
        let what = format!(
            "{} arrivals were never sent: no connection was free until the end, or the queue was full",
            grouped(dropped as f64)
        );
        caution("arrivals_dropped", what, "lower --rate, or allow more connections with -c")
    })
}

/// A latency at a rate stands only where the rate was reached.
fn not_achieved(figures: &Figures<'_>) -> Option<Caution> {
    let counts = figures.counts();
    let reached = counts.sent.min(counts.completed_in_window);
    let share = reached as f64 / counts.intended as f64;
    (counts.intended > 0 && share < ACHIEVED_MIN).then(|| {
        let what = format!(
            "of {} intended requests {} were answered in time: {} of the rate",
            grouped(counts.intended as f64),
            grouped(reached as f64),
            percent(share)
        );
        caution(
            "rate_not_achieved",
            what,
            "lower --rate below what the target takes",
        )
    })
}

/// Lateness is inside the response time, so nothing is hidden; but it is not the target's alone.
fn late(figures: &Figures<'_>) -> Option<Caution> {
    let p99_ns = figures.lateness.percentile_ns(99.0)? as f64;
    (p99_ns > LATENESS_P99_NS_MAX).then(|| {
        let what = format!(
            "one request in 100 left more than {} late; response times include that",
            quantity(p99_ns, Unit::Nanoseconds)
        );
        let remedy = "lower --rate, allow more connections with -c, or give the engine a core of its own with --cores";
        caution("sends_late", what, remedy)
    })
}

/// Waiting for the core grows with 1 ÷ (1 − busy), and belongs to the engine.
fn engine_busy(figures: &Figures<'_>, open: bool) -> Option<Caution> {
    let share = figures.busy_share();
    (share >= ENGINE_BUSY_MAX).then(|| {
        let (workers, their) = match figures.outcome.workers.len() {
            1 => ("the engine's worker".to_owned(), "its core"),
            several => (format!("the engine's {several} workers"), "their cores"),
        };
        let meaning = if open {
            "latencies include its own"
        } else {
            "the target may take more than this"
        };
        let what = format!("{workers} kept {their} {} busy: {meaning}", percent(share));
        caution(
            "engine_cpu",
            what,
            "give it more cores, as in --cores 0,1, or another machine",
        )
    })
}

/// Time in the run queue is time in which answers lay unread.
fn engine_waited(figures: &Figures<'_>) -> Option<Caution> {
    let share = figures.run_queue_share();
    (share > ENGINE_WAIT_MAX).then(|| {
        let what = format!(
            "the engine waited {} of the time for a core: other programs ran on it",
            percent(share)
        );
        caution(
            "engine_waited",
            what,
            "give it a core of its own with --cores, and the target others",
        )
    })
}

/// A CPU limit stops everything for the rest of its period: the tail is the limit's.
fn throttled(machine: MachineShare) -> Option<Caution> {
    (machine.throttled_ns > 0).then(|| {
        let what = format!(
            "a CPU limit stopped the engine for {}",
            quantity(machine.throttled_ns as f64, Unit::Nanoseconds)
        );
        let remedy =
            "raise or remove the CPU limit (cgroup cpu.max, docker --cpus) of this environment";
        caution("throttled", what, remedy)
    })
}

fn stolen(machine: MachineShare) -> Option<Caution> {
    (machine.stolen > STEAL_SHARE_MAX).then(|| {
        let what = format!(
            "the hypervisor took {} of the cores' time",
            percent(machine.stolen)
        );
        caution(
            "steal",
            what,
            "use a machine of its own, or repeat when the host is quieter",
        )
    })
}

/// The histogram ends somewhere.
fn clamped(figures: &Figures<'_>) -> Option<Caution> {
    let clamped = figures.response.recording().map_or(0, |it| it.clamped);
    (clamped > 0).then(|| {
        let what = format!(
            "{} requests took longer than {}, and percentiles count them as that; the maximum is exact",
            grouped(clamped as f64),
            quantity(HIGHEST_NS as f64, Unit::Nanoseconds)
        );
        caution("clamped", what, "give a shorter --timeout")
    })
}
