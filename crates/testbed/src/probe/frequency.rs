//! Reads the frequencies of cores, if the kernel exposes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

const CPUS: &str = "sys/devices/system/cpu";
const CPUINFO: &str = "proc/cpuinfo";

/// The file with the current frequency in kHz, in a core's folder.
const CURRENT: &str = "cpufreq/scaling_cur_freq";

/// The time between two readings of `/proc/cpuinfo`, whose values the kernel refreshes at most
/// every 10 ms.
const PAUSE: Duration = Duration::from_millis(20);

/// The place where the kernel exposes the frequencies of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrequencySource {
    Cpufreq,
    /// `cpu MHz` in `/proc/cpuinfo`, if it changes or differs between cores.
    Cpuinfo,
    /// The kernel exposes no frequencies, or only constants, as in most virtual machines.
    #[serde(rename = "not visible")]
    NotVisible,
}

impl FrequencySource {
    /// Returns the source on this machine, which is determined once per process.
    pub fn of_this_machine() -> Self {
        static KNOWN: OnceLock<FrequencySource> = OnceLock::new();
        *KNOWN.get_or_init(|| Self::below(Path::new("/"), || thread::sleep(PAUSE)))
    }

    /// Returns the source on the machine whose `/proc` and `/sys` are below `root`. `pause` waits
    /// between two readings of `/proc/cpuinfo`, which are compared because in a virtual machine the
    /// file often shows only constants.
    pub fn below(root: &Path, pause: impl FnOnce()) -> Self {
        let cores = fs::read_dir(root.join(CPUS)).into_iter().flatten();
        let mut folders = cores.flatten().map(|core| core.path());
        if folders.any(|folder| current_khz(&folder).is_some()) {
            return Self::Cpufreq;
        }
        let first = in_cpuinfo(root);
        let constant = first.values().next().copied();
        if first.values().any(|khz| Some(*khz) != constant) {
            return Self::Cpuinfo;
        }
        pause();
        match in_cpuinfo(root) == first {
            true => Self::NotVisible,
            false => Self::Cpuinfo,
        }
    }

    /// Returns the frequencies of these cores in the given order, in kHz; none if `cores` is empty
    /// or if one of the frequencies is not visible.
    pub fn read_khz(self, cores: &[usize]) -> Option<Vec<u64>> {
        self.read_khz_below(Path::new("/"), cores)
    }

    /// Like [`FrequencySource::read_khz`], for the machine whose `/proc` and `/sys` are below
    /// `root`.
    pub fn read_khz_below(self, root: &Path, cores: &[usize]) -> Option<Vec<u64>> {
        if cores.is_empty() {
            return None;
        }
        match self {
            Self::Cpufreq => {
                let khz = |core: &usize| current_khz(&root.join(CPUS).join(format!("cpu{core}")));
                cores.iter().map(khz).collect()
            }
            Self::Cpuinfo => {
                let all = in_cpuinfo(root);
                cores.iter().map(|core| all.get(core).copied()).collect()
            }
            Self::NotVisible => None,
        }
    }
}

fn current_khz(core: &Path) -> Option<u64> {
    let text = fs::read_to_string(core.join(CURRENT)).ok()?;
    let khz: u64 = text.trim().parse().ok()?;
    (khz > 0).then_some(khz)
}

/// Returns the frequency of each core by its number, in kHz.
fn in_cpuinfo(root: &Path) -> BTreeMap<usize, u64> {
    let text = fs::read_to_string(root.join(CPUINFO)).unwrap_or_default();
    let mut core: Option<usize> = None;
    let mut found = BTreeMap::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        match name.trim() {
            "processor" => core = value.trim().parse().ok(),
            "cpu MHz" => {
                let mhz = value.trim().parse::<f64>().ok().filter(|mhz| *mhz > 0.0);
                let khz = mhz.map(|mhz| (mhz * 1_000.0).round() as u64);
                found.extend(core.zip(khz));
            }
            _ => {}
        }
    }
    found
}
