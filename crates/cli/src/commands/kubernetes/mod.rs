//! `gatebench kubernetes`.

mod check;
mod from_testrun;
mod image;

use clap::{Args, Subcommand};
use gatebench_model::Namespace;
use gatebench_testbed::kubernetes;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench kubernetes check bench                    may I measure in this namespace?
  gatebench kubernetes check bench --role | kubectl apply -f -
  gatebench kubernetes image nginx --file nginx.tar   an image of the nginx on this machine
  gatebench kubernetes from-testrun k6/*.yaml         TestRuns of the k6 operator
  gatebench kubernetes clean prod/bench               delete objects that runs left behind
  gatebench run proxy-json --gateway kong --kubernetes bench --agents 2 --dry-run

gatebench uses your `kubectl`, with its contexts and credentials. At the end of a run, its pods are
deleted, even if gatebench is killed, unless this machine fails or cannot reach the cluster at that
time.";

/// Prepare a Kubernetes namespace for runs, and clean it up
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Kubernetes {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(check::Check),
    Clean(Clean),
    Image(image::Image),
    FromTestrun(from_testrun::FromTestrun),
}

/// Delete the objects of all runs in a namespace, including runs in progress
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  gatebench kubernetes clean bench

At its end, a run deletes its objects, even if gatebench is killed. Objects are left behind if the
machine that gatebench runs on fails, or if this machine cannot reach the cluster at that time. This
command deletes such objects. It also ends runs that are in progress in the namespace. It keeps the
Role, and TestRuns with their ConfigMaps.")]
struct Clean {
    /// The namespace of the runs
    #[arg(value_name = "[CONTEXT/]NAMESPACE")]
    namespace: Namespace,
}

impl Kubernetes {
    pub fn run(self) -> Result<Exit, Failure> {
        match self.verb {
            Verb::Check(check) => check.run(),
            Verb::Clean(clean) => clean.run(),
            Verb::Image(image) => image.run(),
            Verb::FromTestrun(testruns) => testruns.run(),
        }
    }
}

impl Clean {
    fn run(self) -> Result<Exit, Failure> {
        let (deleted, unlisted) = kubernetes::clean(&self.namespace)?;
        let mut lines: Vec<String> = deleted.iter().map(|it| format!("deleted {it}")).collect();
        if deleted.is_empty() {
            lines.push(format!("found nothing to delete in {}", self.namespace));
        }
        for kind in unlisted {
            lines.push(format!(
                "{kind}: you are not allowed to list these objects, so some may be left"
            ));
        }
        terminal::say(&lines.join("\n"))?;
        Ok(Exit::Fine)
    }
}
