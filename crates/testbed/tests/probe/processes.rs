//! Tests the probe on real processes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_testbed::probe::processes::{children, tree};
use gatebench_testbed::probe::{MachineSample, Sample, Sampler, Scope};

const PATIENCE: Duration = Duration::from_secs(15);

/// A shell that executes each line that it receives, and ends with the test.
struct Shell(Child);

impl Shell {
    fn start() -> Self {
        Self(
            Command::new("sh")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        )
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}\necho done").unwrap();
        let mut response = String::new();
        BufReader::with_capacity(1, self.0.stdout.as_mut().unwrap())
            .read_line(&mut response)
            .unwrap();
        assert_eq!(response, "done\n");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// A shell loop that takes about 10 ms.
const WORK: &str = "i=0; while test $i -lt 20000; do i=$((i+1)); done";

fn sample_until(sampler: &mut Sampler, so: impl Fn(&Sample) -> bool) -> Sample {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let sample = sampler.sample();
        if so(&sample) {
            return sample;
        }
        assert!(Instant::now() < deadline, "timed out: {sample:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn work_counts_as_cpu_time_and_sleep_does_not() {
    let mut shell = Shell::start();
    let mut sampler = Sampler::new(shell.pid(), Scope::Tree);
    shell.tell("true");
    let before = sampler.sample();
    assert_eq!(
        (before.processes, before.threads, before.processes_ended),
        (1, 1, 0)
    );
    assert!(
        before.rss_anon_bytes > 0 && before.descriptors >= 3,
        "{before:?}"
    );
    shell.tell(WORK);
    let after = sampler.sample();
    assert!(
        after.cpu_ns > before.cpu_ns + 1_000_000,
        "{before:?} {after:?}"
    );
    sample_until(&mut sampler, |sample| {
        sample.switches_voluntary > before.switches_voluntary
    });
    assert!(after.at_ns > before.at_ns);
}

#[test]
fn the_time_of_an_ended_child_stays_counted() {
    let mut shell = Shell::start();
    let mut sampler = Sampler::new(shell.pid(), Scope::Tree);
    // The child works, then waits on a pipe that the shell holds, so that it is sampled before its
    // end.
    let fifo = std::env::temp_dir().join(format!("gatebench-probe-{}", std::process::id()));
    let fifo = fifo.display();
    shell.tell(&format!(
        "mkfifo {fifo}; ({WORK}; read line) < {fifo} & exec 3> {fifo}; rm {fifo}"
    ));
    let busy = sample_until(&mut sampler, |sample| {
        sample.processes == 2 && sample.cpu_ns > 5_000_000
    });
    shell.tell("exec 3>&-; wait");
    let after = sampler.sample();
    assert_eq!((after.processes, after.processes_ended), (1, 1));
    assert!(after.cpu_ns >= busy.cpu_ns && after.switches_voluntary >= busy.switches_voluntary);
}

#[test]
fn scopes_divide_a_tree() {
    let mut shell = Shell::start();
    shell.tell("(sleep 60 & exec sleep 60) > /dev/null 2>&1 < /dev/null & child=$!");
    let mut tree = Sampler::new(shell.pid(), Scope::Tree);
    sample_until(&mut tree, |sample| sample.processes == 3);
    assert_eq!(
        Sampler::new(shell.pid(), Scope::Below).sample().processes,
        2
    );
    assert_eq!(
        Sampler::new(shell.pid(), Scope::Process).sample().processes,
        1
    );
    let pss_bytes = tree.pss_bytes().unwrap();
    assert!(pss_bytes > 0);
    shell.tell("kill $(cat /proc/$child/task/$child/children) $child; wait");
}

#[test]
fn an_ended_process_has_no_figures() {
    let mut child = Command::new("true").spawn().unwrap();
    let mut sampler = Sampler::new(child.id(), Scope::Tree);
    child.wait().unwrap();
    let sample = sampler.sample();
    assert_eq!(
        (sample.processes, sample.cpu_ns, sample.rss_anon_bytes),
        (0, 0, 0)
    );
}

#[test]
fn the_machine_has_cores_that_have_worked() {
    let machine = MachineSample::read();
    assert!(machine.cores.iter().any(|core| core.busy_ns > 0));
    let all: Vec<usize> = machine.cores.iter().map(|core| core.core).collect();
    assert_eq!(
        machine.busy_ns(&all),
        machine.cores.iter().map(|core| core.busy_ns).sum::<u64>()
    );
    assert_eq!(machine.busy_ns(&[]), 0);
}

#[test]
fn children_of_every_thread_are_found() {
    let start = || {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).spawn().unwrap()
    };
    // The thread must not end, because its children would then move to another thread.
    let (give, take) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        give.send(start()).unwrap();
        let _ = ended.recv();
    });
    let mut started = [start(), take.recv().unwrap()];
    let (own, all) = (children(std::process::id()), tree(std::process::id()));
    assert_eq!(all[0], std::process::id());
    for child in &mut started {
        assert!(own.contains(&child.id()) && all.contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children(std::process::id()).contains(&child.id()));
    }
    assert!(children(4_000_000).is_empty());
    drop(end);
    other.join().unwrap();
}
