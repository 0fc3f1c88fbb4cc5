//! The page of a run in the browser, served by a separate process.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use clap::Args;
use gatebench_runner::Interrupt;

use crate::commands::serve::words_next_to;
use crate::terminal;

/// The interval between checks for Ctrl-C with `--serve-keep`.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The options for the page of a run.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ServeArgs {
    /// Show the run in the browser while it runs. gatebench prints the URL before the first
    /// trial, and stops the server soon after the run
    #[arg(long)]
    serve: bool,
    /// Like --serve, but keep the page available until Ctrl-C
    #[arg(long)]
    serve_keep: bool,
}

/// The process that serves the page. It ends at most 60 s after its standard input is closed, so
/// it ends even if the run is killed.
pub struct Companion {
    child: Child,
    url: String,
    keep: bool,
}

impl ServeArgs {
    /// Starts a server for the page of the run in this directory, and prints the page's URL. A
    /// failure causes only a warning, because the run does not need the page.
    pub fn start(self, dir: &Path) -> Option<Companion> {
        if !self.serve && !self.serve_keep {
            return None;
        }
        let started = start(dir, self.serve_keep);
        match &started {
            Some(companion) => terminal::complain(&format!("page: {}", companion.url)),
            None => terminal::complain(
                "warning: cannot serve the page of the run\n  → run `gatebench serve` in \
                 another terminal",
            ),
        }
        started
    }
}

fn start(dir: &Path, keep: bool) -> Option<Companion> {
    let words = words_next_to(dir)?;
    // The server needs the folder of runs before the run creates its own directory there.
    fs::create_dir_all(&words[1]).ok()?;
    let mut command = Command::new(std::env::current_exe().ok()?);
    command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Ctrl-C must reach only the run.
        .process_group(0);
    let mut child = command.spawn().ok()?;
    let mut url = String::new();
    let output = child.stdout.take()?;
    // If the server cannot start, the output ends without a line.
    BufReader::new(output).read_line(&mut url).ok()?;
    let url = url.trim_end().to_owned();
    (!url.is_empty()).then_some(Companion { child, url, keep })
}

impl Companion {
    /// With `--serve-keep`, waits for Ctrl-C or the end of the server, and then ends the server.
    /// Does nothing if the run was interrupted.
    pub fn wait(&mut self, interrupt: &Interrupt) {
        if !self.keep || interrupt.is_raised() {
            return;
        }
        terminal::complain(&format!("page: {} (Ctrl-C ends it)", self.url));
        while !interrupt.is_raised() && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(LOOK_EVERY);
        }
        // The server need not wait until open pages show the report.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
