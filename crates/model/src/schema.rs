//! The published JSON Schemas, generated from the types, so that editors and the parser agree.

use std::fmt;

use gatebench_config::schema as of;
use serde_json::Value;

use crate::{
    GatewayFolder, GatewayInput, LoadProfile, Plan, Published, Scenario, Specification, Suite,
};

/// The kinds of files that users write or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    Scenario,
    Load,
    Suite,
    Specification,
    Published,
    /// The `gateway.yaml` of a gateway folder.
    Gateway,
    /// The input of a gateway folder's templates.
    GatewayInput,
    /// The plan of a run, as the manifest contains it.
    Plan,
}

impl FileKind {
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
        self.facts().0
    }

    /// The name in a sentence.
    pub const fn title(self) -> &'static str {
        self.facts().1
    }

    /// Returns the name on the command line, the name in a sentence, and the function that makes
    /// the schema with a given title.
    const fn facts(self) -> (&'static str, &'static str, fn(&str) -> Value) {
        match self {
            Self::Scenario => ("scenario", "scenario", of::<Scenario>),
            Self::Load => ("load", "load profile", of::<LoadProfile>),
            Self::Suite => ("suite", "suite", of::<Suite>),
            Self::Specification => ("specification", "specification", of::<Specification>),
            Self::Published => ("published", "published document", of::<Published>),
            Self::Gateway => ("gateway", "gateway folder", of::<GatewayFolder>),
            Self::GatewayInput => {
                let title = "input of a gateway's templates";
                ("gateway-input", title, of::<GatewayInput>)
            }
            Self::Plan => ("plan", "plan", of::<Plan>),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the JSON Schema (draft 2020-12) for a kind of file.
pub fn schema(kind: FileKind) -> Value {
    let (_, title, with_title) = kind.facts();
    with_title(title)
}

#[cfg(test)]
mod tests;
