//! Requests to a container engine: the part of docker's API that docker and podman share.

use std::env;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{getegid, geteuid};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::api::{Api, RESPONSE_TIMEOUT, Response, escaped};
use crate::system::owner::Owner;

/// The label that names the [`Owner`] of a container.
pub(crate) const LABEL: &str = "gatebench.supervisor";

/// A container engine.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) api: Api,
}

/// The ID of an image, a container or a command.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Named {
    /// For an image, this is the digest of its configuration, `sha256:…`.
    #[serde(rename = "Id")]
    pub(crate) id: String,
}

#[derive(Deserialize)]
struct Info {
    #[serde(rename = "SecurityOptions", default)]
    security_options: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Inspected {
    #[serde(rename = "State")]
    state: State,
}

#[derive(Deserialize)]
struct State {
    #[serde(rename = "Pid")]
    pid: u32,
}

#[derive(Deserialize)]
struct Waited {
    #[serde(rename = "StatusCode")]
    status_code: i32,
}

/// The state of a command in a container, as the engine reports it.
#[derive(Deserialize)]
struct Ran {
    #[serde(rename = "Running")]
    running: bool,
    #[serde(rename = "ExitCode")]
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "Id")]
    id: String,
    #[serde(rename = "Labels", default)]
    labels: std::collections::BTreeMap<String, String>,
}

/// Environment variables that name an engine.
const NAMED_BY: [&str; 2] = ["DOCKER_HOST", "CONTAINER_HOST"];

/// Reports whether the environment names an engine.
pub(crate) fn is_named() -> bool {
    NAMED_BY.into_iter().any(|name| env::var_os(name).is_some())
}

impl Engine {
    pub(crate) fn at(socket: impl Into<PathBuf>) -> Self {
        let socket = socket.into();
        Self {
            api: Api { socket },
        }
    }

    /// Finds the engine of this machine: the one that DOCKER_HOST or CONTAINER_HOST names, else the
    /// first existing socket of docker, of the user's podman and of the system's podman.
    pub(crate) fn find() -> Result<Self, String> {
        if let Some(host) = NAMED_BY.into_iter().find_map(env::var_os) {
            let host = host.to_string_lossy();
            return match host.strip_prefix("unix://") {
                Some(path) => Ok(Self::at(path)),
                None => Err(format!(
                    "the container engine at {host} is not at a socket of this machine"
                )),
            };
        }
        let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let users = runtime.map(|folder| folder.join("podman/podman.sock"));
        let known = ["/var/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from);
        let [docker, podman] = known;
        let mut sockets = [Some(docker), users, Some(podman)].into_iter().flatten();
        let socket = sockets.find(|socket| socket.exists());
        socket.map(Self::at).ok_or_else(|| {
            "no container engine has a socket here: neither docker nor podman".to_owned()
        })
    }

    /// Returns the image with a name; none if the engine does not have it.
    pub(crate) fn image(&self, name: &str) -> io::Result<Option<Named>> {
        let path = format!("/images/{}/json", escaped(name));
        let response = self.api.call("GET", &path, None)?;
        if response.status == 404 {
            return Ok(None);
        }
        read(response).map(Some)
    }

    /// Returns the user and group with which a container can write to our folders: those of this
    /// process, or root inside the container if the engine itself runs as our user.
    pub(crate) fn own_user(&self) -> io::Result<String> {
        let info: Info = self.get("/info")?;
        let mut options = info.security_options.into_iter().flatten();
        if options.any(|option| option.contains("rootless")) {
            return Ok("0:0".into());
        }
        Ok(format!("{}:{}", geteuid().as_raw(), getegid().as_raw()))
    }

    /// Creates a container and returns its ID.
    pub(crate) fn create(&self, spec: &Json) -> io::Result<String> {
        let body = spec.to_string();
        let created: Named = read(self.api.call("POST", "/containers/create", Some(&body))?)?;
        Ok(created.id)
    }

    pub(crate) fn start(&self, id: &str) -> io::Result<()> {
        let path = format!("/containers/{id}/start");
        done(self.api.call("POST", &path, None)?)
    }

    /// Returns the process ID of the container's first process on this machine; 0 after its end.
    pub(crate) fn pid(&self, id: &str) -> io::Result<u32> {
        let inspected: Inspected = self.get(&format!("/containers/{id}/json"))?;
        Ok(inspected.state.pid)
    }

    pub(crate) fn signal(&self, id: &str, signal: &str) -> io::Result<()> {
        let path = format!("/containers/{id}/kill?signal={signal}");
        done(self.api.call("POST", &path, None)?)
    }

    /// Reports whether the container, started or not, has a file or folder with this path.
    pub(crate) fn has_file(&self, id: &str, path: &str) -> io::Result<bool> {
        let path = format!("/containers/{id}/archive?path={}", escaped(path));
        let response = self.api.open("HEAD", &path, None, Some(RESPONSE_TIMEOUT))?;
        match response.status() {
            200 => Ok(true),
            404 => Ok(false),
            status => Err(refused(&Response {
                status,
                body: Vec::new(),
            })),
        }
    }

    /// Waits for the end of the container and returns its exit code.
    pub(crate) fn wait(&self, id: &str, timeout: Option<Duration>) -> io::Result<i32> {
        let path = format!("/containers/{id}/wait");
        let mut response = self.api.open("POST", &path, None, timeout)?;
        let status = response.status();
        let mut body = Vec::new();
        io::Read::read_to_end(&mut response, &mut body)?;
        read::<Waited>(Response { status, body }).map(|waited| waited.status_code)
    }

    /// Reads the whole output of the container, in frames.
    pub(crate) fn logs(&self, id: &str) -> io::Result<impl io::Read + Send + 'static> {
        let path = format!("/containers/{id}/logs?follow=true&stdout=true&stderr=true");
        self.frames("GET", &path, None)
    }

