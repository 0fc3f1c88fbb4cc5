//! The command line of a supervisor, written and parsed in one place so that both agree.

use std::ffi::OsString;
use std::time::Duration;

use rustix::process::Signal;

use crate::container::ContainerSpec;
use crate::system::limit::Limit;

/// The supervisor's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    /// The cores of the command [default: all].
    pub cores: Vec<usize>,
    /// The limit of open descriptors, unless the hard limit is lower.
    pub nofile: Option<u64>,
    /// The limits of the command.
    pub limits: Vec<Limit>,
    /// The container of the command; none if it runs directly on this machine.
    pub container: Option<ContainerSpec>,
    /// The signal that makes the command stop.
    pub stop_signal: Signal,
    /// The time after which the command is killed if it has not stopped.
    pub stop_timeout: Duration,
    /// The command and its arguments.
    pub command: Vec<OsString>,
}

/// The signals that a `gateway.yaml` may name.
const SIGNALS: [(&str, Signal); 8] = [
    ("TERM", Signal::TERM),
    ("QUIT", Signal::QUIT),
    ("INT", Signal::INT),
    ("HUP", Signal::HUP),
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
    ("WINCH", Signal::WINCH),
    ("KILL", Signal::KILL),
];

/// Returns the signal with a name, written without `SIG`.
pub(crate) fn signal_from_name(name: &str) -> Option<Signal> {
    let found = SIGNALS.iter().find(|(known, _)| *known == name);
    found.map(|(_, signal)| *signal)
}

pub(crate) fn signal_name(signal: Signal) -> &'static str {
    let found = SIGNALS.iter().find(|(_, known)| *known == signal);
    found.map_or("TERM", |(name, _)| name)
}

impl Orders {
    /// Returns the arguments in the form that [`Orders::parse`] reads.
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        if !self.cores.is_empty() {
            let cores: Vec<String> = self.cores.iter().map(usize::to_string).collect();
            args.extend(["--cores".into(), cores.join(",").into()]);
        }
        if let Some(nofile) = self.nofile {
            args.extend(["--nofile".into(), nofile.to_string().into()]);
        }
        for limit in &self.limits {
            let limit = serde_json::to_string(limit).unwrap_or_default();
            args.extend(["--limit".into(), limit.into()]);
        }
        if let Some(container) = &self.container {
            let container = serde_json::to_string(container).unwrap_or_default();
            args.extend(["--container".into(), container.into()]);
        }
        let timeout_ms = self.stop_timeout.as_millis().to_string();
        args.extend(["--stop-signal".into(), signal_name(self.stop_signal).into()]);
        args.extend(["--stop-timeout-ms".into(), timeout_ms.into(), "--".into()]);
        args.extend(self.command.iter().cloned());
        args
    }

    /// Reads the supervisor's command line.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut orders = Self {
            cores: Vec::new(),
            nofile: None,
            limits: Vec::new(),
            container: None,
            stop_signal: Signal::TERM,
            stop_timeout: Duration::from_secs(3),
            command: Vec::new(),
        };
        let mut args = args.into_iter();
        while let Some(option) = args.next() {
            if option == "--" {
                orders.command = args.collect();
                break;
            }
            let value = args.next().and_then(|value| value.into_string().ok());
            let value = value.ok_or_else(|| format!("{} needs a value", option.display()))?;
            orders.set(&option.to_string_lossy(), &value)?;
        }
        if orders.command.is_empty() {
            Err("no command after --".into())
        } else {
            Ok(orders)
        }
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("{option} cannot be '{value}'");
        match option {
            "--cores" => {
                let cores: Result<_, _> = value.split(',').map(str::parse).collect();
                self.cores = cores.map_err(|_| wrong())?;
            }
            "--nofile" => self.nofile = Some(value.parse().map_err(|_| wrong())?),
            "--limit" => self
                .limits
                .push(serde_json::from_str(value).map_err(|_| wrong())?),
            "--container" => {
                self.container = Some(serde_json::from_str(value).map_err(|_| wrong())?);
            }
            "--stop-signal" => self.stop_signal = signal_from_name(value).ok_or_else(wrong)?,
            "--stop-timeout-ms" => {
                self.stop_timeout = Duration::from_millis(value.parse().map_err(|_| wrong())?);
            }
            _ => return Err(format!("unknown option {option}")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::limit::Amount;

    #[test]
    fn orders_are_the_same_after_the_command_line() {
        let limit =
            r#"{"amount": {"cpu_millis": 500}, "unified": true, "home": "/a b", "own": "/c"}"#;
        let limit: Limit = serde_json::from_str(limit).unwrap();
        assert_eq!(limit.amount, Amount::CpuMillis(500));
        let orders = Orders {
            cores: vec![1, 3],
            nofile: Some(4096),
            limits: vec![limit.clone(), limit],
            container: None,
            stop_signal: Signal::QUIT,
            stop_timeout: Duration::from_millis(250),
            command: vec!["nginx".into(), "--".into(), "-c x".into()],
        };
        assert_eq!(Orders::parse(orders.to_args()), Ok(orders));
    }

    #[test]
    fn a_wrong_command_line_is_refused() {
        let parse = |words: &[&str]| Orders::parse(words.iter().map(OsString::from));
        let cases: [(&[&str], &str); 3] = [
            (&["--cores", "x", "--", "true"], "--cores cannot be 'x'"),
            (&["--nofile", "1"], "no command after --"),
            (&["--what", "1", "--", "true"], "unknown option --what"),
        ];
        for (words, message) in cases {
            assert_eq!(parse(words), Err(message.into()));
        }
    }
}
