//! `gatebench spec`: specifications, as Kong's testing framework has them.

mod list;
mod run;

use clap::{Args, Subcommand};
use gatebench_lab::{LabError, Library, Listed};
use gatebench_model::Specification;

use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  gatebench spec list
  gatebench spec run single-route
  gatebench spec run single-route --gateway nginx@1.22 --gateway nginx@/opt/nginx-1.26
  gatebench spec run --tags single_route --gateway kong
  gatebench spec run mine.yaml --git v1.0 --git main --gateway ./gateway --build 'make'
  gatebench schema specification > specification.schema.json

A specification is a benchmark as named steps: setup, start_upstream, start_gateway, start_load, wait_result,
combine_results, save_error_log, teardown. It runs for each version that is given, and their results stand side by
side.";

/// Runs specifications: a benchmark as named steps, for one version of a gateway after the other
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Spec {
    /// What to do
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Run(Box<run::RunSpecifications>),
    List(list::ListSpecifications),
}

impl Spec {
    /// Does it.
    pub fn run(self) -> Result<Exit, Failure> {
        match self.action {
            Action::Run(command) => command.run(),
            Action::List(command) => command.run(),
        }
    }
}

/// The specifications of these names or files, or every one that is known, of which those are taken that have one of
/// the tags. The mistakes of all files are told at once.
fn chosen(
    words: &[String],
    tags: &[String],
    library: &Library,
) -> Result<Vec<Listed<Specification>>, Failure> {
    let all = if words.is_empty() {
        library.specifications()?
    } else {
        named(words, library)?
    };
    let known: Vec<String> = all.iter().flat_map(|it| it.document.tags.clone()).collect();
    let has_tag = |it: &Listed<Specification>| {
        tags.is_empty() || it.document.tags.iter().any(|tag| tags.contains(tag))
    };
    let chosen: Vec<_> = all.into_iter().filter(has_tag).collect();
    if chosen.is_empty() {
        let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        return Err(Failure::words(
            &format!("--tags {}", tags.join(",")),
            "no specification has one of these tags",
            format!("take one of {}", known.join(", ")),
        ));
    }
    Ok(chosen)
}

fn named(words: &[String], library: &Library) -> Result<Vec<Listed<Specification>>, Failure> {
    let mut found = Vec::new();
    let mut mistakes = Vec::new();
    for word in words {
        match library.specification(word) {
            Ok(listed) => found.push(listed),
            Err(LabError::Mistakes(more)) => mistakes.extend(more),
            Err(error) => return Err(error.into()),
        }
    }
    if mistakes.is_empty() {
        Ok(found)
    } else {
        Err(LabError::Mistakes(mistakes).into())
    }
}
