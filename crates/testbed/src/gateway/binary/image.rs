//! Finds a gateway's container image, its digest, and the version of the gateway in it.

use std::io;
use std::path::{Path, PathBuf};

use gatebench_model::gateway::Container;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::extras::{self, FoundExtras};
use super::{FoundBinary, VERSION_TIMEOUT, environment_of, must_fit, no_version, version_in};
use crate::container::{Engine, LABEL, text_of, ulimits};
use crate::error::DriverError;
use crate::gateway::folder::Folder;
use crate::system::owner::Owner;

/// The file descriptor limit of a container in which a program prints its version or an extra is
/// tested.
const NOFILE: u64 = 1_024;

/// An image in the container engine of the machine that the gateway runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundImage {
    /// The image's name as requested, such as `docker.io/library/kong:3.9`.
    pub name: String,
    /// The digest of the image's configuration (`sha256:…`), which identifies the image's contents.
    pub id: String,
    /// The user and group that the gateway runs as in the container.
    pub(crate) user: String,
    /// The Unix socket of the engine that has the image.
    pub(crate) socket: PathBuf,
}

/// Finds the gateway's program in `image` or, if that is none, in the folder's image.
pub(super) fn find(folder: &Folder, image: Option<&str>) -> Result<FoundBinary, DriverError> {
    let spec = &folder.spec;
    let container = spec.container.clone().unwrap_or_else(|| Container {
        image: String::new(),
        program: spec.binary.names.first().cloned().unwrap_or_default(),
        user: None,
    });
    let name = image.unwrap_or(&container.image);
    let fail = |message: String, remedy: &str| DriverError::ContainerEngine {
        gateway: spec.gateway.clone(),
        message,
        remedy: remedy.into(),
    };
    let engine = Engine::find().map_err(|why| fail(why, NO_ENGINE))?;
    let socket = engine.api.socket.clone();
    let failed = |error: io::Error| fail(format!("{}: {error}", socket.display()), NO_ENGINE);
    let Some(id) = engine.image(name).map_err(failed)? else {
        let message = format!("the container engine has no image {name}");
        let pull = format!("docker pull {name}, or podman pull {name}");
        return Err(fail(message, &pull));
    };
    let user = match container.user {
        Some(user) => user,
        None => engine.own_user().map_err(failed)?,
    };
    let command: Vec<String> = std::iter::once(&container.program)
        .chain(&spec.binary.version_args)
        .cloned()
        .collect();
    let inside = Path::new(&container.program);
    let environment = environment_of(inside, &spec.binary).map_err(failed)?;
    let place = Place {
        engine: &engine,
        image: &id,
        user: &user,
        environment: environment
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect(),
    };
    let (_, output) = place.run_once(&command).map_err(failed)?;
    let program = PathBuf::from(format!("{} of {name}", container.program));
    let version = version_in(&output, &spec.binary);
    let version = version.map_err(|message| no_version(folder, &program, message))?;
    let remedy = format!(
        "name an image of a matching version: {}@IMAGE:TAG",
        spec.gateway
    );
    must_fit(folder, &program, &version, remedy)?;
    let extras = place.extras(folder, inside).map_err(failed)?;
    Ok(FoundBinary {
        version,
        path: container.program.into(),
        host: None,
        extras,
        sha256: id.trim_start_matches("sha256:").to_owned(),
        image: Some(FoundImage {
            name: name.to_owned(),
            id,
            user,
            socket,
        }),
    })
}

const NO_ENGINE: &str = "start Docker, or run `podman system service --time=0`, and make sure that you may use \
                         its socket (DOCKER_HOST=unix:///PATH names another socket)";

/// The settings of the containers in which a program is examined before a run.
struct Place<'a> {
    engine: &'a Engine,
    /// The image's ID, the digest of its configuration.
    image: &'a str,
    user: &'a str,
    /// The variables of `binary.environment` in `gateway.yaml`, as `NAME=VALUE`.
    environment: Vec<String>,
}

impl Place<'_> {
    /// Returns the extras in the image. The image's files are checked through a container that is
    /// never started.
    fn extras(&self, folder: &Folder, program: &Path) -> io::Result<FoundExtras> {
        if folder.spec.extras().is_empty() {
            return Ok(FoundExtras::new());
        }
        let id = self.create(&["/".into()])?;
        // Relative paths are below gatebench's data folder, which an image does not have.
        let has =
            |path: &str| Ok(Path::new(path).is_absolute() && self.engine.has_file(&id, path)?);
        let run = |command: &[String]| self.run_once(command);
        let found = extras::found(folder, self.image, program, has, run);
        self.engine.remove(&id)?;
        found
    }

    /// Creates a container without a network, and returns its ID.
    fn create(&self, command: &[String]) -> io::Result<String> {
        self.engine.create(&json!({
            "Image": self.image,
            "Entrypoint": command,
            "User": self.user,
            "Env": self.environment,
            "Labels": { LABEL: Owner::this()?.to_string() },
            "HostConfig": { "NetworkMode": "none", "Ulimits": ulimits(NOFILE) },
        }))
    }

    /// Runs a command in a new container. Returns whether the command succeeded, and its output.
    fn run_once(&self, command: &[String]) -> io::Result<(bool, String)> {
        let id = self.create(command)?;
        let result = self
            .engine
            .start(&id)
            .and_then(|()| self.engine.wait(&id, Some(VERSION_TIMEOUT)))
            .and_then(|status| Ok((status == 0, text_of(self.engine.logs(&id)?)?)));
        self.engine.remove(&id)?;
        result
    }
}
