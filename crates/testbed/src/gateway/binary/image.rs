//! The image of a gateway: whether it is present, its digest, and the version of the gateway in it.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use gatebench_model::gateway::Container;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::extras::{self, FoundExtra};
use super::{FoundBinary, VERSION_TIMEOUT, version, version_in};
use crate::container::{Engine, LABEL, divide, ulimits};
use crate::error::DriverError;
use crate::gateway::folder::Folder;
use crate::system::owner::Owner;

/// The largest output that is kept, enough for an error message.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// The descriptor limit of a program that only prints its version.
const NOFILE: u64 = 1_024;

/// An image that a container engine of this machine has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundImage {
    /// Its name as requested, `docker.io/library/kong:3.9`.
    pub name: String,
    /// Digest of its configuration, which identifies its contents, `sha256:…`.
    pub id: String,
    /// User and group of the gateway in the container.
    pub(crate) user: String,
    /// The socket of the engine.
    pub(crate) socket: PathBuf,
}

/// Finds a gateway's image and the version of the program in it. `image` replaces the folder's
/// image.
pub(super) fn find(folder: &Folder, image: Option<&str>) -> Result<FoundBinary, DriverError> {
    let gateway = &folder.spec.gateway;
    let container = folder.spec.container.clone().unwrap_or_else(|| Container {
        image: String::new(),
        program: folder
            .spec
            .binary
            .names
            .first()
            .cloned()
            .unwrap_or_default(),
        user: None,
    });
    let name = image.unwrap_or(&container.image);
    let fail = |message: String, remedy: &str| DriverError::ContainerEngine {
        gateway: gateway.clone(),
        message,
        remedy: remedy.into(),
    };
    let engine = Engine::find().map_err(|why| fail(why, NO_ENGINE))?;
    let socket = engine.api.socket.clone();
    let asked = |error: io::Error| fail(format!("{}: {error}", socket.display()), NO_ENGINE);
    let Some(found) = engine.image(name).map_err(asked)? else {
        let pull = format!("docker pull {name}, or podman pull {name}");
        return Err(fail(
            format!("the container engine has no image {name}"),
            &pull,
        ));
    };
    let user = match container.user {
        Some(user) => user,
        None => engine.own_user().map_err(asked)?,
    };
    let command: Vec<String> = std::iter::once(&container.program)
        .chain(&folder.spec.binary.version_args)
        .cloned()
        .collect();
    let (_, said) = run_once(&engine, &found.id, &user, &command).map_err(asked)?;
    let program = PathBuf::from(format!("{} of {name}", container.program));
    let version = version_that_fits(folder, program, &said)?;
    let inside = Path::new(&container.program);
    let extras = extras_in(&engine, &found.id, &user, folder, inside).map_err(asked)?;
    Ok(FoundBinary {
        version,
        path: container.program.into(),
        host: None,
        extras,
        sha256: found.id.trim_start_matches("sha256:").to_owned(),
        image: Some(FoundImage {
            name: name.to_owned(),
            id: found.id,
            user,
            socket,
        }),
    })
}

/// Returns the version that a program printed, if the folder was written for it.
fn version_that_fits(folder: &Folder, program: PathBuf, said: &str) -> Result<String, DriverError> {
    let (gateway, wanted) = (folder.spec.gateway.clone(), &folder.spec.binary);
    let version = match version_in(said, wanted) {
        Ok(version) => version,
        Err(message) => {
            return Err(DriverError::NoVersion {
                gateway,
                binary: program,
                message,
            });
        }
    };
    if version::is_between(&version, &wanted.version_min, &wanted.version_below) {
        return Ok(version);
    }
    Err(DriverError::WrongVersion {
        remedy: format!("name an image of a version that fits: {gateway}@IMAGE:TAG"),
        gateway,
        binary: program,
        version,
        wanted: version::range(&wanted.version_min, &wanted.version_below),
    })
}

const NO_ENGINE: &str = "start docker, or `podman system service --time=0`, and make sure that you may use its \
                         socket (DOCKER_HOST=unix:///PATH names another)";

/// Returns the extras in an image. Its files are checked through a container that is never started.
fn extras_in(
    engine: &Engine,
    image: &str,
    user: &str,
    folder: &Folder,
    program: &Path,
) -> io::Result<BTreeMap<String, FoundExtra>> {
    if folder.spec.extras().is_empty() {
        return Ok(BTreeMap::new());
    }
    let id = engine.create(&json!({
        "Image": image,
        "Entrypoint": ["/"],
        "Labels": { LABEL: Owner::this()?.to_string() },
        "HostConfig": { "NetworkMode": "none", "Ulimits": ulimits(NOFILE) },
    }))?;
    let has = |path: &str| engine.has_file(&id, path);
    let run = |command: &[String]| run_once(engine, image, user, command);
    let found = extras::in_image(folder, image, program, has, run);
    engine.remove(&id)?;
    found
}

/// Runs a command in a container, and returns its success and all its output.
fn run_once(
    engine: &Engine,
    image: &str,
    user: &str,
    command: &[String],
) -> io::Result<(bool, String)> {
    let id = engine.create(&json!({
        "Image": image,
        "Entrypoint": command,
        "User": user,
        "Labels": { LABEL: Owner::this()?.to_string() },
        "HostConfig": { "NetworkMode": "none", "Ulimits": ulimits(NOFILE) },
    }))?;
    let said = engine
        .start(&id)
        .and_then(|()| engine.wait(&id, Some(VERSION_TIMEOUT)))
        .and_then(|status| {
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            divide(
                engine.logs(&id)?.take(OUTPUT_BYTES_MAX),
                &mut stdout,
                &mut stderr,
            )?;
            stdout.append(&mut stderr);
            Ok((status == 0, String::from_utf8_lossy(&stdout).into_owned()))
        });
    engine.remove(&id)?;
    said
}
