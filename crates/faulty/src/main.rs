//! The reference gateway with deliberate faults, for tests and benchmarks of the code that detects
//! such faults. This program is not part of the product: `gatebench` is built without the feature
//! that it requires.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use clap::Parser;
use gatebench_gateway::{Document, Faults, Gateway, Handicap, Leak};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The version and the features, in the format of `gatebench --version` but without a commit.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\nfeatures: +soap");

/// Runs the reference gateway with faults. The program has the name and the version of `gatebench`,
/// so the folder of the reference gateway also describes this program, except for its path.
#[derive(Debug, Parser)]
#[command(name = "gatebench", version, long_version = LONG_VERSION)]
enum Words {
    /// Serves the reference gateway with faults until SIGTERM or Ctrl-C; SIGHUP reloads the file
    Gateway(Serve),
    /// Does only the work that a handicap adds to a number of responses, so that the CPU time of
    /// the process is the cost of the handicap
    Alone {
        /// Loop iterations and system calls for each response
        #[arg(value_name = "300,0.5")]
        handicap: Handicap,
        responses: u64,
    },
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// The configuration file, in YAML or JSON
    file: PathBuf,
    /// Adds loop iterations and system calls to each response
    #[arg(long, value_name = "300,0.5")]
    handicap: Option<Handicap>,
    /// Leaks this amount of memory each time a worker has sent this number of responses
    #[arg(long, value_name = "1KiB/1000")]
    leak: Option<Leak>,
    /// For this share of the error responses, also responds with 500 to a later request
    #[arg(long, value_name = "1%", value_parser = share)]
    leak_errors: Option<f64>,
    /// Leaves this share of the responses out of the metrics
    #[arg(long, value_name = "1%", value_parser = share)]
    uncounted: Option<f64>,
    /// Also counts each retry in the metrics
    #[arg(long)]
    count_retries: bool,
    /// Leaves requests that clients abandon out of the metrics
    #[arg(long)]
    forget_abandoned: bool,
}

fn main() -> ExitCode {
    match Words::parse() {
        Words::Gateway(words) => match words.serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("error: {why}");
                ExitCode::FAILURE
            }
        },
        Words::Alone {
            handicap,
            responses,
        } => {
            handicap.alone(responses);
            ExitCode::SUCCESS
        }
    }
}

impl Serve {
    fn serve(self) -> Result<(), String> {
        let document = read(&self.file)?;
        let gateway = Gateway::new(&document.config).map_err(|wrong| wrong.to_string())?;
        let gateway = gateway
            .with_notices(|words| eprintln!("{words}"))
            .with_faults(Faults {
                handicap: self.handicap,
                leak: self.leak,
                stray_errors: self.leak_errors,
                uncounted: self.uncounted,
                counts_retries: self.count_retries,
                forgets_abandoned: self.forget_abandoned,
            });
        let gateway = Arc::new(gateway);
        let unhandled = |error| format!("signals cannot be handled: {error}");
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(unhandled)?;
        }
        let mut hangups = Signals::new([SIGHUP]).map_err(unhandled)?;
        let reloaded = Arc::clone(&gateway);
        thread::spawn(move || {
            for _ in hangups.forever() {
                if let Err(why) = reload(&reloaded, &self.file) {
                    eprintln!("error: {why}");
                }
            }
        });
        gateway
            .serve(&[], None, stop, announce)
            .map(drop)
            .map_err(|error| error.to_string())
    }
}

fn read(file: &Path) -> Result<Document, String> {
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{name} cannot be read: {error}"))?;
    Document::read(&name, &text).map_err(|wrong| {
        let mistakes = wrong.all().iter().map(|it| format!("\n  {}", it.message));
        format!("{wrong}{}", mistakes.collect::<String>())
    })
}

fn reload(gateway: &Gateway, file: &Path) -> Result<(), String> {
    let document = read(file)?;
    let replaced = gateway.replace(&document.config);
    replaced.map_err(|wrong| wrong.to_string())
}

fn announce(bound: &[SocketAddr]) {
    for address in bound {
        println!("gateway listens on http://{address}");
    }
}

/// Parses a percentage from 0% to 1000% and returns it as a fraction: 100% is 1.
fn share(word: &str) -> Result<f64, String> {
    let percent = word.strip_suffix('%').and_then(|it| it.parse().ok());
    let percent = percent.filter(|percent| (0.0..=1000.0).contains(percent));
    let percent: f64 =
        percent.ok_or("this is not a percentage from 0% to 1000%; write, for example, 3%")?;
    Ok(percent / 100.0)
}
