//! `gatebench completions SHELL` and `gatebench manual DIR`: files that packages install.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gatebench completions bash > ~/.local/share/bash-completion/completions/gatebench\n  \
    gatebench completions zsh > \"${fpath[1]}/_gatebench\"\n  \
    gatebench completions fish > ~/.config/fish/completions/gatebench.fish")]
pub struct Completions {
    /// Print the completions of this shell
    shell: Shell,
}

impl Completions {
    /// Prints a script that the shell reads.
    pub fn run(self, full: &clap::Command) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut visible(full), "gatebench", &mut script);
        terminal::say_data(String::from_utf8_lossy(&script).trim_end())?;
        Ok(Exit::Fine)
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
    pub fn run(self, full: &clap::Command) -> Result<Exit, Failure> {
        std::fs::create_dir_all(&self.dir)
            .and_then(|()| clap_mangen::generate_to(visible(full), &self.dir))
            .map_err(|error| unwritable(&self.dir, &error))?;
        Ok(Exit::Fine)
    }
}

/// The command line without the internal commands that only gatebench itself starts.
fn visible(full: &clap::Command) -> clap::Command {
    // clap cannot remove a command, so a new root takes over the others.
    let shown = full.get_subcommands().filter(|it| !it.is_hide_set());
    clap::Command::new("gatebench")
        .version(crate::VERSION)
        .about(full.get_about().cloned().unwrap_or_default())
        .subcommands(shown.cloned().collect::<Vec<_>>())
}

fn unwritable(dir: &Path, error: &io::Error) -> Failure {
    Failure::environment(
        format!("cannot write to {}: {error}", dir.display()),
        "name a directory that you may write to",
    )
}
