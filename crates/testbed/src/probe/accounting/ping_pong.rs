//! A test of who pays for softirq: two threads that pass a byte over loopback TCP on one core.
//!
//! The core is always busy, with the two threads, with softirq and with other processes. Its busy
//! time minus the CPU time of the two threads is that of other processes, plus that of softirq if
//! no process pays for it. So a round in which less is missing than softirq took proves that
//! processes pay. Only rounds in which others took little can prove that no process pays: a
//! spinning thread shows how much others took.

use std::hint;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::SoftirqPayer;
use crate::probe::clock::thread_cpu_ns;
use crate::probe::machine::{CoreTimes, MachineSample};

/// Rounds of a test; a single undisturbed one is enough if processes pay.
const ROUNDS: usize = 4;

/// Undisturbed rounds that must agree if no process pays.
const AGREEING_MIN: usize = 2;

/// Long enough for the kernel's ticks of 10 ms.
const ROUND: Duration = Duration::from_millis(200);

/// Ticks of softirq in a round below which its share is chance.
const TICKS_MIN: u64 = 3;

/// Of softirq's time, the share that is missing at most where processes pay.
const MISSING_MAX: f64 = 0.5;

/// Around softirq's time, the share by which the missing time may differ if no process pays.
const DIFFERENCE_MAX: f64 = 0.35;

/// Of softirq's time, the share that others take at most in a round that is undisturbed.
const OTHERS_MAX: f64 = 0.25;

/// The times of a core and of two threads on it in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// CPU time of the two threads by their own clocks.
    pub threads_ns: u64,
    /// Busy time of the core, with softirq, interrupts and what the hypervisor took.
    pub busy_ns: u64,
    /// Of the busy time, softirq and interrupts.
    pub interrupts_ns: u64,
    /// Busy time of the core minus that of a thread that spun on it for as long.
    pub others_ns: u64,
}

/// The rounds of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PingPong {
    /// In order.
    pub rounds: Vec<Round>,
    /// The kernel's unit of busy time.
    pub tick_ns: u64,
}

impl PingPong {
    /// Plays on the core that is least busy of those that this thread may use.
    ///
    /// # Errors
    /// There is no loopback, or no core that a thread can be pinned to.
    pub fn play() -> io::Result<Self> {
        let core = least_busy()?;
        let rounds: io::Result<Vec<Round>> = (0..ROUNDS).map(|_| round(core)).collect();
        Ok(Self {
            rounds: rounds?,
            tick_ns: MachineSample::tick_ns(),
        })
    }

    /// The payer of softirq. Unknown if softirq took too little, or others used the core.
    pub fn judge(&self) -> SoftirqPayer {
        let least_ns = TICKS_MIN * self.tick_ns;
        let told = self.rounds.iter().filter(|it| it.interrupts_ns >= least_ns);
        let told: Vec<&Round> = told.collect();
        if told.iter().any(|round| round.missing() <= MISSING_MAX) {
            return SoftirqPayer::Processes;
        }
        let undisturbed = || told.iter().filter(|round| round.others() <= OTHERS_MAX);
        let agrees = |round: &&Round| (round.missing() - 1.0).abs() <= DIFFERENCE_MAX;
        match undisturbed().count() >= AGREEING_MIN && undisturbed().all(agrees) {
            true => SoftirqPayer::Nobody,
            false => SoftirqPayer::Unknown,
        }
    }

    /// CPU time of the threads, busy time of the core and softirq, summed over the rounds.
    pub fn total(&self) -> Round {
        let sum = |pick: fn(&Round) -> u64| self.rounds.iter().map(pick).sum();
        Round {
            threads_ns: sum(|it| it.threads_ns),
            busy_ns: sum(|it| it.busy_ns),
            interrupts_ns: sum(|it| it.interrupts_ns),
            others_ns: sum(|it| it.others_ns),
        }
    }
}

impl Round {
    /// Busy time that the threads' clocks do not have, in times of softirq.
    fn missing(&self) -> f64 {
        self.busy_ns.saturating_sub(self.threads_ns) as f64 / self.interrupts_ns.max(1) as f64
    }

    /// Time of other processes, in times of softirq.
    fn others(&self) -> f64 {
        self.others_ns as f64 / self.interrupts_ns.max(1) as f64
    }
}

fn round(core: usize) -> io::Result<Round> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    for end in [&client, &server] {
        end.set_nodelay(true)?;
    }
    let over = AtomicBool::new(false);
    let before = core_times(core);
    let threads = thread::scope(|scope| {
        let echo = scope.spawn(|| on_core(core, || echo(server)));
        let ask = scope.spawn(|| on_core(core, || ask(client, &over)));
        thread::sleep(ROUND);
        over.store(true, Ordering::Relaxed);
        [ask.join(), echo.join()]
    });
    let after = core_times(core);
    let mut threads_ns = 0;
    for thread in threads {
        threads_ns += thread.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    }
    let interrupts = |times: CoreTimes| times.softirq_ns + times.irq_ns;
    Ok(Round {
        threads_ns,
        busy_ns: used(after).saturating_sub(used(before)),
        interrupts_ns: interrupts(after).saturating_sub(interrupts(before)),
        others_ns: others_ns(core)?,
    })
}

