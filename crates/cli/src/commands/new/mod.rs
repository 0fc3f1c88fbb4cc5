//! `gatebench new`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use gatebench_model::GatewayFolder;
use gatebench_testbed::gateway::Catalogue;

use crate::commands::values::launcher;
use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench new gateway mine && gatebench check gateway ./mine
  gatebench new gateway mine --like haproxy
  gatebench new gateway mine --container docker.io/me/mygw:2.1";

/// Create a gateway folder that works as a plain proxy, for you to change step by step
#[derive(Debug, Args)]
pub struct New {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Gateway(NewGateway),
}

/// Create a gateway folder that works as a plain proxy, for you to change step by step
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct NewGateway {
    /// The name of the gateway and its folder: lowercase letters, digits and hyphens
    name: String,
    /// The gateway that the plain proxy uses [default: nginx, or haproxy if only haproxy is
    /// installed]
    #[arg(long, value_enum)]
    like: Option<Like>,
    /// Run the gateway from this container image of docker or podman
    #[arg(long, value_name = "IMAGE:TAG", value_parser = image)]
    container: Option<String>,
}

impl New {
    pub fn run(self) -> Result<(), Failure> {
        let What::Gateway(gateway) = self.what;
        gateway.run()
    }
}

impl NewGateway {
    fn run(self) -> Result<(), Failure> {
        let name = &self.name;
        let like = match self.like {
            Some(like) => like,
            None => installed()?,
        };
        let (spec, template) = like.files();
        let spec = match &self.container {
            None => spec.to_owned(),
            Some(image) => in_image(like, image),
        };
        let spec = spec.replace("NAME", name);
        // The name is the only part of the file that can be invalid.
        gatebench_config::parse::<GatewayFolder>("gateway.yaml", &spec).map_err(|_| {
            let remedy = "write lowercase letters, digits and hyphens, for example my-gateway";
            Failure::words(name, "this is not a valid gateway name", remedy)
        })?;
        let folder = PathBuf::from(name);
        let config = format!("{name}.conf");
        fs::create_dir(&folder).map_err(|error| cannot(&folder, &error))?;
        for (file, text) in [("gateway.yaml", spec), (&config, template.to_owned())] {
            let path = folder.join(file);
            fs::write(&path, text).map_err(|error| cannot(&path, &error))?;
        }
        let like = like.name();
        terminal::say(&format!(
            "{name}/gateway.yaml    how to find, start and stop the gateway, and its features\n\
             {name}/{config}    a template of its configuration\n\n\
             The gateway is a plain proxy with a configuration for {like}. `gatebench check gateway ./{name}` verifies that it works. \
             Change one thing at a time."
        ))
    }
}

/// The program that the plain proxy uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Like {
    Nginx,
    Haproxy,
}

impl Like {
    fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }

    fn files(self) -> (&'static str, &'static str) {
        match self {
            Self::Nginx => (include_str!("nginx.yaml"), include_str!("nginx.conf")),
            Self::Haproxy => (include_str!("haproxy.yaml"), include_str!("haproxy.conf")),
        }
    }
}

fn installed() -> Result<Like, Failure> {
    let launcher = launcher()?;
    let catalogue = Catalogue::default();
    let is_here = |like: &Like| {
        let folder = catalogue.resolve(like.name());
        folder.is_ok_and(|folder| folder.find_binary(&launcher).is_ok())
    };
    let found = Like::value_variants().iter().copied().find(is_here);
    Ok(found.unwrap_or(Like::Nginx))
}

fn in_image(like: Like, image: &str) -> String {
    let container = format!(
        "# gatebench does not pull the image. `{{{{ binary }}}}` is `program`, a path in the image; the image's entrypoint is not run.\n\
         container: {{image: \"{image}\", program: /usr/sbin/NAME}}\nfiles:"
    );
    let own = format!("[{}]", like.name());
    let spec = like.files().0.replacen(&own, "[NAME]", 1);
    spec.replacen("files:", &container, 1)
}

/// Rejects an image without a tag, and characters that would need quoting in YAML.
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
    let path = path.display().to_string();
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Failure::words(
            path,
            "already exists",
            "choose another name, or remove the folder",
        );
    }
    let what = format!("cannot be created: {error}");
    Failure::words(path, what, "change to a directory that you can write to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_short_and_contains_the_image() {
        for like in Like::value_variants() {
            let (plain, template) = like.files();
            let spec = in_image(*like, "localhost/mygw:2").replace("NAME", "mine");
            for text in [plain, spec.as_str()] {
                let lines = text.lines().count() + template.lines().count();
                assert!(lines <= 60, "{like:?} has {lines} lines:\n{text}");
            }
            let folder = gatebench_config::parse::<GatewayFolder>("gateway.yaml", &spec)
                .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false, 100)));
            let container = folder.container.unwrap_or_else(|| panic!("{spec}"));
            assert_eq!(container.image, "localhost/mygw:2");
        }
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
