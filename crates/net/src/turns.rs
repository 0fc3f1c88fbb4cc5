//! The scheduling of a thread on a core that it shares with its own processes.

#![allow(unsafe_code)]

use std::io;

/// Sets whether the calling thread, when it wakes, takes the core at once from the thread that runs
/// there (the default), or waits for its turn, milliseconds at most (`SCHED_BATCH`, sched(7)).
/// On a core that is free it makes no difference.
///
/// A thread under another policy, such as real time, stays under it.
///
/// # Errors
/// When the kernel refuses; the thread continues as it was.
pub fn preempt_on_wakeup(does: bool) -> io::Result<()> {
    let wanted = match does {
        true => libc::SCHED_OTHER,
        false => libc::SCHED_BATCH,
    };
    // SAFETY: takes and gives numbers only; 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    if policy == -1 {
        return Err(io::Error::last_os_error());
    }
    if policy == wanted || ![libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&policy) {
        return Ok(());
    }
    set_policy(wanted)
}

/// Runs the calling thread only while its core has nothing else to do (`SCHED_IDLE`, sched(7)): any
/// thread that wakes up there takes the core from it at once.
///
/// # Errors
/// When the kernel refuses; the thread continues as it was.
pub fn run_when_idle() -> io::Result<()> {
    set_policy(libc::SCHED_IDLE)
}

/// Puts the calling thread under a policy whose only priority is 0.
fn set_policy(policy: libc::c_int) -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter lives through the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The policy of the calling thread as others see it (proc(5), field 41).
    fn policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        after_name.split_whitespace().nth(38).unwrap().to_owned()
    }

    #[test]
    fn a_thread_waits_for_its_turn_and_takes_it_again() {
        let begun = policy();
        preempt_on_wakeup(false).unwrap();
        assert_eq!(policy(), libc::SCHED_BATCH.to_string());
        preempt_on_wakeup(true).unwrap();
        assert_eq!(policy(), libc::SCHED_OTHER.to_string());
        assert_eq!(begun, libc::SCHED_OTHER.to_string());
    }

    #[test]
    fn a_foreign_scheduling_policy_is_kept() {
        run_when_idle().unwrap();
        preempt_on_wakeup(false).unwrap();
        assert_eq!(policy(), libc::SCHED_IDLE.to_string());
    }
}
