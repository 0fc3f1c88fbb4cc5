//! The far end: answers questions, one after the other, until the connection is over.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use gatebench_testbed::probe::{Sampler, Scope};
use gatebench_testbed::{GatewayStart, LIFE_SIGN, Launcher, Limit, Ports, READY, Root, Running};
use serde::Serialize;

use super::folder::WorkFolder;
use super::kept;
use super::protocol::{
    Answer, Ask, HURRY, Hello, OutsidePairs, Start, Started, Stopped, Told, Tried,
};
use crate::testbed::force_stop::end_supervisors;
use crate::testbed::{cores, resolve_gateway};

/// Without any sign of life for so long, the other end is gone, though nobody said so.
const SILENCE: Duration = LIFE_SIGN.saturating_mul(6);

/// How long an upstream may take to accept a connection.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// Where sshd tells who is connected: `CLIENT PORT SERVER PORT` (sshd(8), ENVIRONMENT).
const CONNECTION: &str = "SSH_CONNECTION";

/// Answers on standard output what is asked on standard input, until that ends. Nothing is left running,
/// and no file.
///
/// # Errors
/// No folder for temporary files; a standard output that is gone.
pub fn serve(launcher: Launcher) -> io::Result<()> {
    let hello = hello()?;
    let folder = WorkFolder::make(&env::temp_dir())?;
    say(&format!("{READY}{}", serde_json::to_string(&hello)?))?;
    let questions = questions();
    let mut end = End {
        launcher,
        trials: 0,
        gateway: None,
        samplers: BTreeMap::new(),
        folder,
    };
    while let Ok(line) = questions.recv_timeout(SILENCE) {
        if line.is_empty() {
            continue;
        }
        let answer: Answer = match serde_json::from_str(&line) {
            Ok(ask) => end.answer(ask),
            Err(error) => Err(error.into()),
        };
        say(&serde_json::to_string(&answer)?)?;
    }
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Lines of standard input. At its end, and when asked to, what is being started is ended: nobody waits for it.
fn questions() -> Receiver<String> {
    let (told, questions) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if line == HURRY {
                end_supervisors();
            } else if told.send(line).is_err() {
                return;
            }
        }
        end_supervisors();
    });
    questions
}

fn hello() -> io::Result<Hello> {
    let connection = env::var(CONNECTION).unwrap_or_default();
    let words: Vec<&str> = connection.split(' ').collect();
    let address = |at: usize| {
        let address: Option<IpAddr> = words.get(at).and_then(|word| word.parse().ok());
        address.map(|address| address.to_canonical())
    };
    let (Some(here), Some(there)) = (address(0), address(2)) else {
        let what = format!("{CONNECTION} does not say who is connected; this is started by sshd");
        return Err(io::Error::other(what));
    };
    Ok(Hello {
        here,
        there,
        cores: cores::allowed(),
    })
}

/// Fields drop in this order: the gateway ends before its folder is removed.
struct End {
    launcher: Launcher,
    trials: u32,
    gateway: Option<Running>,
    samplers: BTreeMap<u32, Sampler>,
    folder: WorkFolder,
}

