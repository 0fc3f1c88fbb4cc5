//! Errors about parts that ended before they were stopped.

use gatebench_model::Culprit;

use crate::error::DriverError;
use crate::system::exit::Exit;

/// This remedy names no command, because the command that resumes a run depends on the run's study.
const RESUME: &str = "resume the run to repeat the trial";

pub(super) fn exit_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("it ended with exit code {code}"),
        Exit::Signal(_) => format!("it was killed by {exit}"),
    }
}

pub(super) fn of_gateway(label: &str, exit: Exit, stderr: &str) -> DriverError {
    let culprit = Culprit::Gateway(label.into());
    let remedy = match exit {
        Exit::Code(0) => {
            "keep the program in the foreground (add an option such as `-D FOREGROUND` or `daemon off;` to `start`); if it already \
             is, read the gateway's logs in the trial's folder"
        }
        Exit::Code(_) => "read the gateway's logs in the trial's folder",
        Exit::Signal(_) => {
            "read the gateway's logs in the trial's folder, and look for the out-of-memory killer in the kernel's log"
        }
    };
    died(culprit, "gateway", exit, stderr, remedy)
}

pub(super) fn of_upstream(exit: Exit, stderr: &str) -> DriverError {
    died(Culprit::Upstream, "upstream", exit, stderr, RESUME)
}

pub(super) fn of_server(name: &str) -> DriverError {
    DriverError::Died {
        culprit: Culprit::Environment,
        message: format!("the {name} server has ended"),
        remedy: format!("read the server's log in the trial's folder, and {RESUME}"),
    }
}

fn died(culprit: Culprit, name: &str, exit: Exit, stderr: &str, remedy: &str) -> DriverError {
    let message = format!("the {name} died: {}\n{stderr}", exit_words(exit));
    DriverError::Died {
        culprit,
        message: message.trim_end().to_owned(),
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use gatebench_model::Blame as _;

    use super::*;

    #[test]
    fn a_death_is_reported_with_its_signal_and_the_end_of_stderr() {
        let died = of_gateway("nginx", Exit::Signal(9), "boom");
        assert_eq!(
            died.to_string(),
            "the gateway died: it was killed by signal KILL\nboom"
        );
        assert!(died.remedy().contains("out-of-memory killer"));
        let ended = of_gateway("nginx", Exit::Code(0), "");
        assert!(ended.remedy().contains("in the foreground"));
        let upstream = of_upstream(Exit::Code(3), "");
        assert_eq!(
            upstream.to_string(),
            "the upstream died: it ended with exit code 3"
        );
        assert_eq!(upstream.remedy(), "resume the run to repeat the trial");
    }
}
