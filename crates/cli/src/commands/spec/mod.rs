//! `gatebench spec`: benchmarks written as named steps, as in Kong's testing framework.

mod run;

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use gatebench_model::Specification;
use gatebench_runner::{Library, Listed};
use serde_json::json;

use crate::commands::values::Overlay;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench spec list
  gatebench spec run single-route
  gatebench spec run single-route --gateway nginx@1.22 --gateway nginx@/opt/nginx-1.26
  gatebench spec run --tags single_route --gateway kong
  gatebench spec run mine.yaml --git v1.0 --git main --gateway ./gateway --build 'make'
  gatebench schema specification > specification.schema.json

A specification is a benchmark written as named steps: setup, start_upstream, start_gateway,
start_load, wait_result, combine_results, save_error_log, teardown. gatebench runs it for each
given version and reports the results next to each other.";

/// Run benchmarks that are written as named steps, for one or more versions of a gateway
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Spec {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Run(Box<run::RunSpecifications>),
    List(ListSpecifications),
}

impl Spec {
    pub fn run(self) -> Result<Exit, Failure> {
        match self.action {
            Action::Run(command) => command.run(),
            Action::List(command) => command.run(),
        }
    }
}

/// List the known specifications
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench spec list\n  gatebench spec list --tags balancer --json"
)]
struct ListSpecifications {
    /// List only specifications with one of these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
    tags: Vec<String>,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    overlay: Overlay,
}

impl ListSpecifications {
    fn run(self) -> Result<Exit, Failure> {
        let all = chosen(&[], &self.tags, &self.overlay.scenarios())?;
        if self.json {
            let entries = all.iter().map(|it| {
                json!({
                    "name": it.document.specification,
                    "title": it.document.title,
                    "tags": it.document.tags,
                    "path": it.source.to_string(),
                })
            });
            terminal::say_json(&entries.collect())?;
            return Ok(Exit::Fine);
        }
        let width = terminal::widest(all.iter().map(|it| &*it.document.specification));
        for Listed { document: it, .. } in &all {
            terminal::say(&format!("{:<width$}  {}", it.specification, it.title))?;
            terminal::say(&format!("{:<width$}  tags: {}", "", it.tags.join(", ")))?;
        }
        Ok(Exit::Fine)
    }
}

/// Returns the named specifications, or all known ones if none is named. If tags are given, returns
/// only those that have one of the tags. The mistakes in all files are reported together.
fn chosen(
    words: &[String],
    tags: &[String],
    library: &Library,
) -> Result<Vec<Listed<Specification>>, Failure> {
    let mut all = match words {
        [] => library.specifications()?,
        words => library.specifications_named(words)?,
    };
    if tags.is_empty() {
        return Ok(all);
    }
    let known = all.iter().flat_map(|it| it.document.tags.iter().cloned());
    let known: BTreeSet<String> = known.collect();
    all.retain(|it| it.document.tags.iter().any(|tag| tags.contains(tag)));
    if all.is_empty() {
        return Err(Failure::words(
            format!("--tags {}", tags.join(",")),
            "no specification has one of these tags",
            format!("use one of {}", Vec::from_iter(known).join(", ")),
        ));
    }
    Ok(all)
}
