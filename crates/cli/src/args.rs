//! The command line.

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::{
    ab, audit, baseline, capacity, check, compare, completions, doctor, export, flame, gateway,
    history, import, install, internal, isolation, kubernetes, list, load, new, report, run,
    schema, serve, soak, spec, upstream,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// The commands that `gatebench --help` lists, in groups.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Measure",
        &["run", "load", "capacity", "soak", "isolation", "flame"],
    ),
    ("Compare", &["ab", "compare", "history", "baseline", "spec"]),
    ("Inspect", &["report", "serve", "export", "audit", "list"]),
    (
        "Author",
        &[
            "import",
            "new",
            "check",
            "schema",
            "install",
            "doctor",
            "kubernetes",
            "completions",
        ],
    ),
    ("Parts", &["upstream", "gateway"]),
];

/// A laboratory for API gateways: starts a gateway, verifies its policies and measures its cost
#[derive(Debug, Parser)]
#[command(version = crate::VERSION, long_version = crate::LONG_VERSION, styles = STYLES,
          max_term_width = 100, help_template = help_template(), after_help = exit_codes())]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// All commands, including the hidden ones.
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
    Serve(serve::Serve),
    Compare(compare::Compare),
    History(history::History),
    Baseline(baseline::Baseline),
    List(list::List),
    Import(import::Import),
    Install(install::Install),
    Check(check::Check),
    New(new::New),
    Export(export::Export),
    Audit(audit::Audit),
    Doctor(doctor::Doctor),
    Kubernetes(kubernetes::Kubernetes),
    Schema(schema::PrintSchema),
    Upstream(upstream::Upstream),
    Gateway(gateway::Gateway),
    Completions(completions::Completions),
    #[command(hide = true)]
    Manual(completions::Manual),
    #[command(hide = true)]
    Splice(internal::Splice),
    #[command(hide = true)]
    Supervise(internal::Supervise),
    #[command(hide = true)]
    RemoteEnd(internal::RemoteEnd),
}

impl Command {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let success = |()| Exit::Fine;
        let exit = match self {
            Self::Run(command) => command.run(),
            Self::Load(command) => command.run(),
            Self::Ab(command) => command.run(),
            Self::Capacity(command) => command.run(),
            Self::Soak(command) => command.run(),
            Self::Isolation(command) => command.run(),
            Self::Flame(command) => command.run(),
            Self::Spec(command) => command.run(),
            Self::Report(command) => command.run().map(success),
            Self::Serve(command) => command.run().map(success),
            Self::Compare(command) => command.run(),
            Self::History(command) => command.run().map(success),
            Self::Baseline(command) => command.run().map(success),
            Self::List(command) => command.run().map(success),
            Self::Import(command) => command.run().map(success),
            Self::Install(command) => command.run(),
            Self::Check(command) => command.run(),
            Self::New(command) => command.run().map(success),
            Self::Export(command) => command.run().map(success),
            Self::Audit(command) => command.run(),
            Self::Doctor(command) => command.run(),
            Self::Kubernetes(command) => command.run(),
            Self::Schema(command) => command.run().map(success),
            Self::Upstream(command) => command.run().map(success),
            Self::Gateway(command) => command.run().map(success),
            Self::Completions(command) => command.run(&Cli::command()).map(success),
            Self::Manual(command) => command.run(&Cli::command()).map(success),
            Self::Splice(command) => command.run().map(success),
            Self::RemoteEnd(command) => command.run().map(success),
            Self::Supervise(command) => return Ok(command.run()),
        };
        exit.map(Into::into)
    }
}

/// Returns a template for `gatebench --help` with the commands under headings. clap itself cannot
/// group commands.
fn help_template() -> String {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let commands = Command::augment_subcommands(clap::Command::new("gatebench"));
    let shown = commands.get_subcommands().filter(|it| !it.is_hide_set());
    let widest = shown.map(|it| it.get_name().len()).max().unwrap_or(0);
    let line = |name: &str| {
        let about = commands
            .find_subcommand(name)
            .and_then(clap::Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let about = terminal::column(&about, terminal::WIDTH, widest + 4);
        format!("  {literal}{name:<widest$}{literal:#}  {about}\n")
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines: String = names.iter().map(|name| line(name)).collect();
        format!("{header}{title}:{header:#}\n{lines}\n")
    };
    let groups: String = GROUPS.iter().map(group).collect();
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n\
         {groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    )
}

fn exit_codes() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:<4}{}\n", exit.code(), exit.meaning()));
    format!(
        "Run `gatebench COMMAND --help` for the options and examples of a command.\n\n\
         Exit codes:\n{}",
        lines.concat().trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_of_all_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_is_in_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let grouped = GROUPS.iter().flat_map(|(_, names)| *names);
        let mut grouped: Vec<&str> = grouped.copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }

    #[test]
    fn the_help_describes_each_command_in_its_group() {
        let help = Cli::command().render_help().to_string();
        for (title, names) in GROUPS {
            let (_, group) = help.split_once(&format!("\n{title}:\n")).expect(title);
            let lines: Vec<&str> = group.lines().take(names.len()).collect();
            for (name, line) in names.iter().zip(lines) {
                let about = line.trim_start().strip_prefix(name).expect(line);
                assert!(about.trim().len() > 10, "{line}");
            }
        }
    }
}
