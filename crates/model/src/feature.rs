//! The features of a gateway, as its folder states them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The support of a feature by a gateway, and its means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// By a feature or a directive of the gateway.
    Native,
    /// By a script in a language that the vendor ships.
    Script,
    /// The gateway has it, and this folder does not use it.
    Unused,
    /// The gateway does not have it.
    Unsupported,
}

/// A statement about a feature: one word, or a map of that word to an explanation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Feature {
    Word(Support),
    /// A word with an explanation, and what is missing.
    Explained(ExplainedFeature),
}

/// A statement with its explanation.
// serde cannot combine `deny_unknown_fields` with `flatten`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExplainedFeature {
    #[serde(flatten)]
    pub statement: Statement,
    /// Parts of the policy that it lacks. A scenario that requires one of them is *not supported*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// A part of the gateway that the feature needs and that is installed apart from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Extra>,
}

/// The names of [`Support`], each with a text for readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// The feature or directive of the gateway.
    Native(String),
    /// The language or the hook of the script.
    Script(String),
    /// The feature that the folder does not use.
    Unused(String),
    /// The reason why the gateway lacks it.
    Unsupported(String),
}

/// A part of a gateway that is installed apart from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    /// The path that exists when it is installed, absolute, as in `{{ prefix }}/lib/module.so`, or
    /// in the data folder of gatebench. If the gateway is an image, an absolute path in the image.
    pub path: String,
    /// A command that fails if the extra is present but unusable, and prints the reason as its last
    /// line. It runs in the gateway's environment; `{{ binary }}` is the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<String>,
    /// Its installation: a command, or an instruction such as `follow https://...`.
    pub install: String,
}

impl Feature {
    /// The name of the statement.
    pub fn support(&self) -> Support {
        match self {
            Self::Word(support) => *support,
            Self::Explained(explained) => explained.statement.word(),
        }
    }

    /// The explanation, if there is one.
    pub fn explanation(&self) -> Option<&str> {
        match self {
            Self::Word(_) => None,
            // Folders of contract 1 have no texts.
            Self::Explained(explained) => {
                Some(explained.statement.text()).filter(|text| !text.is_empty())
            }
        }
    }

    /// The parts that it lacks.
    pub fn without(&self) -> &[String] {
        match self {
            Self::Word(_) => &[],
            Self::Explained(explained) => &explained.without,
        }
    }

    /// The part of the gateway that it needs besides the program.
    pub fn needs(&self) -> Option<&Extra> {
        match self {
            Self::Word(_) => None,
            Self::Explained(explained) => explained.needs.as_ref(),
        }
    }
}

impl Statement {
    fn word(&self) -> Support {
        match self {
            Self::Native(_) => Support::Native,
            Self::Script(_) => Support::Script,
            Self::Unused(_) => Support::Unused,
            Self::Unsupported(_) => Support::Unsupported,
        }
    }

    fn text(&self) -> &str {
        let (Self::Native(text)
        | Self::Script(text)
        | Self::Unused(text)
        | Self::Unsupported(text)) = self;
        text
    }
}
