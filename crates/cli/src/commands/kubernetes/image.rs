//! `gatebench kubernetes image`.

use std::path::PathBuf;

use clap::Args;
use gatebench_testbed::kubernetes::{self, ImageError};
use gatebench_testbed::services::FoundRedis;

use crate::commands::values::{Overlay, launcher};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const REDIS: &str = "redis";

/// The name of the image for the upstream and the load generators.
const PLAIN: &str = "agent";

/// Write a container image of a gateway that is installed on this machine
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gatebench kubernetes image nginx --file nginx.tar
  gatebench kubernetes image agent --file agent.tar      for the upstream and the load generators
  gatebench kubernetes image redis --file redis.tar
  ctr -n k8s.io images import nginx.tar                  on each node of the cluster

`kind load image-archive`, `minikube image load`, `k3s ctr images import`, `podman load` and `docker
load` can also read the file. The command needs no container engine, and neither pulls nor pushes an
image. The image contains the program with its libraries at the same paths as on this machine; the
nodes must have the same processor architecture as this machine.")]
pub struct Image {
    /// A gateway (name, NAME@VERSION or folder), `redis`, or `agent`
    #[arg(value_name = "NAME|DIR")]
    word: String,
    /// Write the image to this file
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// The name and the tag of the image [default: localhost/gatebench-NAME:VERSION]
    #[arg(long, value_name = "NAME:TAG")]
    name: Option<String>,
    #[command(flatten)]
    overlay: Overlay,
}

impl Image {
    pub fn run(self) -> Result<Exit, Failure> {
        let launcher = launcher()?;
        let mut image = kubernetes::Image::new(&launcher).map_err(unreadable)?;
        let (word, version) = match self.word.split_once('@') {
            Some((word, version)) => (word, Some(version)),
            None => (self.word.as_str(), None),
        };
        let default = match word {
            PLAIN => default_name(PLAIN, env!("CARGO_PKG_VERSION")),
            REDIS => {
                let found = FoundRedis::find()?;
                image.add_program(&found.path).map_err(unreadable)?;
                default_name(REDIS, &found.version)
            }
            word => {
                let folder = self.overlay.catalogue().resolve(word).map_err(|error| {
                    let remedy = "name a gateway (`gatebench list gateways`), `redis` or `agent`";
                    Failure::words(word, error.to_string(), remedy)
                })?;
                let found = folder.find_binary_of(version, &launcher)?;
                if found.image.is_some() {
                    return Err(Failure::words(
                        word,
                        format!("{} is not installed on this machine", found.place()),
                        "use the image directly: gatebench run --kubernetes NAMESPACE --image IMAGE",
                    ));
                }
                image.add_gateway(&folder, &found).map_err(unreadable)?;
                default_name(&folder.spec.gateway, &found.version)
            }
        };
        let name = self.name.unwrap_or(default);
        let written = image.write(&name, &self.file).map_err(unreadable)?;
        let (file, mib) = (self.file.display(), written.bytes >> 20);
        terminal::say(&format!(
            "{file}: {name}, {} files, {mib} MiB\n  → on each node: ctr -n k8s.io images import {file}",
            written.files
        ))?;
        Ok(Exit::Fine)
    }
}

fn default_name(name: &str, version: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let tag = version.replace(|c| !is_plain(c), "-");
    format!("localhost/gatebench-{name}:{tag}")
}

fn unreadable(error: ImageError) -> Failure {
    let remedy = "make sure that the file or its folder exists, that you have access to it, and that there is space for the image";
    Failure::environment(error.to_string(), remedy)
}
