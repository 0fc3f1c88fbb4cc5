//! The source of the machine's clocks.

use std::fs;
use std::path::Path;

/// The name of the clock source, as a path below `/`.
const SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The hardware from which the kernel currently reads time, such as `tsc`; none if the kernel does
/// not state it. The kernel switches to another source if it finds this one unstable.
pub fn clock_source() -> Option<String> {
    clock_source_below(Path::new("/"))
}

/// Like [`clock_source`], for the machine whose `/sys` is below `root`.
pub fn clock_source_below(root: &Path) -> Option<String> {
    let name = fs::read_to_string(root.join(SOURCE)).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
