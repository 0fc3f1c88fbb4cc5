//! The words a user types.

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

use crate::commands::{
    ab, audit, baseline, capacity, check, compare, doctor, export, flame, gateway, history,
    install, isolation, list, load, new, remote_end, report, run, schema, soak, spec, splice,
    supervise, upstream,
};
use crate::exit::Exit;
use crate::failure::Failure;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// A laboratory for API gateways: it starts a gateway with a policy, proves that the policy works,
/// measures what the gateway adds, and says what it found.
#[derive(Debug, Parser)]
#[command(version, styles = STYLES, max_term_width = 100, after_help = exit_codes())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Run>),
    Load(Box<load::Load>),
    Ab(Box<ab::Ab>),
    Capacity(Box<capacity::Capacity>),
    Soak(Box<soak::Soak>),
    Isolation(Box<isolation::Isolation>),
    Flame(Box<flame::Flame>),
    Spec(spec::Spec),
    Report(report::Report),
    Compare(compare::Compare),
    History(history::History),
    Baseline(baseline::Baseline),
    List(list::List),
    Install(install::Install),
    Check(check::Check),
    New(new::New),
    Export(export::Export),
    Audit(audit::Audit),
    Doctor(doctor::Doctor),
    Schema(schema::PrintSchema),
    Upstream(upstream::Upstream),
    Gateway(gateway::Gateway),
    #[command(hide = true)]
    Splice(splice::Splice),
    #[command(hide = true)]
    Supervise(supervise::Supervise),
    #[command(hide = true)]
    RemoteEnd(remote_end::RemoteEnd),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Failure> {
        let exit = match self {
            Self::Run(command) => command.run(),
            Self::Load(command) => command.run(),
            Self::Ab(command) => command.run(),
            Self::Capacity(command) => command.run(),
            Self::Soak(command) => command.run(),
            Self::Isolation(command) => command.run(),
            Self::Flame(command) => command.run(),
            Self::Spec(command) => command.run(),
            Self::Report(command) => command.run(),
            Self::Compare(command) => command.run(),
            Self::History(command) => command.run(),
            Self::Baseline(command) => command.run(),
            Self::List(command) => command.run(),
            Self::Install(command) => command.run(),
            Self::Check(command) => command.run(),
            Self::New(command) => command.run(),
            Self::Export(command) => command.run(),
            Self::Audit(command) => command.run(),
            Self::Doctor(command) => command.run(),
            Self::Schema(command) => command.run(),
            Self::Upstream(command) => command.run(),
            Self::Gateway(command) => command.run(),
            Self::Splice(command) => command.run(),
            Self::RemoteEnd(command) => command.run(),
            Self::Supervise(command) => return Ok(command.run()),
        };
        exit.map(Into::into)
    }
}

fn exit_codes() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:<4}{}\n", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_fit_together() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
