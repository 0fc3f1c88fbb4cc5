//! `gatebench completions SHELL` and `gatebench manual DIR`: files that packages install.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::terminal;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gatebench completions bash > ~/.local/share/bash-completion/completions/gatebench\n  \
    gatebench completions zsh > \"${fpath[1]}/_gatebench\"\n  \
    gatebench completions fish > ~/.config/fish/completions/gatebench.fish")]
pub struct Completions {
    /// The shell that reads the script
    shell: Shell,
}

impl Completions {
    pub fn run(self, full: &clap::Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut visible(full), "gatebench", &mut script);
        terminal::say_data(String::from_utf8_lossy(&script).trim_end())
    }
}

/// Write the manual pages, one for each command
#[derive(Debug, Args)]
pub struct Manual {
    /// Write the pages to this directory
    dir: PathBuf,
}

impl Manual {
    /// Writes `gatebench.1` and a page for each command.
    pub fn run(self, full: &clap::Command) -> Result<(), Failure> {
        let dir = &self.dir;
        std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(visible(full), dir))
            .map_err(|error| {
                let what = format!("cannot write to {}: {error}", dir.display());
                Failure::environment(what, "name a writable directory")
            })
    }
}

/// Returns the command line without the hidden commands, which are not for users.
fn visible(full: &clap::Command) -> clap::Command {
    // clap cannot remove a command, so the visible ones are copied to a new root.
    let shown = full.get_subcommands().filter(|it| !it.is_hide_set());
    clap::Command::new("gatebench")
        .version(crate::VERSION)
        .about(full.get_about().cloned().unwrap_or_default())
        .subcommands(shown.cloned().collect::<Vec<_>>())
}
