//! Finds a gateway's container image, its digest, and the version of the gateway in it.

use std::io;
use std::path::{Path, PathBuf};

use gatebench_model::gateway::Container;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::extras::{self, FoundExtras};
use super::{FoundBinary, VERSION_TIMEOUT, must_fit, no_version, version_in};
use crate::container::{Engine, LABEL, text_of, ulimits};
use crate::error::DriverError;
use crate::gateway::folder::Folder;
use crate::system::owner::Owner;

/// The file descriptor limit of a program that only prints its version.
const NOFILE: u64 = 1_024;

/// An image in a container engine on this machine.
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

/// Finds a gateway's image and the version of the program in it. `image` replaces the folder's
/// image.
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
    let (_, output) = run_once(&engine, &id, &user, &command).map_err(failed)?;
    let program = PathBuf::from(format!("{} of {name}", container.program));
    let version = version_in(&output, &spec.binary);
    let version = version.map_err(|message| no_version(folder, &program, message))?;
    let remedy = format!(
        "name an image of a matching version: {}@IMAGE:TAG",
        spec.gateway
    );
    must_fit(folder, &program, &version, remedy)?;
    let inside = Path::new(&container.program);
    let extras = extras_in(&engine, &id, &user, folder, inside).map_err(failed)?;
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

const NO_ENGINE: &str = "start docker, or `podman system service --time=0`, and make sure that you may use its \
                         socket (DOCKER_HOST=unix:///PATH names another socket)";

/// Returns the extras in an image. The image's files are checked through a container that is never
/// started.
fn extras_in(
    engine: &Engine,
    image: &str,
    user: &str,
    folder: &Folder,
    program: &Path,
) -> io::Result<FoundExtras> {
    if folder.spec.extras().is_empty() {
        return Ok(FoundExtras::new());
    }
    let id = create(engine, image, user, &["/".into()])?;
    // Relative paths are below gatebench's data folder, which an image does not have.
    let has = |path: &str| Ok(Path::new(path).is_absolute() && engine.has_file(&id, path)?);
    let run = |command: &[String]| run_once(engine, image, user, command);
    let found = extras::found(folder, image, program, has, run);
    engine.remove(&id)?;
    found
}

/// Creates a container without a network, and returns its ID.
fn create(engine: &Engine, image: &str, user: &str, command: &[String]) -> io::Result<String> {
    engine.create(&json!({
        "Image": image,
        "Entrypoint": command,
        "User": user,
        "Labels": { LABEL: Owner::this()?.to_string() },
        "HostConfig": { "NetworkMode": "none", "Ulimits": ulimits(NOFILE) },
    }))
}

/// Runs a command in a new container. Returns whether the command succeeded, and its output.
fn run_once(
    engine: &Engine,
    image: &str,
    user: &str,
    command: &[String],
) -> io::Result<(bool, String)> {
    let id = create(engine, image, user, command)?;
    let result = engine
        .start(&id)
        .and_then(|()| engine.wait(&id, Some(VERSION_TIMEOUT)))
        .and_then(|status| Ok((status == 0, text_of(engine.logs(&id)?)?)));
    engine.remove(&id)?;
    result
}