impl End {
    fn answer(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Find { folder, wanted } => {
                json(&folder.find_binary_of(wanted.as_deref(), &self.launcher)?)
            }
            Ask::Limits { amounts } => json(&Limit::find_all(&amounts, resolve_gateway::groups)),
            Ask::Reach { address } => match TcpStream::connect_timeout(&address, REACH_TIMEOUT) {
                Ok(_) => json(&()),
                Err(error) => Err(Told::environment(
                    format!("cannot reach the upstream at {address}: {error}"),
                    "allow connections to it in the firewall, or name another address at which this host reaches the upstream: --upstream-address ADDRESS",
                )),
            },
            Ask::Start(start) => json(&self.try_to_start(&start)),
            Ask::Exit => json(&self.gateway()?.exit_status()),
            Ask::Stderr => json(&self.gateway()?.stderr_tail()),
            Ask::Act { action } => json(&self.gateway()?.act(&action)?),
            Ask::Sample { sampler } => json(&self.sampler(sampler)?.sample()),
            Ask::Outside { sampler } => {
                let sampler = self.sampler(sampler)?;
                let outside: OutsidePairs = (
                    sampler.thread_cpu_ns().into_iter().collect(),
                    sampler.written_files().into_iter().collect(),
                );
                json(&outside)
            }
            Ask::Pss { sampler } => json(&self.sampler(sampler)?.pss_bytes()),
            Ask::Stop => json(&self.stop()?),
        }
    }

    fn try_to_start(&mut self, start: &Start) -> Tried {
        // One that was not stopped belongs to a trial that failed.
        self.gateway = None;
        self.samplers.clear();
        self.trials += 1;
        let started = self.start(start);
        let kept = match &started {
            Ok(_) => Vec::new(),
            Err(_) => kept::texts_of(&self.work()),
        };
        Tried { started, kept }
    }

    /// The working folder of the trial.
    fn work(&self) -> PathBuf {
        self.folder.path().join(self.trials.to_string())
    }

    fn start(&mut self, start: &Start) -> Result<Started, Told> {
        let work = self.work();
        kept::put(&work, &start.files).map_err(|error| {
            Told::environment(
                format!("{} cannot be written: {error}", work.display()),
                "free space for temporary files, or set TMPDIR",
            )
        })?;
        let running = GatewayStart {
            folder: &start.folder,
            binary: &start.binary,
            scenario: &start.scenario,
            work: &work,
            cores: &some_cores(start.cores)?,
            limits: &start.limits,
            amounts: &start.amounts,
            listen: start.listen,
            targets: &[start.target],
            more_upstreams: &[],
            keepalive: start.keepalive,
            access_log: start.scenario.access_log,
            ports: Ports::default(),
            launcher: &self.launcher,
        }
        .start()?;
        let started = Started {
            address: running.addr,
            ready_after: running.ready_after,
            commands: running.commands.clone(),
            rendered: running.rendered.clone(),
        };
        self.gateway = Some(running);
        Ok(started)
    }

    fn gateway(&mut self) -> Result<&mut Running, Told> {
        self.gateway.as_mut().ok_or_else(none_runs)
    }

    fn sampler(&mut self, number: u32) -> Result<&mut Sampler, Told> {
        let gateway = self.gateway.as_ref().ok_or_else(none_runs)?;
        let (root, scope) = match gateway.root() {
            Root::Below(pid) => (pid, Scope::Below),
            Root::Tree(pid) => (pid, Scope::Tree),
        };
        let new = || Sampler::new(root, scope);
        Ok(self.samplers.entry(number).or_insert_with(new))
    }

    fn stop(&mut self) -> Result<Stopped, Told> {
        let mut gateway = self.gateway.take().ok_or_else(none_runs)?;
        let ended = gateway.stop();
        drop(gateway);
        let kept = kept::texts_of(&self.work());
        // A soak's logs need not wait for the end of the run.
        let _ = fs::remove_dir_all(self.work());
        Ok(Stopped { ended, kept })
    }
}

fn json(value: &impl Serialize) -> Answer {
    Ok(serde_json::to_value(value)?)
}

fn none_runs() -> Told {
    Told::environment("no gateway runs here".into(), "repeat the trial")
}

fn some_cores(count: usize) -> Result<Vec<usize>, Told> {
    let mut allowed = cores::allowed();
    if allowed.len() < count {
        let message = format!(
            "the gateway needs {count} cores, but there are {}",
            allowed.len()
        );
        let remedy = "use a host with more cores, or give the gateway fewer: --gateway-cores";
        return Err(Told::environment(message, remedy));
    }
    Ok(allowed.split_off(allowed.len() - count))
}
