//! A test that shows whether processes are charged for softirq: two threads pass a byte over
//! loopback TCP on one core.
//!
//! The core is always busy: with the two threads, softirq or other processes. Its busy time minus
//! the CPU time of the two threads is the missing time: the time of other processes, plus softirq
//! if no process is charged for it. Therefore, a round whose missing time is clearly less than its
//! softirq time (in this module, always including hardware interrupts) proves that processes are
//! charged for softirq. Only rounds during which other processes used little time can prove the
//! opposite; a spinning thread measures the time of other processes.

use std::hint;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gatebench_net::clock::thread_cpu_ns;
use gatebench_net::workers::{joined, pin_to_core};

use super::SoftirqPayer;
use crate::probe::machine::{CoreTimes, MachineSample};
use crate::probe::topology::allowed_cores;

/// The number of rounds of a test. One round can prove that processes are charged.
const ROUNDS: usize = 4;

/// The minimum number of undisturbed rounds for the verdict that no process is charged. All
/// undisturbed rounds must agree.
const AGREEING_MIN: usize = 2;

/// The duration of a round, which spans many kernel ticks of 10 ms.
const ROUND: Duration = Duration::from_millis(200);

/// The minimum number of ticks in softirq and interrupts in a round; a round with fewer proves
/// nothing.
const TICKS_MIN: u64 = 3;

/// The maximum missing time that proves that processes are charged, as a share of the time in
/// softirq.
const MISSING_MAX: f64 = 0.5;

/// The maximum difference between the missing time and the time in softirq if no process is
/// charged, as a share of the time in softirq.
const DIFFERENCE_MAX: f64 = 0.35;

/// The maximum time of other processes in an undisturbed round, as a share of the time in softirq.
const OTHERS_MAX: f64 = 0.25;

/// The times that a core and the two threads on it spent in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// CPU time of the two threads, according to their own clocks.
    pub threads_ns: u64,
    /// Busy time of the core, including softirq, interrupts and stolen time.
    pub busy_ns: u64,
    /// The part of the busy time spent in softirq and interrupts.
    pub interrupts_ns: u64,
    /// Busy time of the core minus the CPU time of a thread that spun on it, measured after the
    /// round for the same duration.
    pub others_ns: u64,
}

/// The rounds of a test, which [`PingPong::judge`] evaluates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PingPong {
    pub rounds: Vec<Round>,
    /// The kernel's unit of busy time.
    pub tick_ns: u64,
}

impl PingPong {
    /// Runs the test on the least busy of the cores that this thread may use.
    ///
    /// # Errors
    /// There is no loopback interface, a thread cannot be pinned to a core, or `/proc/stat` lists
    /// no core that this process may use.
    pub fn play() -> io::Result<Self> {
        let core = least_busy()?;
        let rounds: io::Result<Vec<Round>> = (0..ROUNDS).map(|_| round(core)).collect();
        Ok(Self {
            rounds: rounds?,
            tick_ns: MachineSample::tick_ns(),
        })
    }

    /// Returns the process that is charged for softirq. If no round proves that processes are
    /// charged, the result is [`SoftirqPayer::Nobody`] only if all undisturbed rounds with enough
    /// softirq agree and there are enough of them; otherwise, it is unknown.
    pub fn judge(&self) -> SoftirqPayer {
        let least_ns = TICKS_MIN * self.tick_ns;
        let large = self.rounds.iter().filter(|it| it.interrupts_ns >= least_ns);
        let large: Vec<&Round> = large.collect();
        if large.iter().any(|round| round.missing() <= MISSING_MAX) {
            return SoftirqPayer::Processes;
        }
        let undisturbed = || large.iter().filter(|round| round.others() <= OTHERS_MAX);
        let agrees = |round: &&Round| (round.missing() - 1.0).abs() <= DIFFERENCE_MAX;
        match undisturbed().count() >= AGREEING_MIN && undisturbed().all(agrees) {
            true => SoftirqPayer::Nobody,
            false => SoftirqPayer::Unknown,
        }
    }

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
    /// Returns the missing time, as a multiple of the time in softirq.
    fn missing(&self) -> f64 {
        self.busy_ns.saturating_sub(self.threads_ns) as f64 / self.interrupts_ns.max(1) as f64
    }

    /// Returns the time of other processes, as a multiple of the time in softirq.
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
    let [asked, echoed] = thread::scope(|scope| {
        let echo = scope.spawn(|| on_core(core, || echo(server)));
        let ask = scope.spawn(|| on_core(core, || ask(client, &over)));
        thread::sleep(ROUND);
        over.store(true, Ordering::Relaxed);
        [joined(ask), joined(echo)]
    });
    let after = core_times(core);
    let interrupts = |times: CoreTimes| times.softirq_ns + times.irq_ns;
    Ok(Round {
        threads_ns: asked? + echoed?,
        busy_ns: used(after).saturating_sub(used(before)),
        interrupts_ns: interrupts(after).saturating_sub(interrupts(before)),
        others_ns: others_ns(core)?,
    })
}

/// Returns the time that other processes take while a thread spins on the core.
fn others_ns(core: usize) -> io::Result<u64> {
    let before = core_times(core);
    let spun_ns = thread::scope(|scope| joined(scope.spawn(|| on_core(core, spin))))?;
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

/// Returns the busy time, including stolen time, because on some kernels a thread's clock includes
/// the stolen time.
fn used(times: CoreTimes) -> u64 {
    times.busy_ns + times.steal_ns
}

/// Sends a byte and waits for its return, repeatedly until the round ends; then closes the
/// connection.
fn ask(mut client: TcpStream, over: &AtomicBool) -> io::Result<()> {
    let mut byte = [0];
    while !over.load(Ordering::Relaxed) {
        client.write_all(&byte)?;
        client.read_exact(&mut byte)?;
    }
    Ok(())
}

fn echo(mut server: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    while server.read(&mut byte)? > 0 {
        server.write_all(&byte)?;
    }
    Ok(())
}

/// Pins this thread to a core and returns the CPU time that `work` takes there, in nanoseconds.
fn on_core(core: usize, work: impl FnOnce() -> io::Result<()>) -> io::Result<u64> {
    pin_to_core(core)?;
    let before_ns = thread_cpu_ns();
    work()?;
    Ok(thread_cpu_ns() - before_ns)
}

fn least_busy() -> io::Result<usize> {
    let allowed = allowed_cores();
    let before = MachineSample::read();
    thread::sleep(ROUND / 4);
    let after = MachineSample::read();
    let busy_ns = |core: &usize| {
        after
            .busy_ns(&[*core])
            .saturating_sub(before.busy_ns(&[*core]))
    };
    let cores = after.cores.iter().map(|times| times.core);
    let usable = cores.filter(|core| allowed.contains(core));
    let none = || io::Error::other("/proc/stat lists no core that this process may use");
    usable.min_by_key(busy_ns).ok_or_else(none)
}

fn core_times(core: usize) -> CoreTimes {
    let times = MachineSample::read().cores.into_iter();
    let mut own = times.filter(|times| times.core == core);
    own.next().unwrap_or_default()
}
