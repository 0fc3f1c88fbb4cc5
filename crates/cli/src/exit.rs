//! Exit codes.

use std::process::ExitCode;

use gatebench_model::Culprit;
use gatebench_studies::common::facts::Decision;

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine = 0,
    CheckFailed = 1,
    WrongWords = 2,
    Environment = 3,
    Inconclusive = 4,
    /// A signal interrupted a run, a load or a check.
    Interrupted = 130,
}

impl Exit {
    pub const ALL: [Self; 6] = [
        Self::Fine,
        Self::CheckFailed,
        Self::WrongWords,
        Self::Environment,
        Self::Inconclusive,
        Self::Interrupted,
    ];

    /// Returns the meaning that `--help` prints.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "success",
            Self::CheckFailed => {
                "a verdict is 'worse', or a check, a threshold, a parity case or a trial has failed"
            }
            Self::WrongWords => "the command line or an input file is invalid",
            Self::Environment => "the environment lacks something that the command needs",
            Self::Inconclusive => "a verdict is inconclusive, or nothing valid was measured",
            Self::Interrupted => "interrupted; finished trials are kept and reported",
        }
    }

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn of_decision(decision: Decision) -> Self {
        match decision {
            Decision::Fine => Self::Fine,
            Decision::Worse => Self::CheckFailed,
            Decision::Open => Self::Inconclusive,
        }
    }

    pub fn of(culprit: &Culprit) -> Self {
        match culprit {
            Culprit::Gateway(_) | Culprit::Upstream | Culprit::Engine => Self::CheckFailed,
            Culprit::File { .. } => Self::WrongWords,
            Culprit::Environment => Self::Environment,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
