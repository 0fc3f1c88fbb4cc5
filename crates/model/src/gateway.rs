//! The contract of a gateway folder: what its `gateway.yaml` says.

use std::collections::BTreeMap;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::Admin;

pub use crate::input::{
    CONTRACT_VERSION, GatewayInput, InputRoute, Listener, ListenerTls, MetricsPort, Target,
    Upstream, UpstreamTls,
};

/// A `gateway.yaml`. Every string of `check`, `start` and `actions` is a template over the same
/// input as the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayFolder {
    /// The gateway's name: lower case, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub gateway: String,
    /// The version of the input model its templates were written for.
    pub contract: u32,
    /// The name people know.
    pub title: String,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The program.
    pub binary: Binary,
    /// The image that holds it, for who has no such program and a container engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// How it is installed.
    #[serde(default)]
    pub install: Install,
    /// Versions with which the templates were run and their policies proven. Without any the folder
    /// was written from the gateway's documentation, and lists say *not yet run*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven_with: Vec<String>,
    /// Templates of the folder and the files they become in the trial's working folder.
    #[serde(default)]
    pub files: Vec<TemplateFile>,
    /// Files that templates extend, include or import: of this folder, or as `../NAME/FILE` of the
    /// gateway folder beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// A command that checks the configuration and exits non-zero with a reason on stderr.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<String>,
    /// The command that starts it in the foreground.
    #[schemars(length(min = 1))]
    pub start: Vec<String>,
    /// Environment variables of `check`, `start` and the commands of `actions`; their values are templates too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// How it is seen to be ready.
    #[serde(default)]
    pub ready: Ready,
    /// Its warm-up before a measurement, if that takes longer than usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Warmup>,
    /// How it is ended.
    #[serde(default)]
    pub stop: Stop,
    /// The policies it has, and by what means. A policy not named here is *not supported*.
    #[serde(default)]
    pub policies: BTreeMap<String, Support>,
    /// What policies need beyond the gateway, by their words, and `saxon`, for stylesheets that it runs. What is
    /// not there is *not supported*; so is `saxon` where it is not named.
    #[serde(default)]
    pub extras: BTreeMap<String, Extra>,
    /// Parts of these policies that it does not have all the same, and `access_log` where it has none. A
    /// scenario that asks for one of them is *not supported*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// What the gateway could do by means of its own, and this folder does not use: policies, and the words of
    /// what it speaks, changes and tells. A scenario that asks for it is *not supported* all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    /// Why it does not have what a reader would expect of it, by the same words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without: BTreeMap<String, String>,
    /// What it speaks besides plain HTTP/1.1: `tls` and `http2` to clients, `upstream_tls`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transport: Vec<String>,
    /// Where its access log goes: a file of the working folder, or `stdout`. Its lines are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log: Option<String>,
    /// By what means it tries another target when one fails, and leaves that one out for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<Support>,
    /// Its own metrics, for Prometheus, where it has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<OwnMetrics>,
    /// Its admin interface, where it has one through which a single route can be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<Admin>,
    /// What changes a running gateway: `reload` has it read its files again; before `configure` those are
    /// written anew, with other routes, and before `weights` with other weights of the targets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<String, Action>,
    /// What a reader must know to compare it with others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How the program is found and asked for its version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Binary {
    /// Names looked up on PATH, or absolute paths; the first that exists is taken. `gatebench` names
    /// the running program itself.
    #[schemars(length(min = 1))]
    pub names: Vec<String>,
    /// Arguments that make it print its version.
    pub version_args: Vec<String>,
    /// Regular expression over what it prints; group 1 is the version.
    pub version_pattern: String,
    /// The first version that the templates were written for, as in `2.4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_min: Option<String>,
    /// The first later version that they do not fit any more, as in `4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_below: Option<String>,
    /// Files that must be there beside it, by absolute path: modules, libraries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// A container image. The container shares the machine's network and sees the trial's working folder
/// under its own path, so that templates and commands are the same as outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Container {
    /// Its name and tag, as in `docker.io/library/kong:3.9`. It must be there: nothing is pulled.
    pub image: String,
    /// The program inside, for which `binary` stands in templates; the image's own entrypoint is not run.
    pub program: String,
    /// User inside, as a name or numbers. Without, the user who runs gatebench, to whom the working
    /// folder belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// How to install it: what `gatebench install` does, and what users are told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// Debian packages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apt: Vec<String>,
    /// A Python package that carries the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pypi: Option<PypiPackage>,
    /// Java libraries that are the program together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maven: Option<MavenProject>,
    /// Anything else, in words or as a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

/// A program inside a Python package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PypiPackage {
    /// Name of the package.
    pub package: String,
    /// The version that is installed, and no other.
    pub version: String,
    /// SHA-256 of its wheels, one for each platform that it is installed on; no other bytes are installed.
    #[schemars(schema_with = "schema_fragments::sha256s")]
    pub sha256: Vec<String>,
    /// The program, by its path inside the package.
    pub program: String,
}

