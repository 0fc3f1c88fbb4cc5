//! `gatebench schema KIND`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use gatebench_gateway::{Document, GatewayConfig};
use gatebench_model::FileKind;

use crate::failure::Failure;
use crate::terminal;

/// Print the JSON Schema of a kind of file, for editors
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench schema scenario > scenario.schema.json\n  \
                        gatebench schema gateway-input | less"
)]
pub struct PrintSchema {
    /// The kind of file
    #[arg(value_parser = PossibleValuesParser::new(kinds()))]
    kind: String,
}

fn kinds() -> Vec<&'static str> {
    FileKind::ALL
        .map(FileKind::as_str)
        .into_iter()
        .chain([Document::SCHEMA_WORD])
        .collect()
}

impl PrintSchema {
    pub fn run(self) -> Result<(), Failure> {
        let kind = FileKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == self.kind);
        terminal::say_json(&kind.map_or_else(GatewayConfig::json_schema, gatebench_model::schema))
    }
}
