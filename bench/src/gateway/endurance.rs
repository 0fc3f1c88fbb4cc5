//! Runs scenario soap-5 on a hundred different routes, whose definitions are recompiled every
//! minute. `gatebench soak` checks that no response belongs to another route, that nothing restarts
//! and that memory does not leak.

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

/// The permitted growth of memory per hour. In fifteen minutes, it allows more than one huge page
/// (2 MiB).
const GROWTH: &str = "12MiB";

/// Runs the soak for `settings.minutes` minutes. It is an error if the soak finds a fault or is
/// inconclusive.
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
            Err("the reference gateway leaks, one of its processes ended, or requests failed; see the output above".into())
        }
        Some(4) => Err(
            "it is uncertain whether the reference gateway leaks; see the output above".into(),
        ),
        _ => Err(format!("gatebench soak did not finish: {status}")),
    }
}
