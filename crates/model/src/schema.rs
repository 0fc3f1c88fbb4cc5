//! The published JSON Schemas, generated from the types, so that editors and the parser agree.

use std::fmt;
use std::str::FromStr;

use crate::{
    GatewayFolder, GatewayInput, LoadProfile, Plan, Published, Scenario, Specification, Suite,
};

/// The kinds of files that users write or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A scenario file.
    Scenario,
    /// A load profile file.
    Load,
    /// A suite file.
    Suite,
    /// A specification file.
    Specification,
    /// A file of a published document.
    Published,
    /// The `gateway.yaml` of a gateway folder.
    Gateway,
    /// The input of the templates of a gateway folder.
    GatewayInput,
    /// The plan of a run, as `--dry-run` and the manifest show it.
    Plan,
}

impl FileKind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::Scenario,
        Self::Load,
        Self::Suite,
        Self::Specification,
        Self::Published,
        Self::Gateway,
        Self::GatewayInput,
        Self::Plan,
    ];

    /// The name on the command line, as in `gatebench schema scenario`.
    pub const fn as_str(self) -> &'static str {
        self.names().0
    }

    /// The name in a sentence.
    pub const fn title(self) -> &'static str {
        self.names().1
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Scenario => ("scenario", "scenario"),
            Self::Load => ("load", "load profile"),
            Self::Suite => ("suite", "suite"),
            Self::Specification => ("specification", "specification"),
            Self::Published => ("published", "published document"),
            Self::Gateway => ("gateway", "gateway folder"),
            Self::GatewayInput => ("gateway-input", "input of a gateway's templates"),
            Self::Plan => ("plan", "plan"),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no [`FileKind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no schema '{word}': the schemas are {}",
    FileKind::ALL.map(FileKind::as_str).join(", ")
)]
pub struct UnknownKind {
    /// The word as the user wrote it.
    pub word: String,
}

impl FromStr for FileKind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| UnknownKind { word: word.into() })
    }
}

/// The JSON Schema (draft 2020-12) of a kind of file.
pub fn schema(kind: FileKind) -> serde_json::Value {
    let with_title = match kind {
        FileKind::Scenario => gatebench_config::schema::<Scenario>,
        FileKind::Load => gatebench_config::schema::<LoadProfile>,
        FileKind::Suite => gatebench_config::schema::<Suite>,
        FileKind::Specification => gatebench_config::schema::<Specification>,
        FileKind::Published => gatebench_config::schema::<Published>,
        FileKind::Gateway => gatebench_config::schema::<GatewayFolder>,
        FileKind::GatewayInput => gatebench_config::schema::<GatewayInput>,
        FileKind::Plan => gatebench_config::schema::<Plan>,
    };
    with_title(kind.title())
}

#[cfg(test)]
mod tests;
