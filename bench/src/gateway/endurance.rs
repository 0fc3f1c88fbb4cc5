//! Scenario 5 on a hundred routes that differ, whose definitions are compiled anew every minute: no answer of
//! another route, no restart, and memory that does not leak, all of it judged by `gatebench soak`.

use std::process::{Command, Stdio};

use super::variants::{Variant, link_definitions};
use super::word;
use crate::folder::Folder;
use crate::programs::Programs;
use crate::settings::Settings;

const EVERY_MINUTE: Variant = Variant {
    name: "soap-5-every-minute",
    ttl: "60s",
    routes: 100,
};

/// Growth that does not matter, in an hour: more than a huge page in fifteen minutes.
const GROWTH: &str = "12MiB";

/// Soaks it for so many minutes, and refuses what the soak calls wrong or cannot tell.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let folder = Folder::new()?;
    link_definitions(folder.at())?;
    let scenario = EVERY_MINUTE.write(folder.at())?;
    let minutes = format!("{}m", settings.minutes);
    let status = Command::new(&programs.gatebench)
        .args(["soak", "reference", "--scenario", &word(&scenario)])
        .args([
            "--connections",
            "100",
            "--duration",
            &minutes,
            "--growth",
            GROWTH,
        ])
        .args(["--dir", &word(&folder.path("run"))])
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("gatebench cannot be started: {error}"))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(1) => {
            Err("the reference gateway leaks, ended, or gave wrong answers: see above".into())
        }
        Some(4) => {
            Err("whether memory leaks was not to be told: see above how long it would take".into())
        }
        _ => Err(format!("gatebench soak did not come to an end: {status}")),
    }
}
