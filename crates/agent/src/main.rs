//! The program that gatebench copies to the hosts that run load generators and upstreams.

mod upstream;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use gatebench_agent::Agent;
use gatebench_testbed::{Launcher, remote};

const USAGE: &str = "gatebench starts gatebench-agent on other hosts:
  gatebench-agent remote-end       serve gatebench over standard input and output; with --line [--further],
                                   through a process (--hold) that outlives `kubectl exec`
  gatebench-agent supervise ...    run a command, and end it when standard input ends
  gatebench-agent upstream KIND [--listen ADDR:PORT] [--cores 0,1] [--streams N] [--tls [--cert FILE --key FILE]]
  gatebench-agent --version";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next().and_then(|word| word.into_string().ok());
    let result = match first.as_deref() {
        Some("supervise") => return gatebench_testbed::supervise(words),
        Some("remote-end") => remote_end(&words.collect::<Vec<_>>()),
        Some("upstream") => {
            let words = words.map(|word| word.to_string_lossy().into_owned());
            upstream::serve(words.collect())
        }
        Some("--version") => say(&format!("gatebench-agent {}", env!("CARGO_PKG_VERSION"))),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // If nobody reads the output, the message is not needed.
            let _ = writeln!(io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

fn remote_end(options: &[OsString]) -> Result<(), String> {
    let launcher = Launcher::own().map_err(|error| error.to_string())?;
    let options: Vec<_> = options.iter().filter_map(|it| it.to_str()).collect();
    let served = match options[..] {
        [] => remote::serve(launcher, Agent::default()),
        ["--line"] => remote::relay(&launcher, false),
        ["--line", "--further"] => remote::relay(&launcher, true),
        ["--hold"] => remote::hold(&launcher),
        _ => return Err(USAGE.to_owned()),
    };
    served.map_err(|error| error.to_string())
}

fn say(line: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{line}").map_err(|error| error.to_string())
}
