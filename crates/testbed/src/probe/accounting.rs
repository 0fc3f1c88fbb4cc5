//! The kernel's accounting of CPU time: who is charged for softirq and for stolen time.
//!
//! Most of loopback TCP is received in softirq. A kernel with `CONFIG_IRQ_TIME_ACCOUNTING` takes
//! that time off the process that it interrupted; one without charges it to that process.

mod ping_pong;

use std::fs;
use std::io::Read;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

pub use ping_pong::{PingPong, Round};

use super::machine::MachineSample;

/// A kernel's configuration is some 200 KiB.
const CONFIG_BYTES_MAX: u64 = 8 << 20;

/// Switches the accounting off that the kernel was built with.
const NO_IRQ_TIME: &str = "tsc=noirqtime";

/// An option of the kernel's build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// The kernel has it.
    On,
    /// The kernel does not have it.
    Off,
    /// The configuration cannot be read.
    #[default]
    Unknown,
}

/// The process that is charged for softirq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SoftirqPayer {
    /// The process that it interrupts.
    Processes,
    /// No process: only `/proc/stat` has it.
    Nobody,
    /// Neither the configuration nor a test says so.
    #[default]
    Unknown,
}

/// The accounting of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounting {
    /// `CONFIG_IRQ_TIME_ACCOUNTING`.
    pub irq_time: Setting,
    /// `CONFIG_PARAVIRT_TIME_ACCOUNTING`: stolen time is not CPU time of the process it was taken
    /// from.
    pub paravirt_time: Setting,
    /// The payer of softirq, by the configuration or else by a test.
    pub softirq: SoftirqPayer,
}

impl Accounting {
    /// The accounting of this machine, which is tested where the configuration cannot be read: that
    /// takes a second, once.
    pub fn of_this_machine() -> Self {
        static KNOWN: OnceLock<Accounting> = OnceLock::new();
        *KNOWN.get_or_init(|| {
            let mut known = Self::configured();
            if known.softirq == SoftirqPayer::Unknown {
                known.softirq = PingPong::play().map_or(known.softirq, |played| played.judge());
            }
            known
        })
    }

    /// The accounting that the kernel was built with, from `/proc/config.gz` or
    /// `/boot/config-RELEASE`.
    pub fn configured() -> Self {
        let boot_options = fs::read_to_string("/proc/cmdline").unwrap_or_default();
        Self::of(&configuration().unwrap_or_default(), &boot_options)
    }

    fn of(configuration: &str, boot_options: &str) -> Self {
        let irq_time = setting(configuration, "CONFIG_IRQ_TIME_ACCOUNTING");
        let is_off = boot_options.split_whitespace().any(|it| it == NO_IRQ_TIME);
        Self {
            irq_time,
            paravirt_time: setting(configuration, "CONFIG_PARAVIRT_TIME_ACCOUNTING"),
            softirq: match irq_time {
                _ if is_off => SoftirqPayer::Processes,
                Setting::On => SoftirqPayer::Nobody,
                Setting::Off => SoftirqPayer::Processes,
                Setting::Unknown => SoftirqPayer::Unknown,
            },
        }
    }
}

/// CPU time that processes other than ours took on these cores between two samples. `ours_ns` is
/// what our own components took on them meanwhile. If no process pays for softirq and interrupts,
/// they are not foreign either. Below a tick per core the result means nothing.
pub fn foreign_cpu_ns(
    cores: &[usize],
    before: &MachineSample,
    after: &MachineSample,
    ours_ns: u64,
    payer: SoftirqPayer,
) -> u64 {
    let charged_ns = |sample: &MachineSample| {
        let unpaid_ns = match payer {
            SoftirqPayer::Nobody => sample.softirq_ns(cores) + sample.irq_ns(cores),
            SoftirqPayer::Processes | SoftirqPayer::Unknown => 0,
        };
        sample.busy_ns(cores).saturating_sub(unpaid_ns)
    };
    charged_ns(after)
        .saturating_sub(charged_ns(before))
        .saturating_sub(ours_ns)
}

fn configuration() -> Option<String> {
    let packed = fs::File::open("/proc/config.gz").ok();
    let unpacked = packed.and_then(|file| text(GzDecoder::new(file)));
    unpacked.or_else(|| {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
        text(fs::File::open(format!("/boot/config-{}", release.trim())).ok()?)
    })
}

fn text(from: impl Read) -> Option<String> {
    let mut text = String::new();
    from.take(CONFIG_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// An option that a whole configuration does not name cannot be switched on for its architecture.
fn setting(configuration: &str, option: &str) -> Setting {
    let is_whole = configuration
        .lines()
        .any(|line| line.starts_with("CONFIG_"));
    let is_on = |line: &str| line.strip_prefix(option) == Some("=y");
    match configuration.lines().any(is_on) {
        true => Setting::On,
        false if is_whole => Setting::Off,
        false => Setting::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::machine::CoreTimes;

    #[test]
    fn the_configuration_says_who_pays() {
        let on = "CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n\
                  CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n";
        let off = "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
        let found = Accounting::of(on, "quiet");
        assert_eq!(
            (found.irq_time, found.softirq),
            (Setting::On, SoftirqPayer::Nobody)
        );
        assert_eq!(found.paravirt_time, Setting::On);
        let found = Accounting::of(on, "quiet tsc=noirqtime");
        assert_eq!(
            (found.irq_time, found.softirq),
            (Setting::On, SoftirqPayer::Processes)
        );
        let found = Accounting::of(off, "");
        assert_eq!(
            (found.irq_time, found.softirq),
            (Setting::Off, SoftirqPayer::Processes)
        );
        assert_eq!(found.paravirt_time, Setting::Off);
        assert_eq!(Accounting::of("", ""), Accounting::default());
        let words = serde_json::to_string(&found).unwrap_or_default();
        assert!(words.contains(r#""softirq":"processes""#), "{words}");
    }

    #[test]
    fn foreign_time_is_what_is_left_on_the_cores() {
        let at = |busy: [u64; 2]| MachineSample {
            cores: busy
                .iter()
                .enumerate()
                .map(|(core, &busy_ns)| CoreTimes {
                    core,
                    busy_ns,
                    irq_ns: busy_ns / 50,
                    softirq_ns: busy_ns / 5,
                    steal_ns: 0,
                })
                .collect(),
            ..MachineSample::default()
        };
        let (before, after) = (at([100, 100]), at([250, 900]));
        let foreign = |cores: &[usize], ours_ns, payer| {
            foreign_cpu_ns(cores, &before, &after, ours_ns, payer)
        };
        for payer in [SoftirqPayer::Processes, SoftirqPayer::Unknown] {
            assert_eq!(foreign(&[0], 50, payer), 100);
            assert_eq!(foreign(&[0, 1], 950, payer), 0);
            assert_eq!(foreign(&[0], 500, payer), 0);
        }
        // Of 150 ns, 33 were interrupts and softirq, which none of the 50 ns has.
        assert_eq!(foreign(&[0], 50, SoftirqPayer::Nobody), 67);
        assert_eq!(foreign(&[0], 117, SoftirqPayer::Nobody), 0);
    }
}