/// A program that Maven builds from a few files of the folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MavenProject {
    /// Files of the folder that make up the project, `pom.xml` among them; it pins every version.
    #[schemars(length(min = 1))]
    pub files: Vec<String>,
    /// The runnable archive that it builds, by its path inside the project.
    pub jar: String,
    /// Folders of what it builds, by their paths inside the project, whose files `libraries_sha256` pins. If there are
    /// none, no library is pinned by hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// SHA-256 of the lines that sha256sum prints for the files below `libraries`: `HASH  PATH`, with paths inside the
    /// project, sorted by their bytes. Nothing is installed from a build that has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema_fragments::optional_sha256")]
    pub libraries_sha256: Option<String>,
    /// The version that the program says it has.
    pub version: String,
    /// The first version of Java that builds and runs it. It is looked for in `JAVA_HOME`, on PATH and in `/usr/lib/jvm`;
    /// without, it is `java` on PATH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 8, max = 99))]
    pub java: Option<u16>,
}

/// A template and the file it becomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateFile {
    /// File in the folder (minijinja).
    pub template: String,
    /// File in the working folder; with `each` a template too.
    pub to: String,
    /// A policy: the file is made once for each of its settings, which the template has as `settings`, and their
    /// number, from 1, as `number`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
}

/// Readiness: the listener belongs to the started processes and answers `GET /` with any status but
/// 502, 503 and 504; where a path is given, it answers that with 200. It has to stay so for `settle`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// How long it may take.
    #[serde(default = "ready_timeout")]
    pub timeout: HumanDuration,
    /// What is asked of a gateway that listens before it has its routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema_fragments::optional_path")]
    pub path: Option<String>,
    /// The time for which a gateway must respond without a failure before it counts as ready, for
    /// one whose policies begin to act after its port is open [default: 0s].
    #[serde(default, skip_serializing_if = "HumanDuration::is_zero")]
    pub settle: HumanDuration,
}

/// Answers of a gateway that is not ready yet, or whose upstream it cannot reach.
const NOT_READY_STATUSES: [u16; 3] = [502, 503, 504];

impl Ready {
    /// Whether a gateway that answers with this status is ready.
    pub fn accepts(&self, status: u16) -> bool {
        match self.path {
            Some(_) => status == 200,
            None => !NOT_READY_STATUSES.contains(&status),
        }
    }
}

impl Default for Ready {
    fn default() -> Self {
        Self {
            timeout: ready_timeout(),
            path: None,
            settle: HumanDuration::default(),
        }
    }
}

fn ready_timeout() -> HumanDuration {
    HumanDuration::from_millis(10_000)
}

/// The warm-up before each load: until the CPU time per request has settled, at least as long as
/// the load says, and at most this long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warmup {
    /// The longest warm-up [default: 2s]. A runtime that compiles while it runs needs more.
    pub max: HumanDuration,
}

/// A signal, then SIGKILL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The signal that asks it to stop.
    #[serde(default = "term")]
    #[schemars(schema_with = "schema_fragments::signal")]
    pub signal: String,
    /// After this long it is killed.
    #[serde(default = "stop_timeout")]
    pub timeout: HumanDuration,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            signal: term(),
            timeout: stop_timeout(),
        }
    }
}

fn term() -> String {
    "TERM".into()
}

fn stop_timeout() -> HumanDuration {
    HumanDuration::from_millis(3_000)
}

/// By what means a policy is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// A feature or a directive of the gateway.
    Native,
    /// A script in a language that the vendor ships.
    Script,
}

/// A part of a gateway that is installed apart from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    /// What is there when it is installed: a path, absolute or in the data folder of gatebench. Where the gateway is an
    /// image, it is an absolute path in that.
    pub path: String,
    /// A command that fails, and prints the reason as its last line, if the extra is there and
    /// cannot be used. It runs where the gateway is; `{{ binary }}` stands for the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<String>,
    /// Its installation: a command, or an instruction such as `follow https://...`.
    pub install: String,
}

/// Where a gateway tells of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnMetrics {
    /// The path at the port of `metrics` in the input.
    #[schemars(schema_with = "schema_fragments::path")]
    pub path: String,
    /// The metric that counts the requests it answered; it may have any labels.
    pub requests: String,
    /// Labels that a sample must have to be counted, where others count the same requests again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What it says of its own pools: a soak watches them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
}

/// Something that a gateway takes and gives back by itself, without the kernel seeing it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// What it is called in reports.
    #[schemars(schema_with = "schema_fragments::name")]
    pub name: String,
    /// The metric that tells how much of it is in use.
    pub metric: String,
    /// Labels that a sample must have to be counted; samples are added up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What it is counted in.
    pub unit: PoolUnit,
}

impl Pool {
    /// What its series is called: `heap_bytes`.
    pub fn series(&self) -> String {
        let unit = match self.unit {
            PoolUnit::Bytes => "bytes",
            PoolUnit::Count => "count",
        };
        format!("{}_{unit}", self.name)
    }
}

/// The unit of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolUnit {
    /// Bytes.
    Bytes,
    /// Pieces: threads, connections, entries.
    Count,
}

/// Something done to a running gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A signal to the main process.
    Signal(#[schemars(schema_with = "schema_fragments::signal")] String),
    /// A command, run in the working folder; where the gateway is in a container, in that.
    Command(Vec<String>),
    /// Nothing but these files written anew, which it watches; for `configure` and `weights`.
    Watched(#[schemars(length(min = 1))] Vec<String>),
    /// The lines of a file written anew, for a socket at which it takes orders; for `configure` and `weights`.
    Send(Lines),
}

/// Lines, each sent on a connection of its own. One that is answered with anything but blanks has failed, and the
/// answer tells why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The file, as it is called under `to` of `files`.
    pub file: String,
    /// The Unix socket, in the trial's working folder.
    pub to: String,
}
