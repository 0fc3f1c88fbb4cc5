//! The facts that let a reader check and repeat the run: parity, configurations, the machine.

use std::collections::BTreeMap;

use serde::Serialize;

/// Proof that the policies of a scenario act in a variant.
#[derive(Clone, Debug, Serialize)]
pub struct ParityFindings {
    pub scenario: String,
    pub variant: String,
    /// True if every case passed in every trial, before and after the load. None if parity was
    /// never tested.
    pub holds: Option<bool>,
    /// The number of trials in which it was tested.
    pub trials: u32,
    pub cases: Vec<ParityCaseFindings>,
    /// The number of routes that should respond.
    pub routes_expected: u32,
    /// The smallest number of routes that responded in any trial.
    pub routes_answering: u32,
}

/// A parity case over all trials of a variant.
#[derive(Clone, Debug, Serialize)]
pub struct ParityCaseFindings {
    /// The fact that it proves.
    pub name: String,
    /// The number of times it passed.
    pub passed: u32,
    /// The number of times it was tested.
    pub tried: u32,
    /// The request and responses of the first failure; none if all passed.
    pub failure: Option<ParityMismatch>,
}

/// The request, the response, and the expected response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParityMismatch {
    pub trial: u32,
    /// True if the failure was after the load.
    pub after_load: bool,
    /// The request.
    pub sent: String,
    /// The response.
    pub received: String,
    /// The expected response.
    pub expected: String,
}

/// The configuration of a gateway.
#[derive(Clone, Debug, Serialize)]
pub struct Configuration {
    pub scenario: String,
    pub variant: String,
    /// The trial whose files are shown. Other trials differ only in their ports.
    pub trial: u32,
    /// Version of the gateway.
    pub version: String,
    /// The number of configured workers.
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
    /// Its text; none if the file is no longer in the run directory.
    pub text: Option<String>,
}

/// A fact about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name as a path: `cpu.model`.
    pub name: String,
    pub value: String,
}
