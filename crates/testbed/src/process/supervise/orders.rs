//! Writes and parses the command line of a supervisor in one place, so that the writer and the
//! parser agree.

use std::ffi::OsString;
use std::time::Duration;

use rustix::process::Signal;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::container::ContainerSpec;
use crate::system::limit::Limit;

/// The supervisor's arguments: a JSON object, `--` and the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Orders {
    /// The cores that the command runs on; all if the list is empty.
    pub cores: Vec<usize>,
    /// The limit on open descriptors, unless the hard limit is lower.
    pub nofile: Option<u64>,
    pub limits: Vec<Limit>,
    /// The container that the command runs in; none if it runs directly on this machine.
    pub container: Option<ContainerSpec>,
    #[serde(serialize_with = "to_name", deserialize_with = "of_name")]
    pub stop_signal: Signal,
    /// The time that the command may take to stop before it is killed.
    pub stop_timeout: Duration,
    #[serde(skip)]
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

/// Returns the signal with this name, which is written without `SIG`.
pub(crate) fn signal_from_name(name: &str) -> Option<Signal> {
    let found = SIGNALS.iter().find(|(known, _)| *known == name);
    found.map(|(_, signal)| *signal)
}

pub(crate) fn signal_name(signal: Signal) -> &'static str {
    let found = SIGNALS.iter().find(|(_, known)| *known == signal);
    found.map_or("TERM", |(name, _)| name)
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            cores: Vec::new(),
            nofile: None,
            limits: Vec::new(),
            container: None,
            stop_signal: Signal::TERM,
            stop_timeout: Duration::from_secs(3),
            command: Vec::new(),
        }
    }
}

impl Orders {
    /// Returns the arguments in the form that [`Orders::parse`] accepts.
    pub(crate) fn to_args(&self) -> serde_json::Result<Vec<OsString>> {
        let orders = OsString::from(serde_json::to_string(self)?);
        Ok([&[orders, "--".into()][..], &self.command].concat())
    }

    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut args = args.into_iter();
        let orders = args.next().unwrap_or_default();
        let orders = serde_json::from_str(&orders.to_string_lossy());
        let orders: Self = orders.map_err(|error| format!("cannot read the orders: {error}"))?;
        let command: Vec<OsString> = args.skip(1).collect();
        match command.is_empty() {
            true => Err("no command after --".into()),
            false => Ok(Self { command, ..orders }),
        }
    }
}

fn to_name<S: Serializer>(signal: &Signal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(signal_name(*signal))
}

fn of_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Signal, D::Error> {
    let name = String::deserialize(deserializer)?;
    let unknown = || D::Error::custom(format!("there is no signal '{name}'"));
    signal_from_name(&name).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::limit::Amount;

    #[test]
    fn orders_survive_the_command_line() {
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
        assert_eq!(Orders::parse(orders.to_args().unwrap()), Ok(orders));
    }

    #[test]
    fn a_wrong_command_line_is_refused() {
        let parse = |words: &[&str]| Orders::parse(words.iter().map(OsString::from));
        let cases: [(&[&str], &str); 5] = [
            (&[], "cannot read the orders: EOF"),
            (
                &[r#"{"cores": "x"}"#, "--", "true"],
                "invalid type: string \"x\"",
            ),
            (&[r#"{"stop_signal": "X"}"#, "--", "true"], "no signal 'X'"),
            (&[r#"{"nofile": 1}"#], "no command after --"),
            (&[r#"{"what": 1}"#, "--", "true"], "unknown field `what`"),
        ];
        for (words, message) in cases {
            let error = parse(words).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
