//! When a figure is not what it looks like: the engine, the machine or the schedule was the limit.

use gatebench_analysis::findings::Unit;
use gatebench_analysis::thresholds::{
    ACHIEVED_MIN, ENGINE_BUSY_MAX, ENGINE_WAIT_MAX, LATENESS_P99_NS_MAX, STEAL_SHARE_MAX,
};
use gatebench_analysis::words::{grouped, quantity};
use gatebench_engine::HIGHEST_NS;

use super::figures::Figures;
use super::judged::percent;
use super::live::{Seen, Silence};

/// Shares of a window shorter than this are chance.
const WINDOW_S_MIN: f64 = 0.25;
/// Arrivals within a silence below which it is chance.
const DUE_MIN: f64 = 4.0;
/// Silences that are told one by one.
const SILENCES_TOLD: usize = 3;

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
pub fn cautions(figures: &Figures<'_>, seen: &Seen, open: bool, pinned: bool) -> Vec<Caution> {
    let machine = seen.machine;
    let of_schedule = [
        dropped(figures),
        not_achieved(figures),
        late(figures, pinned),
    ];
    let of_schedule = of_schedule.into_iter().filter(|_| open);
    let is_long = figures.window_s >= WINDOW_S_MIN;
    let others = [
        silent(figures, &seen.silences, open),
        engine_busy(figures, open).filter(|_| is_long),
        engine_waited(figures, pinned).filter(|_| is_long),
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

/// A core that other programs run on delays what the engine does.
fn undisturbed(pinned: bool) -> &'static str {
    if pinned {
        "end the other programs on these cores"
    } else {
        "give the engine a core of its own with --cores"
    }
}

/// Lateness is inside the response time, so nothing is hidden; but it is not the target's alone.
fn late(figures: &Figures<'_>, pinned: bool) -> Option<Caution> {
    let p99_ns = figures.lateness.percentile_ns(99.0)? as f64;
    (p99_ns > LATENESS_P99_NS_MAX).then(|| {
        let what = format!(
            "one request in 100 left more than {} late; response times include that",
            quantity(p99_ns, Unit::Nanoseconds)
        );
        let connections = match figures.counts().queued_max {
            0 => "",
            _ => ", allow more connections with -c",
        };
        let remedy = format!("lower --rate{connections}, or {}", undisturbed(pinned));
        caution("sends_late", what, remedy)
    })
}

/// A mean over the window tells nothing of a target that stood still in it.
fn silent(figures: &Figures<'_>, silences: &[Silence], open: bool) -> Option<Caution> {
    let longest_ns = silences.iter().map(Silence::length_ns).max()? as f64;
    let (quickest_ns, slowest_ns) = (figures.response.min_ns()?, figures.response.max_ns()?);
    // Answers that all take long come seldom, and where nobody waited nothing was due.
    let stands_out = quickest_ns as f64 <= longest_ns / 2.0;
    let kept_waiting = slowest_ns as f64 >= longest_ns / 2.0;
    let due = figures.per_second(figures.counts().intended) * longest_ns / 1e9;
    (stands_out && kept_waiting && (!open || due >= DUE_MIN)).then(|| {
        let second = |ns: u64| format!("{:.1}", ns as f64 / 1e9);
        let stretches: Vec<_> = silences
            .iter()
            .take(SILENCES_TOLD)
            .map(|it| format!("{} to {}", second(it.from_ns), second(it.to_ns)))
            .collect();
        let more = match silences.len().saturating_sub(SILENCES_TOLD) {
            0 => String::new(),
            more => format!(", and {more} times more"),
        };
        let what = format!(
            "nothing was answered from second {}{more}",
            stretches.join(", ")
        );
        caution(
            "silence",
            what,
            "look what the target did then: its log, its restarts, its pauses",
        )
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
fn engine_waited(figures: &Figures<'_>, pinned: bool) -> Option<Caution> {
    let share = figures.run_queue_share();
    (share > ENGINE_WAIT_MAX).then(|| {
        let what = format!(
            "the engine waited {} of the time for a core: other programs ran on it",
            percent(share)
        );
        let remedy = match pinned {
            true => undisturbed(pinned).to_owned(),
            false => format!("{}, and the target others", undisturbed(pinned)),
        };
        caution("engine_waited", what, remedy)
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
