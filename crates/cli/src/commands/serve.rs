//! `gatebench serve [DIR]`.

use std::fs;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use gatebench_net::turns::run_when_idle;
use gatebench_serve::{Choice, Folder, Launch, ServeError, Server, Settings, Stop};

use super::list::gateways;
use super::values::{Overlay, no_program};
use crate::failure::Failure;
use crate::{signals, terminal};

const EXAMPLES: &str = "\
Examples:
  gatebench serve                                   the runs of ./gatebench-runs
  gatebench serve /var/lib/bench --port 8080
  gatebench serve gatebench-runs/tour-20260102T030405Z     one run
  gatebench serve --allow-run                       with a form that starts runs
  gatebench run --serve                             a page for a run while it runs

The command prints a URL with a token, which keeps other users of this machine from reading the
pages. The server reads the files of the run directories, even while another process is measuring.
It runs at the lowest priority and, if possible, on cores that the measurement does not use. Ctrl-C
ends the server.";

/// Show runs in the browser, including runs in progress
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// The directory that contains runs, or the directory of one run
    #[arg(default_value = "gatebench-runs")]
    dir: PathBuf,
    /// Listen on this port [default: any free port]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,
    /// Listen on this address; other machines can then read the pages with the token, over an
    /// unencrypted connection [default: 127.0.0.1 and ::1]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<IpAddr>,
    /// Let the pages start runs, with a choice of known suites, gateways and lengths
    #[arg(long)]
    allow_run: bool,
    #[command(flatten)]
    overlay: Overlay,
    /// Wait for the run of this name, and end when standard input is closed
    #[arg(long, value_name = "NAME", hide = true)]
    next_to: Option<String>,
}

impl Serve {
    /// Serves until a signal arrives or, with --next-to, until standard input is closed and no page
    /// uses the server, but for at most 60 s after standard input is closed.
    pub fn run(self) -> Result<(), Failure> {
        if self.allow_run && !self.dir.exists() {
            fs::create_dir_all(&self.dir).map_err(|error| self.unreadable(&error))?;
        }
        let folder = Folder::open(&self.dir).map_err(|error| self.unreadable(&error))?;
        let launch = self.allow_run.then(|| self.launch(&folder)).transpose()?;
        if self.next_to.is_some() {
            // The highest nice value, which `Server::bind` sets, does not suffice: while the server
            // renders a page, it would delay a load generator on the same core by milliseconds. If
            // the system refuses `SCHED_IDLE`, the server runs with that nice value only.
            let _ = run_when_idle();
        }
        let server = Server::bind(Settings {
            folder,
            expected: self.next_to.clone(),
            address: self.listen,
            port: self.port,
            launch,
        });
        let server = server.map_err(|error| cannot(&error))?;
        let stop = server.stop();
        if self.next_to.is_some() {
            end_with_standard_input(stop)?;
        } else {
            signals::on_signal(move || stop.now())?;
        }
        if let Some(address) = self.listen.filter(|it| !it.is_loopback()) {
            terminal::complain(&format!(
                "warning: {address} is not the loopback interface: anyone who sees the traffic can \
                 read the pages\n  → use a tunnel instead: ssh -L PORT:127.0.0.1:PORT HOST"
            ));
        }
        terminal::say(&server.url())?;
        server.run().map_err(|error| cannot(&error))
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "the directory does not exist".to_owned(),
            _ => format!("cannot read the directory: {error}"),
        };
        let remedy = "name the directory that contains runs; `gatebench run` creates \
                      ./gatebench-runs";
        Failure::words(self.dir.display().to_string(), what, remedy)
    }

    /// Returns the choices of the form: the suites, and the gateways installed on this machine.
    fn launch(&self, folder: &Folder) -> Result<Launch, Failure> {
        if folder.only().is_some() {
            let dir = self.dir.display();
            return Err(Failure::words(
                "--allow-run",
                format!("{dir} is a run, but new runs need a directory of runs"),
                "name the directory that contains this run",
            ));
        }
        let suites = self.overlay.scenarios().suites()?;
        let suites = suites.into_iter().map(|it| Choice {
            title: it.document.title.clone(),
            name: it.document.suite.clone(),
        });
        let installed = gateways::all(&self.overlay.catalogue())?;
        let installed = installed.iter().filter_map(gateways::Listed::installed);
        let choice = |(name, version): (&str, &str)| Choice {
            name: name.to_owned(),
            title: version.to_owned(),
        };
        Ok(Launch {
            program: std::env::current_exe().map_err(no_program)?,
            suites: suites.collect(),
            gateways: installed.map(choice).collect(),
            further: self.overlay.words(),
        })
    }
}

/// Stops the server after standard input is closed, which happens when the process that started the
/// server ends. Pages that are still open then request the report, so the server continues until no
/// page uses it, but for at most 60 s.
fn end_with_standard_input(stop: Stop) -> Result<(), Failure> {
    let wait = move || {
        let mut nothing = Vec::new();
        let _ = io::stdin().read_to_end(&mut nothing);
        stop.when_unused();
    };
    let started = thread::Builder::new().name("end".into()).spawn(wait);
    started.map(drop).map_err(|error| {
        Failure::environment(format!("cannot start a thread: {error}"), "try again")
    })
}

fn cannot(error: &ServeError) -> Failure {
    let remedy = match error {
        ServeError::Listen { .. } => "choose another port with --port, or another address",
        ServeError::System(_) => "try again",
    };
    Failure::environment(error.to_string(), remedy)
}

/// Returns the arguments that start a server next to the run in `dir`; `None` if the path has no
/// last component or is not UTF-8.
pub fn words_next_to(dir: &Path) -> Option<[String; 4]> {
    let name = dir.file_name()?.to_str()?;
    let folder = match dir.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let folder = folder.to_str()?;
    let words = ["serve", folder, "--next-to", name];
    Some(words.map(str::to_owned))
}
