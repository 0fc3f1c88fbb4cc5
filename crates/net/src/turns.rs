//! Whose turn it is on a core that a thread shares with processes of its own.

#![allow(unsafe_code)]

use std::io;

/// Whether the calling thread, when there is something for it, takes the core at once from one who works
/// there, which is how threads begin; or waits for its turn, milliseconds at most (`SCHED_BATCH`, sched(7)).
/// On a core that is free it makes no difference.
///
/// A thread that somebody has put under another policy, as real time, stays there.
///
/// # Errors
/// When the kernel refuses; the thread goes on as it was.
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
    // Both policies know no other priority than 0.
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter lives through the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, wanted, &priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs the calling thread only while its core has nothing else to do (`SCHED_IDLE`, sched(7)): any
/// thread that wakes up there takes the core from it at once.
///
/// # Errors
/// When the kernel refuses; the thread goes on as it was.
pub fn run_when_idle() -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter lives through the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &priority) } {
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
    fn a_policy_of_somebody_elses_choice_stays() {
        run_when_idle().unwrap();
        preempt_on_wakeup(false).unwrap();
        assert_eq!(policy(), libc::SCHED_IDLE.to_string());
    }
}
