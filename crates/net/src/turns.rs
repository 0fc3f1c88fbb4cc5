//! The scheduling of a thread on a core that it shares with other threads of its own program.

#![allow(unsafe_code)]

use std::io;

/// Sets whether the calling thread, when it wakes up, may preempt the thread that is running on the
/// core (the default). Otherwise, the calling thread waits for a turn, usually for a few
/// milliseconds at most (`SCHED_BATCH`, sched(7)). On a free core, the setting makes no difference.
///
/// A thread under another policy, such as real time, keeps that policy.
///
/// # Errors
/// The kernel refuses; the thread continues unchanged.
pub fn preempt_on_wakeup(does: bool) -> io::Result<()> {
    let wanted = match does {
        true => libc::SCHED_OTHER,
        false => libc::SCHED_BATCH,
    };
    // SAFETY: the call passes and returns only numbers; 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    if policy == -1 {
        return Err(io::Error::last_os_error());
    }
    if policy == wanted || ![libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&policy) {
        return Ok(());
    }
    set_policy(wanted)
}

/// Lets the calling thread run almost only while its core has nothing else to do (`SCHED_IDLE`,
/// sched(7)): any thread under another policy that wakes up there preempts it at once.
///
/// # Errors
/// The kernel refuses; the thread continues unchanged.
pub fn run_when_idle() -> io::Result<()> {
    set_policy(libc::SCHED_IDLE)
}

/// Sets the calling thread's scheduling policy, which must be one that allows only priority 0.
fn set_policy(policy: libc::c_int) -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter outlives the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy of the calling thread as reported by the kernel (proc(5), field 41).
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
