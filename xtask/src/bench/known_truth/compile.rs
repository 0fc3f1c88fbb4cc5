//! What disturbs: a compiler that runs again and again.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A crate of the project that does not wait for others for long.
const PACKAGE: &str = "gatebench-stats";

/// How often it is looked whether a compilation has ended.
const EVERY: Duration = Duration::from_millis(200);

/// A compilation after the other, until it is dropped.
pub struct Compile {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Compile {
    /// Begins, with what is compiled in a folder of its own.
    pub fn begin(root: &Path, target: &Path) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let (root, target, stopped) = (root.to_path_buf(), target.to_path_buf(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("compile".into())
            .spawn(move || again_and_again(&root, &target, &stopped))
            .map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Compile {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ended early where it could not compile, which was said.
            let _ = thread.join();
        }
    }
}

fn again_and_again(root: &PathBuf, target: &Path, stop: &AtomicBool) {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    while !stop.load(Ordering::Relaxed) {
        for words in [
            &["build", "--quiet", "-p", PACKAGE][..],
            &["clean", "--quiet"],
        ] {
            let child = Command::new(&cargo)
                .args(words)
                .arg("--target-dir")
                .arg(target)
                .current_dir(root)
                .stdin(Stdio::null())
                .spawn();
            match child {
                Ok(child) => wait(child, stop),
                Err(error) => {
                    eprintln!("error: no compiler runs beside it: {error}");
                    return;
                }
            }
        }
    }
}

fn wait(mut child: Child, stop: &AtomicBool) {
    while matches!(child.try_wait(), Ok(None)) {
        if stop.load(Ordering::Relaxed) {
            let _ = child.kill();
        }
        std::thread::sleep(EVERY);
    }
}