    /// Prepares a command in a running container, with the container's environment and working
    /// folder, and returns its ID.
    pub(crate) fn prepare_command(
        &self,
        id: &str,
        command: &[String],
        user: &str,
    ) -> io::Result<String> {
        let body = json!({
            "AttachStdout": true,
            "AttachStderr": true,
            "Cmd": command,
            "User": user,
        });
        let path = format!("/containers/{id}/exec");
        let made: Named = read(self.api.call("POST", &path, Some(&body.to_string()))?)?;
        Ok(made.id)
    }

    /// Starts a prepared command and returns its whole output, in frames.
    pub(crate) fn start_command(&self, number: &str) -> io::Result<impl io::Read + Send + 'static> {
        let path = format!("/exec/{number}/start");
        self.frames("POST", &path, Some(r#"{"Detach": false, "Tty": false}"#))
    }

    /// Returns the exit code of a started command; none while it runs.
    pub(crate) fn command_ended(&self, number: &str) -> io::Result<Option<i32>> {
        let ran: Ran = self.get(&format!("/exec/{number}/json"))?;
        Ok(ran.exit_code.filter(|_| !ran.running))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> io::Result<T> {
        read(self.api.call("GET", path, None)?)
    }

    /// Requests a stream of frames, without a timeout.
    fn frames(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> io::Result<impl io::Read + Send + 'static + use<>> {
        let mut response = self.api.open(method, path, body, None)?;
        let status = response.status();
        if status != 200 {
            let mut body = Vec::new();
            io::Read::read_to_end(&mut response, &mut body)?;
            return Err(refused(&Response { status, body }));
        }
        Ok(response)
    }

    /// Ends and removes a container. It is not an error if the container no longer exists.
    pub(crate) fn remove(&self, id: &str) -> io::Result<()> {
        let path = format!("/containers/{id}?force=true&v=true");
        let response = self.api.call("DELETE", &path, None)?;
        if response.status == 404 {
            return Ok(());
        }
        done(response)
    }

    /// Removes the containers of an owner. Containers whose label names no owner are kept.
    pub(crate) fn remove_where(&self, is_left: impl Fn(&Owner) -> bool) -> io::Result<()> {
        let filters = escaped(&json!({ "label": [LABEL] }).to_string());
        let path = format!("/containers/json?all=true&filters={filters}");
        let listed: Vec<Listed> = self.get(&path)?;
        let owner = |it: &&Listed| Owner::parse(it.labels.get(LABEL)?);
        let mut left = listed
            .iter()
            .filter(|it| owner(it).is_some_and(|owner| is_left(&owner)));
        left.try_for_each(|it| self.remove(&it.id))
    }
}

fn read<T: DeserializeOwned>(response: Response) -> io::Result<T> {
    if !(200..300).contains(&response.status) {
        return Err(refused(&response));
    }
    Ok(serde_json::from_slice(&response.body)?)
}

/// Checks for success; 304 means that the container is already in the requested state.
fn done(response: Response) -> io::Result<()> {
    match response.status {
        200..=299 | 304 => Ok(()),
        _ => Err(refused(&response)),
    }
}

/// Returns the engine's error message.
fn refused(response: &Response) -> io::Error {
    let complaint: Option<Json> = serde_json::from_slice(&response.body).ok();
    let message = complaint
        .as_ref()
        .and_then(|complaint| complaint.get("message")?.as_str());
    let status = response.status;
    io::Error::other(match message {
        Some(message) => format!("the container engine responds with {status}: {message}"),
        None => format!("the container engine responds with {status}"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::thread::{self, JoinHandle};

    use super::*;

    /// Simulates an engine with containers that have these labels, which are also their names. It
    /// ends on request, and returns the containers that it was asked to remove.
    fn engine_with(socket: &Path, labels: &[String]) -> JoinHandle<Vec<String>> {
        let listener = UnixListener::bind(socket).unwrap();
        let listed = labels
            .iter()
            .enumerate()
            .map(|(number, label)| json!({ "Id": number.to_string(), "Labels": { LABEL: label } }));
        let listed = Json::Array(listed.collect()).to_string();
        let labels = labels.to_vec();
        thread::spawn(move || {
            let mut removed = Vec::new();
            loop {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                let mut request = String::new();
                stream.read_line(&mut request).unwrap();
                let mut rest = String::new();
                while rest != "\r\n" {
                    rest.clear();
                    stream.read_line(&mut rest).unwrap();
                }
                let words: Vec<&str> = request.split([' ', '/', '?']).collect();
                let body = match words[0] {
                    "GET" => listed.as_str(),
                    "DELETE" => {
                        let number: usize = words[3].parse().unwrap();
                        removed.push(labels[number].clone());
                        ""
                    }
                    _ => return removed,
                };
                let length = body.len();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                let response = head + body;
                stream.get_mut().write_all(response.as_bytes()).unwrap();
            }
        })
    }

    #[test]
    fn only_containers_whose_supervisor_is_known_to_be_gone_are_removed() {
        let own = Owner::this().unwrap().to_string();
        let space = own.splitn(3, '-').last().unwrap();
        let (namespace, boot) = space.split_once('-').unwrap();
        let gone = format!("4000000-1-{space}");
        let labels = [
            own.clone(),
            // An owner in another PID namespace, and one from before the last boot.
            format!("4000000-1-1{namespace}-{boot}"),
            format!("4000000-1-{namespace}-0{boot}"),
            // A label without the PID namespace, and one of another program.
            "4000000:1".into(),
            String::new(),
            gone.clone(),
        ];
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("socket");
        let serving = engine_with(&socket, &labels);
        Engine::at(&socket).remove_where(Owner::is_gone).unwrap();
        let mut end = UnixStream::connect(&socket).unwrap();
        end.write_all(b"END\r\n\r\n").unwrap();
        assert_eq!(serving.join().unwrap(), [gone]);
    }

    #[test]
    fn a_refusal_has_the_engines_words() {
        let response = Response {
            status: 500,
            body: br#"{"message": "no such runtime"}"#.to_vec(),
        };
        assert_eq!(
            refused(&response).to_string(),
            "the container engine responds with 500: no such runtime"
        );
    }
}
