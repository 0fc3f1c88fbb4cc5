//! What a reader needs to check and to repeat the run: parity, configurations, the machine.

use std::collections::BTreeMap;

use serde::Serialize;

/// Proof that the policies of a scenario act in a variant.
#[derive(Clone, Debug, Serialize)]
pub struct ParityFindings {
    /// Scenario.
    pub scenario: String,
    /// Variant.
    pub variant: String,
    /// Whether every case passed in every trial, before and after the load. None where it was never
    /// tried.
    pub holds: Option<bool>,
    /// Trials in which it was tried.
    pub trials: u32,
    /// The cases.
    pub cases: Vec<ParityCaseFindings>,
    /// Routes that should answer.
    pub routes_expected: u32,
    /// The fewest that did in any trial.
    pub routes_answering: u32,
}

/// A parity case over all trials of a variant.
#[derive(Clone, Debug, Serialize)]
pub struct ParityCaseFindings {
    /// What it proves.
    pub name: String,
    /// Times it passed.
    pub passed: u32,
    /// Times it was tried.
    pub tried: u32,
    /// The first failure, side by side; none where all passed.
    pub failure: Option<ParityMismatch>,
}

/// What was sent, what came, and what should have come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParityMismatch {
    /// Number of the trial.
    pub trial: u32,
    /// Whether it was before the load or after it.
    pub after_load: bool,
    /// The request.
    pub sent: String,
    /// The answer.
    pub received: String,
    /// What was expected.
    pub expected: String,
}

/// What a gateway was given.
#[derive(Clone, Debug, Serialize)]
pub struct Configuration {
    /// Scenario.
    pub scenario: String,
    /// Variant.
    pub variant: String,
    /// The trial whose files are shown; ports differ between trials, the rest does not.
    pub trial: u32,
    /// Version of the gateway.
    pub version: String,
    /// Workers asked for.
    pub workers: u32,
    /// Commands that were run, each quoted for a shell, in order.
    pub commands: Vec<String>,
    /// Rendered files by path.
    pub files: BTreeMap<String, ConfigurationFile>,
}

/// A rendered file.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigurationFile {
    /// SHA-256 in lower-case hex.
    pub sha256: String,
    /// Its text; none where the file is no longer in the run directory.
    pub text: Option<String>,
}

/// A fact about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What, as a path: `cpu.model`.
    pub name: String,
    /// The value.
    pub value: String,
}
