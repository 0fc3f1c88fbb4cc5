//! `gatebench new`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const SPEC: &str = include_str!("gateway.yaml");
const TEMPLATE: &str = include_str!("gateway.conf");

/// Writes starting points: a commented gateway folder
#[derive(Debug, Args)]
pub struct New {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Gateway(NewGateway),
}

/// Writes a commented gateway folder
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gatebench new gateway mine && gatebench check gateway ./mine")]
struct NewGateway {
    /// Its name: lower-case letters, digits and hyphens; the folder is made here
    name: String,
}

impl New {
    /// Writes it.
    pub fn run(self) -> Result<Exit, Failure> {
        let What::Gateway(gateway) = self.what;
        gateway.run()
    }
}

impl NewGateway {
    fn run(self) -> Result<Exit, Failure> {
        let name = &self.name;
        let spec = SPEC.replace("NAME", name);
        // The same rules that read it later: a name may be wrong.
        gatebench_model::parse::<gatebench_model::GatewayFolder>("gateway.yaml", &spec).map_err(
            |_| {
                Failure::words(
                    name,
                    "this is no name of a gateway",
                    "write lower-case letters, digits and hyphens, as in my-gateway",
                )
            },
        )?;
        let folder = PathBuf::from(name);
        let template = format!("{name}.conf");
        fs::create_dir(&folder).map_err(|error| cannot(&folder, &error))?;
        for (file, text) in [
            ("gateway.yaml", spec),
            (&template, TEMPLATE.replace("NAME", name)),
        ] {
            let path = folder.join(file);
            fs::write(&path, text).map_err(|error| cannot(&path, &error))?;
        }
        terminal::say(&format!(
            "{name}/gateway.yaml    how it is found, started and stopped, and the policies it has\n\
             {name}/{template}    a template of its configuration\n\n\
             Fill them in; then `gatebench check gateway ./{name}` starts it and proves what they claim."
        ))?;
        Ok(Exit::Fine)
    }
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    let (what, remedy) = if error.kind() == io::ErrorKind::AlreadyExists {
        (
            "is already there".to_owned(),
            "choose another name, or remove it",
        )
    } else {
        (
            format!("cannot be written: {error}"),
            "go to a folder that you may write to",
        )
    };
    Failure::words(&path.display().to_string(), what, remedy)
}
