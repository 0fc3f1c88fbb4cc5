//! Sends the figures of each second of a load to the outputs of `--out`.

use std::path::Path;
use std::thread;

use gatebench_runner::outputs::{Outputs, Refusal, Settings, spare_cores};
use gatebench_store::Timestamp;

use crate::commands::outputs::{OutputArgs, delivered, refused};
use crate::failure::Failure;
use crate::terminal;

/// Returns the settings of the outputs. Unlike a run, a load writes no directory.
pub fn settings(args: &OutputArgs) -> Result<Settings, Failure> {
    match args.dir()? {
        None => args.settings(),
        Some(dir) => Err(Failure::words(
            format!("--out {}", dir.display()),
            "`gatebench load` writes no directory, and the argument names no kind of output",
            "write prometheus=URL, influxdb=URL, otlp=URL or jsonl=FILE",
        )),
    }
}

/// Starts the outputs. If there are physical cores that no worker is pinned to, the outputs run on
/// these cores.
pub fn start(settings: &Settings, cores: &[usize]) -> Result<Option<Outputs>, Failure> {
    let name = format!("load-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let started = Outputs::start(settings, Path::new(&name), spare_cores(cores), &warn);
    started.map_err(|refusal| refused(&refusal))
}

pub fn during<T>(outputs: Option<&Outputs>, load: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let done = |delivery| {
            delivered(&delivery)
                .iter()
                .for_each(|it| terminal::complain(it))
        };
        let _encoding = outputs.map(|it| it.encode_on(scope, warn, done));
        load()
    })
}

fn warn(refusal: Refusal) {
    let remedy = &refusal.remedy;
    terminal::complain(&format!("warning: {refusal}; {remedy}"));
}
