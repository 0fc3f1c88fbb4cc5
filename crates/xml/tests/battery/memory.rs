//! Measures the memory of this process.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::fs;

// SAFETY: this matches glibc's declaration; its parameter is a size_t.
unsafe extern "C" {
    fn malloc_trim(pad: usize) -> c_int;
}

fn status_bytes(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() << 10
}

/// The resident memory of the idle process, in bytes.
pub struct Idle(u64);

impl Idle {
    pub fn now() -> Self {
        trim();
        Self(status_bytes("VmRSS:"))
    }

    /// Returns the number of bytes by which the process exceeds its idle size at the peak of
    /// `work`. Nothing else may run in the process at the same time.
    pub fn growth_of(&self, work: impl FnOnce()) -> u64 {
        trim();
        // Reset the kernel's record of the peak.
        fs::write("/proc/self/clear_refs", "5").unwrap();
        work();
        status_bytes("VmHWM:").saturating_sub(self.0)
    }
}

fn trim() {
    // SAFETY: malloc_trim may be called at any time, by any thread.
    unsafe { malloc_trim(0) };
}
