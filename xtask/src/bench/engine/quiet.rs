//! Whether the two cores were the benchmark's own.

use crate::bench::{CLIENT_CORE, SERVER_CORE};

/// Busy time of both cores so far, seconds: user, nice, system and stolen (proc_stat(5)). Interrupts are
/// left out, since no process is charged for them.
pub fn busy_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks_per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    let cores = [CLIENT_CORE, SERVER_CORE].map(|core| busy_ticks(&stat, core));
    let [client, server] = cores;
    Some((client? + server?) as f64 / ticks_per_second as f64)
}

fn busy_ticks(stat: &str, core: &str) -> Option<u64> {
    let name = format!("cpu{core} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal
    Some(fields.get(..3)?.iter().sum::<u64>() + fields.get(7)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_and_idling_are_not_busy() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 4 100 100 100 100 8 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n";
        assert_eq!(busy_ticks(stat, "0"), Some(15));
        assert_eq!(busy_ticks(stat, "2"), None);
    }
}
