//! The options for outputs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gatebench_runner::outputs::{Delivery, Refusal, Settings, Target};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// Names of outputs of k6 and gatebench, which `--out` must not treat as directories.
const KINDS: [&str; 9] = [
    "prometheus",
    "influxdb",
    "otlp",
    "jsonl",
    "json",
    "csv",
    "opentelemetry",
    "experimental-opentelemetry",
    "experimental-prometheus-rw",
];

/// Labels that gatebench sets itself, so `--tag` must not set them.
const OWN_LABELS: [&str; 18] = [
    "testid",
    "run",
    "gateway",
    "scenario",
    "phase",
    "block",
    "trial",
    "method",
    "name",
    "url",
    "proto",
    "status",
    "expected_response",
    "error",
    "error_code",
    "check",
    "class",
    "component",
];

/// The options for sending the metrics of each second to servers or files.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Outputs")]
pub struct OutputArgs {
    /// Send the metrics of each second to prometheus=URL, influxdb=URL, otlp=URL or jsonl=FILE
    /// (repeatable); gatebench reads secrets from the environment variables that k6 and
    /// OpenTelemetry define
    #[arg(long = "out", value_name = "KIND=TARGET")]
    outs: Vec<String>,
    /// Fail before anything is measured if an output does not accept data
    #[arg(long, requires = "outs")]
    out_required: bool,
    /// Add this label to all sent metrics (repeatable)
    #[arg(long = "tag", value_name = "NAME=VALUE", requires = "outs", value_parser = tag)]
    series_tags: Vec<(String, String)>,
}

impl OutputArgs {
    /// Returns the outputs. If one of them is standard output, human-readable text moves to
    /// standard error.
    ///
    /// # Errors
    /// Fails if a target or an environment variable is not valid.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let targets = self.outs.iter().filter(|word| word.contains('='));
        let targets: Vec<Target> = targets.map(|word| out(word)).collect::<Result<_, _>>()?;
        if targets.iter().any(Target::is_stdout) {
            terminal::reserve_stdout_for_data();
        }
        Ok(Settings {
            targets,
            required: self.out_required,
            appends: false,
            tags: BTreeMap::from_iter(self.series_tags.iter().cloned()),
        })
    }

    /// Returns the run directory that `--out DIR`, the earlier form of `--dir DIR`, names; `None`
    /// if every `--out` names an output.
    ///
    /// # Errors
    /// Fails if the argument names a kind of output, but has no target.
    pub fn dir(&self) -> Result<Option<PathBuf>, Failure> {
        let mut dirs = self.outs.iter().filter(|word| !word.contains('='));
        let dir = dirs.next();
        match dir {
            Some(word) if KINDS.contains(&word.as_str()) => Err(Failure::words(
                format!("--out {word}"),
                "the output has no target",
                "write prometheus=URL, influxdb=URL, otlp=URL or jsonl=FILE",
            )),
            _ => Ok(dir.map(PathBuf::from)),
        }
    }
}

/// Returns the target that an argument of `--out` names.
///
/// # Errors
/// Fails if the argument or an environment variable is not valid.
pub fn out(word: &str) -> Result<Target, Failure> {
    // The rest of the argument may contain a secret.
    let kind = word.split_once('=').map_or(word, |(kind, _)| kind);
    target(word, format!("--out {kind}"))
}

/// Returns the target that an argument of this option names, with the settings from the
/// environment.
///
/// # Errors
/// Fails if the argument or an environment variable is not valid.
pub fn target(word: &str, option: String) -> Result<Target, Failure> {
    let target = Target::parse(word, &|name| std::env::var(name).ok());
    target.map_err(|error| Failure::words(option, error.to_string(), error.remedy()))
}

pub(crate) fn tag(word: &str) -> Result<(String, String), String> {
    let (name, value) = word
        .split_once('=')
        .ok_or_else(|| format!("'{word}' is not a label: write NAME=VALUE"))?;
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name = name.starts_with(is_first)
        && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
        && !name.starts_with("__");
    if !is_name {
        return Err(
            "a name consists of letters, digits and underscores, and begins with a letter or with \
             a single underscore"
                .into(),
        );
    }
    if OWN_LABELS.contains(&name) {
        return Err(format!(
            "gatebench sets the label '{name}' itself: choose another name"
        ));
    }
    Ok((name.into(), value.into()))
}

pub fn refused(refusal: &Refusal) -> Failure {
    let culprit = format!("output {}", refusal.target);
    Failure::said(Exit::Environment, culprit, &refusal.what, &refusal.remedy)
}

/// Describes how many parts an output delivered and how much CPU time this took; `None` if there
/// was nothing to send.
pub fn delivered(delivery: &Delivery) -> Option<String> {
    let (target, done) = (&delivery.target, delivery.delivered);
    let (all, cpu) = (done + delivery.dropped, delivery.cpu.as_secs_f64());
    (all > 0).then(|| {
        format!("output {target}: {done} of {all} parts delivered, with {cpu:.3} s of CPU time")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_names_that_every_server_accepts() {
        assert_eq!(tag("team=a=b"), Ok(("team".into(), "a=b".into())));
        for wrong in ["team", "1a=b", "a-b=c", "__name__=x", "gateway=x", "=x"] {
            assert!(tag(wrong).is_err(), "{wrong}");
        }
    }

    fn args(outs: &[&str]) -> OutputArgs {
        OutputArgs {
            outs: outs.iter().map(|word| (*word).into()).collect(),
            out_required: false,
            series_tags: Vec::new(),
        }
    }

    #[test]
    fn an_argument_without_a_target_is_the_directory() {
        let both = args(&["jsonl=x", "my-run"]);
        assert_eq!(both.dir().ok(), Some(Some("my-run".into())));
        assert_eq!(both.settings().map(|it| it.targets.len()).ok(), Some(1));
        assert!(args(&["experimental-prometheus-rw"]).dir().is_err());
    }
}
