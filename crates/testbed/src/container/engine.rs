//! Requests to a container engine, limited to the part of Docker's API that Podman also implements.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{getegid, geteuid};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::api::{Api, Response, escaped};
use crate::system::owner::Owner;

/// The label that names the [`Owner`] of a container.
pub(crate) const LABEL: &str = "gatebench.supervisor";

#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) api: Api,
}

/// The state of a command in a container.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Ran {
    running: bool,
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

const NAMED_BY: [&str; 2] = ["DOCKER_HOST", "CONTAINER_HOST"];

/// Reports whether the environment names an engine, or this machine has one.
pub(crate) fn has_engine() -> bool {
    let is_named = |name: &str| env::var_os(name).is_some();
    NAMED_BY.into_iter().any(is_named) || Engine::find().is_ok()
}

impl Engine {
    pub(crate) fn at(socket: impl Into<PathBuf>) -> Self {
        let socket = socket.into();
        Self {
            api: Api { socket },
        }
    }

    /// Finds the engine on this machine: the one that DOCKER_HOST or CONTAINER_HOST names, or else
    /// the first of Docker, the user's Podman and the system's Podman whose socket exists.
    pub(crate) fn find() -> Result<Self, String> {
        if let Some(host) = NAMED_BY.into_iter().find_map(env::var_os) {
            let host = host.to_string_lossy();
            return match host.strip_prefix("unix://") {
                Some(path) => Ok(Self::at(path)),
                None => Err(format!(
                    "the address of the container engine, {host}, does not begin with unix://"
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
            "there is no container engine socket on this machine, neither Docker's nor Podman's"
                .to_owned()
        })
    }

    /// Returns the ID (`sha256:…`) of the image with this name; `None` if the engine does not have
    /// the image.
    pub(crate) fn image(&self, name: &str) -> io::Result<Option<String>> {
        let path = format!("/images/{}/json", escaped(name));
        let response = self.api.call("GET", &path, None)?;
        if response.status == 404 {
            return Ok(None);
        }
        part(response, "/Id").map(Some)
    }

    /// Returns the `UID:GID` that lets a container write to this process's folders. It is `0:0` for
    /// a rootless engine, which maps root in the container to the user who runs the engine;
    /// otherwise, it consists of the effective IDs of this process.
    pub(crate) fn own_user(&self) -> io::Result<String> {
        let info = self.api.call("GET", "/info", None)?;
        let options: Option<Vec<String>> = part(info, "/SecurityOptions")?;
        let mut options = options.into_iter().flatten();
        if options.any(|option| option.contains("rootless")) {
            return Ok("0:0".into());
        }
        Ok(format!("{}:{}", geteuid().as_raw(), getegid().as_raw()))
    }

    /// Returns the ID of the new container.
    pub(crate) fn create(&self, spec: &Json) -> io::Result<String> {
        self.created("/containers/create", spec)
    }

    fn created(&self, path: &str, spec: &Json) -> io::Result<String> {
        let response = self.api.call("POST", path, Some(&spec.to_string()))?;
        part(response, "/Id")
    }

    pub(crate) fn start(&self, id: &str) -> io::Result<()> {
        let path = format!("/containers/{id}/start");
        done(self.api.call("POST", &path, None)?)
    }

    /// Returns the process ID, on this machine, of the container's first process; 0 after it has
    /// ended.
    pub(crate) fn pid(&self, id: &str) -> io::Result<u32> {
        let path = format!("/containers/{id}/json");
        part(self.api.call("GET", &path, None)?, "/State/Pid")
    }

    pub(crate) fn signal(&self, id: &str, signal: &str) -> io::Result<()> {
        let path = format!("/containers/{id}/kill?signal={signal}");
        done(self.api.call("POST", &path, None)?)
    }

    /// Reports whether the container, started or not, has a file or folder with this path.
    pub(crate) fn has_file(&self, id: &str, path: &str) -> io::Result<bool> {
        let path = format!("/containers/{id}/archive?path={}", escaped(path));
        let response = self.api.call("HEAD", &path, None)?;
        match response.status {
            200 => Ok(true),
            404 => Ok(false),
            _ => Err(refused(&response)),
        }
    }

    pub(crate) fn wait(&self, id: &str, timeout: Option<Duration>) -> io::Result<i32> {
        let path = format!("/containers/{id}/wait");
        let response = Response::read(self.api.open("POST", &path, None, timeout)?)?;
        part(response, "/StatusCode")
    }

    /// Returns a stream of the container's whole output, in frames.
    pub(crate) fn logs(&self, id: &str) -> io::Result<impl io::Read + Send + 'static> {
        let path = format!("/containers/{id}/logs?follow=true&stdout=true&stderr=true");
        self.frames("GET", &path, None)
    }

    /// Prepares a command for a running container, with the container's environment and working
    /// folder, and returns the command's ID.
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
        self.created(&format!("/containers/{id}/exec"), &body)
    }

    /// Starts a prepared command and returns a stream of its whole output, in frames.
    pub(crate) fn start_command(&self, id: &str) -> io::Result<impl io::Read + Send + 'static> {
        let path = format!("/exec/{id}/start");
        self.frames("POST", &path, Some(r#"{"Detach": false, "Tty": false}"#))
    }

    /// Returns the exit code of a started command; `None` while it runs.
    pub(crate) fn command_ended(&self, id: &str) -> io::Result<Option<i32>> {
        let ran: Ran = self.get(&format!("/exec/{id}/json"))?;
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
        let response = self.api.open(method, path, body, None)?;
        if response.status() != 200 {
            return Err(refused(&Response::read(response)?));
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

    /// Removes the containers whose owner meets a condition. Containers whose label names no owner
    /// are kept.
    pub(crate) fn remove_where(&self, is_left: impl Fn(&Owner) -> bool) -> io::Result<()> {
        let filters = escaped(&json!({ "label": [LABEL] }).to_string());
        let path = format!("/containers/json?all=true&filters={filters}");
        for Listed { id, labels } in self.get::<Vec<_>>(&path)? {
            let owner = labels.get(LABEL).and_then(|label| Owner::parse(label));
            if owner.is_some_and(|owner| is_left(&owner)) {
                self.remove(&id)?;
            }
        }
        Ok(())
    }
}

/// Returns the value at a JSON pointer in a response.
fn part<T: DeserializeOwned>(response: Response, pointer: &str) -> io::Result<T> {
    let body: Json = read(response)?;
    let part = body.pointer(pointer).unwrap_or(&Json::Null);
    Ok(T::deserialize(part)?)
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

fn refused(response: &Response) -> io::Error {
    let body: Json = serde_json::from_slice(&response.body).unwrap_or_default();
    let message = body["message"].as_str().map(|it| format!(": {it}"));
    io::Error::other(format!(
        "the container engine responded with {}{}",
        response.status,
        message.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::thread::{self, JoinHandle};

    use super::*;

    /// Simulates an engine with a container for each of these labels. The simulation ends at the
    /// first request that is neither GET nor DELETE; its thread then returns the labels of the
    /// removed containers.
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
        let gone = format!("4000000-1-{space}");
        let labels = [
            own.clone(),
            // An owner in another PID namespace.
            format!("4000000-1-1{space}"),
            // Labels that name no owner.
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
    fn a_refusal_contains_the_message_of_the_engine() {
        let response = Response {
            status: 500,
            body: br#"{"message": "no such runtime"}"#.to_vec(),
        };
        assert_eq!(
            refused(&response).to_string(),
            "the container engine responded with 500: no such runtime"
        );
    }
}