/// The time of other processes while a thread spins on the core.
fn others_ns(core: usize) -> io::Result<u64> {
    let before = core_times(core);
    let spun = thread::scope(|scope| scope.spawn(|| on_core(core, spin)).join());
    let spun_ns = spun.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let used_ns = used(core_times(core)).saturating_sub(used(before));
    Ok(used_ns.saturating_sub(spun_ns))
}

fn spin() -> io::Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < ROUND {
        hint::spin_loop();
    }
    Ok(())
}

/// Stolen time counts, since the clock of a thread has it on some kernels.
fn used(times: CoreTimes) -> u64 {
    times.busy_ns + times.steal_ns
}

/// Sends a byte and waits for its return until it is over, then closes the connection.
fn ask(mut client: TcpStream, over: &AtomicBool) -> io::Result<()> {
    let mut byte = [0];
    while !over.load(Ordering::Relaxed) {
        client.write_all(&byte)?;
        client.read_exact(&mut byte)?;
    }
    Ok(())
}

/// Returns each byte until the connection is closed.
fn echo(mut server: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    while server.read(&mut byte)? > 0 {
        server.write_all(&byte)?;
    }
    Ok(())
}

/// CPU time that this thread takes for something on a core.
fn on_core(core: usize, work: impl FnOnce() -> io::Result<()>) -> io::Result<u64> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set)?;
    let before_ns = thread_cpu_ns();
    work()?;
    Ok(thread_cpu_ns() - before_ns)
}

/// The core that was idle the longest during a look.
fn least_busy() -> io::Result<usize> {
    let allowed = sched_getaffinity(None)?;
    let before = MachineSample::read();
    thread::sleep(ROUND / 4);
    let after = MachineSample::read();
    let busy = |core: usize| {
        after
            .busy_ns(&[core])
            .saturating_sub(before.busy_ns(&[core]))
    };
    let cores = after.cores.iter().map(|times| times.core);
    let usable = cores.filter(|core| *core < CpuSet::MAX_CPU && allowed.is_set(*core));
    let nothing = || io::Error::other("/proc/stat names no core that this process may use");
    usable.min_by_key(|core| busy(*core)).ok_or_else(nothing)
}

fn core_times(core: usize) -> CoreTimes {
    let times = MachineSample::read().cores.into_iter();
    let mut own = times.filter(|times| times.core == core);
    own.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// CPU time of the threads, busy time, softirq and the time of others, in milliseconds.
    type Figures = (u64, u64, u64, u64);

    fn judged(rounds: &[Figures]) -> SoftirqPayer {
        let round = |&(threads, busy, interrupts, others): &Figures| Round {
            threads_ns: threads * MS,
            busy_ns: busy * MS,
            interrupts_ns: interrupts * MS,
            others_ns: others * MS,
        };
        let played = PingPong {
            rounds: rounds.iter().map(round).collect(),
            tick_ns: 10 * MS,
        };
        played.judge()
    }

    /// Recorded on Linux 6.18 without IRQ_TIME_ACCOUNTING, while compilers ran on both cores.
    const RECORDED: [Figures; 4] = [
        (186, 200, 50, 128),
        (185, 200, 60, 184),
        (200, 190, 70, 167),
        (158, 200, 50, 156),
    ];

    /// Constructed from kernel/sched/cputime.c: with IRQ_TIME_ACCOUNTING the clock of a task leaves
    /// out what `irq_time_read` counts, and /proc/stat shows that as softirq.
    const IRQ_TIME: [Figures; 4] = [
        (140, 200, 60, 0),
        (150, 200, 50, 10),
        (138, 190, 60, 0),
        (146, 200, 50, 0),
    ];

    #[test]
    fn rounds_of_each_mode_are_told_apart() {
        assert_eq!(judged(&RECORDED), SoftirqPayer::Processes);
        assert_eq!(judged(&IRQ_TIME), SoftirqPayer::Nobody);
    }

    #[test]
    fn other_processes_hide_the_mode() {
        // A neighbour takes as much time as softirq, which looks as if no process paid.
        let steady = [(150, 200, 50, 50), (148, 200, 50, 60), (152, 200, 50, 40)];
        assert_eq!(judged(&steady), SoftirqPayer::Unknown);
        // It rests for a round.
        let rests = [steady[0], steady[1], (196, 200, 60, 0)];
        assert_eq!(judged(&rests), SoftirqPayer::Processes);
        // One undisturbed round is not enough to show that no process pays.
        assert_eq!(judged(&[steady[0], IRQ_TIME[0]]), SoftirqPayer::Unknown);
    }

    #[test]
    fn without_softirq_nothing_is_known() {
        let too_few = [(195, 200, 0, 0), (180, 200, 20, 0)];
        assert_eq!(judged(&too_few), SoftirqPayer::Unknown);
        assert_eq!(judged(&[]), SoftirqPayer::Unknown);
    }
}
