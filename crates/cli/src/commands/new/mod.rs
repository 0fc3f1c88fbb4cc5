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

/// Where the part of the folder begins that an image takes the place of, and where it ends.
const WITHOUT_IMAGE: &str = "# Optional: the container image";
const INSTALL: &str = "\n# How to install the program";

const EXAMPLES: &str = "\
Examples:
  gatebench new gateway mine && gatebench check gateway ./mine
  gatebench new gateway mine --container docker.io/me/mygw:2.1";

/// Create a gateway folder with comments, to fill in
#[derive(Debug, Args)]
pub struct New {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Gateway(NewGateway),
}

/// Create a gateway folder with comments, to fill in
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct NewGateway {
    /// The name of the gateway and its folder: lower-case letters, digits and hyphens
    name: String,
    /// Run the gateway from this container image of docker or podman
    #[arg(long, value_name = "IMAGE:TAG", value_parser = image)]
    container: Option<String>,
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
        let spec = match &self.container {
            None => SPEC.to_owned(),
            Some(image) => in_image(SPEC, image),
        };
        let spec = spec.replace("NAME", name);
        // The same rules that read it later: a name may be wrong.
        gatebench_config::parse::<gatebench_model::GatewayFolder>("gateway.yaml", &spec).map_err(
            |_| {
                Failure::words(
                    name,
                    "this is not a valid name for a gateway",
                    "write lower-case letters, digits and hyphens, for example my-gateway",
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
            "{name}/gateway.yaml    how to find, start and stop the gateway, and its policies\n\
             {name}/{template}    a template of its configuration\n\n\
             Fill in both files, then run `gatebench check gateway ./{name}` to test them."
        ))?;
        Ok(Exit::Fine)
    }
}

/// The same folder for a gateway that is in an image: what is commented out for others is filled in.
fn in_image(spec: &str, image: &str) -> String {
    let (before, rest) = spec.split_once(WITHOUT_IMAGE).unwrap_or((spec, ""));
    let after = rest.split_once(INSTALL).map_or("", |(_, after)| after);
    format!(
        "{before}\
         # The image, which gatebench does not pull, and the program in it that `binary` refers to; the entrypoint\n\
         # of the image does not run. The container shares the network of this machine and has {{{{ work }}}} at the\n\
         # same path. It is used if no program of `binary.names` is on PATH.\n\
         container:\n  image: {image}\n  program: /usr/bin/NAME\n{INSTALL}{after}"
    )
    .replace("other: \"put NAME on PATH\"", &format!("other: \"podman pull {image}\""))
}

/// Refuses what would not be an image's name in a line of YAML.
fn image(word: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    let name = word.rsplit('/').next().unwrap_or_default();
    if word.chars().all(plain) && name.contains(':') && !name.starts_with(':') {
        Ok(word.to_owned())
    } else {
        Err("write an image with its tag, for example docker.io/me/mygw:2.1".into())
    }
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    let (what, remedy) = if error.kind() == io::ErrorKind::AlreadyExists {
        (
            "already exists".to_owned(),
            "choose another name, or remove it",
        )
    } else {
        (
            format!("cannot be created: {error}"),
            "change to a directory that you can write to",
        )
    };
    Failure::words(&path.display().to_string(), what, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_filled_in_and_the_folder_stays_one() {
        let spec = in_image(SPEC, "localhost/mygw:2").replace("NAME", "mine");
        let folder =
            gatebench_config::parse::<gatebench_model::GatewayFolder>("gateway.yaml", &spec)
                .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false, 100)));
        let container = folder.container.unwrap_or_else(|| panic!("{spec}"));
        assert_eq!(container.image, "localhost/mygw:2");
        assert_eq!(
            folder.install.other.as_deref(),
            Some("podman pull localhost/mygw:2")
        );
        assert!(spec.contains("{{ work }} at the"), "{spec}");
        assert!(!spec.contains("# container:"), "{spec}");
    }

    #[test]
    fn an_image_has_a_tag() {
        for good in ["mygw:2", "localhost:5000/mygw:2.1"] {
            assert!(image(good).is_ok(), "{good}");
        }
        for bad in ["mygw", "localhost:5000/mygw", ":2", "my gw:2", "x:2\"}"] {
            assert!(image(bad).is_err(), "{bad}");
        }
    }
}
