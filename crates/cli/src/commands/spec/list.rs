//! `gatebench spec list`.

use clap::Args;
use gatebench_lab::Listed;
use gatebench_model::Specification;
use serde_json::{Value, json};

use super::chosen;
use crate::commands::words::Overlay;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// Lists the specifications that are known by name
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench spec list\n  gatebench spec list --tags balancer --json"
)]
pub struct ListSpecifications {
    /// Only those with one of these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
    tags: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    overlay: Overlay,
}

impl ListSpecifications {
    /// Lists them.
    pub fn run(self) -> Result<Exit, Failure> {
        let all = chosen(&[], &self.tags, &self.overlay.scenarios())?;
        if self.json {
            let entry = |listed: &Listed<Specification>| -> Value {
                let it = &listed.document;
                json!({
                    "name": it.specification,
                    "title": it.title,
                    "tags": it.tags,
                    "path": listed.source.to_string(),
                })
            };
            let all: Vec<Value> = all.iter().map(entry).collect();
            terminal::say_data(&format!("{:#}", Value::from(all)))?;
            return Ok(Exit::Fine);
        }
        let names = all.iter().map(|it| it.document.specification.len());
        let width = names.max().unwrap_or(0);
        for listed in &all {
            let it = &listed.document;
            terminal::say(&format!("{:<width$}  {}", it.specification, it.title))?;
            terminal::say(&format!("{:<width$}  tags: {}", "", it.tags.join(", ")))?;
        }
        Ok(Exit::Fine)
    }
}
