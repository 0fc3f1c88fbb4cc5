//! Determines how the kernel accounts for CPU time: which process it charges for softirq and for
//! stolen time.
//!
//! Most loopback TCP traffic is received in softirq. A kernel with `CONFIG_IRQ_TIME_ACCOUNTING`,
//! unless it was booted with `tsc=noirqtime`, does not charge the time in softirq to the
//! interrupted process; other kernels do.

mod ping_pong;

use std::fs;
use std::io::Read;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

pub use ping_pong::{PingPong, Round};

use super::machine::MachineSample;

/// The maximum size of a configuration; a typical one has about 200 KiB.
const CONFIG_BYTES_MAX: u64 = 8 << 20;

/// The boot option that switches off the accounting of interrupt time in a kernel that was built
/// with it.
const NO_IRQ_TIME: &str = "tsc=noirqtime";

/// The setting of a kernel build option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    On,
    Off,
    /// The configuration cannot be read.
    #[default]
    Unknown,
}

/// The process that is charged for softirq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SoftirqPayer {
    /// The process that the softirq interrupts.
    Processes,
    /// No process; only `/proc/stat` counts softirq.
    Nobody,
    /// Neither the configuration nor a test has shown which process is charged.
    #[default]
    Unknown,
}

/// The kernel's rules for charging CPU time to processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounting {
    /// `CONFIG_IRQ_TIME_ACCOUNTING`.
    pub irq_time: Setting,
    /// `CONFIG_PARAVIRT_TIME_ACCOUNTING`: if on, stolen time is not charged to the process that
    /// lost it.
    pub paravirt_time: Setting,
    pub softirq: SoftirqPayer,
}

impl Accounting {
    /// Returns the accounting of this machine. If neither the kernel's configuration nor its boot
    /// options show which process is charged for softirq, a test tries to find out. The test takes
    /// about two seconds and runs at most once per process.
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

    /// Returns the accounting according to the kernel's configuration, in `/proc/config.gz` or
    /// `/boot/config-RELEASE`, and its boot options.
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

/// Returns the CPU time that processes outside the run used on these cores between two samples: the
/// cores' busy time minus `ours_ns`, the CPU time that the components of the run used there. If no
/// process is charged for softirq, the time in softirq and interrupts is subtracted too. A result
/// below one tick per core is meaningless.
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

/// Returns the setting of an option. A readable configuration that does not set the option to `y`
/// means off.
fn setting(configuration: &str, option: &str) -> Setting {
    let mut lines = configuration.lines();
    let is_on = |line: &str| line.strip_prefix(option) == Some("=y");
    match configuration.lines().any(is_on) {
        true => Setting::On,
        false if lines.any(|line| line.starts_with("CONFIG_")) => Setting::Off,
        false => Setting::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_shows_the_payer() {
        use Setting::{Off, On};
        let on = "CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n\
                  CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n";
        let off = "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
        for (configuration, boot_options, irq_time, paravirt_time, softirq) in [
            (on, "quiet", On, On, SoftirqPayer::Nobody),
            (on, "quiet tsc=noirqtime", On, On, SoftirqPayer::Processes),
            (off, "", Off, Off, SoftirqPayer::Processes),
        ] {
            let expected = Accounting {
                irq_time,
                paravirt_time,
                softirq,
            };
            assert_eq!(Accounting::of(configuration, boot_options), expected);
        }
        assert_eq!(Accounting::of("", ""), Accounting::default());
        let words = serde_json::to_string(&Accounting::of(off, "")).unwrap_or_default();
        assert!(words.contains(r#""softirq":"processes""#), "{words}");
    }
}
