//! What the exit code says.

use std::process::ExitCode;

use gatebench_model::Culprit;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// As it should.
    Fine,
    /// Something measured or checked is not as it should be.
    CheckFailed,
    /// The words or the files are wrong.
    WrongWords,
    /// The machine is not able.
    Environment,
    /// There is nothing that may be said.
    Inconclusive,
    /// Someone stopped it.
    Interrupted,
}

impl Exit {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 6] = [
        Self::Fine,
        Self::CheckFailed,
        Self::WrongWords,
        Self::Environment,
        Self::Inconclusive,
        Self::Interrupted,
    ];

    /// The number a shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::CheckFailed => 1,
            Self::WrongWords => 2,
            Self::Environment => 3,
            Self::Inconclusive => 4,
            Self::Interrupted => 130,
        }
    }

    /// What it means, for `--help`.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "success",
            Self::CheckFailed => "a verdict is worse, or a check, a parity case or a trial failed",
            Self::WrongWords => "the command line or an input file is invalid",
            Self::Environment => "the environment lacks something that the command needs",
            Self::Inconclusive => "a verdict is inconclusive, or nothing valid was measured",
            Self::Interrupted => "interrupted; finished trials are kept and reported",
        }
    }

    /// What the fault of somebody means for the exit code.
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
