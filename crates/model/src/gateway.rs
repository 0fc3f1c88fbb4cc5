//! The contract of a gateway folder: the contents of its `gateway.yaml`.

use std::collections::BTreeMap;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::Admin;
use crate::own_metrics::OwnMetrics;

pub use crate::feature::{Extra, Feature, Support};
pub use crate::input::{
    CONTRACT_VERSION, Endpoint, GatewayInput, InputRoute, Listener, ListenerTls, Target, Upstream,
    UpstreamTls,
};

/// The contents of a `gateway.yaml`. Every string of `check`, `start` and the commands in `actions`
/// is a template with the same input as the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayFolder {
    /// The gateway's name: lowercase letters, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub gateway: String,
    /// The version of this file's format and of its templates' input.
    pub contract: u32,
    /// The gateway folder that this folder extends: a folder next to it, or an embedded gateway.
    /// Settings and files that this folder lacks come from the extended folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// The name to display.
    pub title: String,
    /// The address of the gateway's home page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The gateway's program.
    pub binary: Binary,
    /// An image with the program, for users who have a container engine but not the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// How to install the program.
    #[serde(default)]
    pub install: Install,
    /// Versions that the templates and their policies have been tested with, in addition to the
    /// version of the Python package or the Maven project under `install`. An embedded folder
    /// without any such version was written from the gateway's documentation, and lists show *not
    /// yet run*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven_with: Vec<String>,
    /// Templates, and the files in the trial's working folder that are rendered from them.
    #[serde(default)]
    pub files: Vec<TemplateFile>,
    /// Files that templates extend, include or import: files of this folder, or `../NAME/FILE` for
    /// a file of a gateway folder next to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// A command that checks the configuration. If the configuration is invalid, the command must
    /// exit with a non-zero status and print the reason on stdout or stderr.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<String>,
    /// The command that starts the gateway in the foreground.
    #[schemars(length(min = 1))]
    pub start: Vec<String>,
    /// Environment variables for `check`, `start` and the commands of `actions`. Their values are
    /// templates too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The conditions under which the gateway counts as ready.
    #[serde(default)]
    pub ready: Ready,
    /// The warm-up before loads, for a gateway that needs more than the default of 2s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Warmup>,
    /// How to stop the gateway.
    #[serde(default)]
    pub stop: Stop,
    /// The features: policies, transports and everything else that a scenario may need. A feature
    /// that is neither listed here nor has a separate section (`access_log`, `metrics`, `admin`,
    /// `actions`) is *not supported*, except `upstream_keepalive`, which every gateway is assumed
    /// to have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub features: BTreeMap<String, Feature>,
    /// The destination of the access log, whose lines are counted: a file in the working folder, or
    /// `stdout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log: Option<String>,
    /// If the templates start the gateway's own profiler, the prefix of the files in the working
    /// folder to which it writes stacks. This is for code that perf cannot name, such as Lua.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The gateway's own metrics, if it has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<OwnMetrics>,
    /// The admin interface, if it can change a single route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<Admin>,
    /// The actions that change a running gateway. `reload` makes it read its files again. Before
    /// `configure`, the files are rendered again with different routes, and before `weights` with
    /// different weights of the targets. If one of these two is missing, `reload` is used instead,
    /// unless `features` contains a statement about the missing action.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<String, Action>,
    /// The database that holds the gateway's configuration, if some features need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Database>,
    /// The control plane, if the gateway can get its configuration from one. The feature
    /// `control_plane` explains how this works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// Notes for readers who compare the gateway with others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The program, and how to print its version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Binary {
    /// Names that are looked up on PATH, or absolute paths. The first one that exists is used,
    /// unless the user requests a version. `gatebench` means the running program itself.
    #[schemars(length(min = 1))]
    pub names: Vec<String>,
    /// The arguments that make the program print its version.
    pub version_args: Vec<String>,
    /// A regular expression for the output of the program with these arguments; group 1 is the
    /// version.
    pub version_pattern: String,
    /// The first version that the templates work with, such as `2.4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_min: Option<String>,
    /// The first later version that the templates do not work with, such as `4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_below: Option<String>,
    /// Other files that must exist: absolute paths, or templates such as
    /// `{{ prefix }}/lib/module.so`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Environment variables that the program gets whenever it runs, even to print its version.
    /// Their values are templates that can use `binary` and `prefix`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// A container image. The container shares the machine's network, and the trial's working folder
/// has the same path in it, so templates and commands are the same as outside the container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Container {
    /// The image's name and tag, such as `docker.io/library/kong:3.9`. It must already be present;
    /// nothing is pulled.
    pub image: String,
    /// The program in the image, which is `binary` in templates. The image's entrypoint is not run.
    pub program: String,
    /// The user in the container, as a name or numbers [default: the user who runs gatebench and
    /// owns the working folder].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// How to install a program: with `gatebench install`, or by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// Debian packages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apt: Vec<String>,
    /// A Python package that contains the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pypi: Option<PypiPackage>,
    /// Java libraries that make up the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maven: Option<MavenProject>,
    /// The vendor's packages, for the systems that it supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<VendorPackages>,
    /// Any other way to install the program, as text or as a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

/// Packages from the gateway's vendor, installed with the steps that the vendor publishes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VendorPackages {
    /// The version that the steps must install. The installation fails with any other version.
    pub version: String,
    /// The address of the page that publishes the steps.
    pub page: String,
    /// The operating systems that the page names.
    #[schemars(length(min = 1))]
    pub systems: Vec<VendorSystem>,
}

/// An operating system, and the installation steps for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VendorSystem {
    /// The `ID` in `/etc/os-release`, such as debian.
    pub id: String,
    /// Values of `VERSION_ID`, or the parts before one of its dots: 9 matches both 9 and 9.4.
    #[schemars(length(min = 1))]
    pub versions: Vec<String>,
    /// Commands for a root shell. They are templates that can use `version` and `codename`, which
    /// is `VERSION_CODENAME` in `/etc/os-release`.
    #[schemars(length(min = 1))]
    pub commands: Vec<String>,
}

/// A program inside a Python package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PypiPackage {
    /// The name of the package.
    pub package: String,
    /// The version to install. No other version is installed.
    pub version: String,
    /// The SHA-256 of each of the package's wheels, one for each supported platform. Other wheels
    /// are not installed.
    #[schemars(schema_with = "schema_fragments::sha256s")]
    pub sha256: Vec<String>,
    /// The program, by its path inside the package.
    pub program: String,
}

/// A program that Maven builds from files of the folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MavenProject {
    /// Files of the folder that make up the project. One is `pom.xml`, which pins every version;
    /// Maven gets the `version` of this project as the property `gateway.version`.
    #[schemars(length(min = 1))]
    pub files: Vec<String>,
    /// The runnable archive that Maven builds, by its path inside the project.
    pub jar: String,
    /// Folders of the build whose files `libraries_sha256` pins, by their paths inside the project.
    /// If empty, no library is pinned by hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// SHA-256 of the lines that sha256sum prints for the files below `libraries`: `HASH  PATH`,
    /// with paths inside the project, sorted bytewise. A build with another hash is not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema_fragments::optional_sha256")]
    pub libraries_sha256: Option<String>,
    /// The version that the program prints.
    pub version: String,
    /// The earliest version of Java that builds and runs the program. This or a later version is
    /// searched for in `JAVA_HOME`, on PATH and in `/usr/lib/jvm` [default: `java` on PATH].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 8, max = 99))]
    pub java: Option<u16>,
}

/// A template, and the file that is rendered from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateFile {
    /// A minijinja template in the folder, or `../NAME/FILE` of a folder next to it.
    pub template: String,
    /// The file in the working folder [default: the name of the template]. With `each`, the name is
    /// a template too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The name of a policy. The file is rendered once for each distinct set of settings with which
    /// the scenario uses the policy. In the template, `settings` contains these settings, and
    /// `number` is the number of the set, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// The id of the group that may read the file if it contains secrets and gatebench runs as
    /// root, for gateways whose workers then run as another user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// A template expression. The file is rendered only if the expression is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

impl TemplateFile {
    pub fn to(&self) -> &str {
        let name = || self.template.rsplit('/').next().unwrap_or_default();
        self.to.as_deref().unwrap_or_else(name)
    }
}

/// The conditions under which the gateway is ready. Its listener must belong to the started
/// processes and respond to `GET /` with any status except 502, 503 and 504. If `path` is given,
/// the gateway must instead respond to a request for that path with 200. The gateway must stay
/// ready for the duration of `settle`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
    /// The maximum time until the gateway is ready.
    pub timeout: HumanDuration,
    /// The path to request, for a gateway that listens before it has its routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema_fragments::optional_path")]
    pub path: Option<String>,
    /// The time for which the gateway must respond without failure before it counts as ready
    /// [default: 0s]. This is for a gateway whose policies take effect only after its port is open.
    #[serde(skip_serializing_if = "HumanDuration::is_zero")]
    pub settle: HumanDuration,
}

/// Statuses of a gateway that is not ready yet, or cannot reach its upstream.
const NOT_READY_STATUSES: [u16; 3] = [502, 503, 504];

impl Ready {
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
            timeout: HumanDuration::from_millis(10_000),
            path: None,
            settle: HumanDuration::default(),
        }
    }
}

/// The warm-up before a load. It lasts at least as long as the load requires. If `max` is longer,
/// the warm-up of most loads continues until the CPU time per request has settled, but for at most
/// `max`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warmup {
    /// The maximum warm-up; 2s for a folder without `warmup`. A runtime with a JIT compiler needs
    /// more.
    pub max: HumanDuration,
}

/// How to stop the gateway: with a signal and, if it still runs after `timeout`, with SIGKILL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    #[schemars(schema_with = "schema_fragments::stop_signal")]
    pub signal: String,
    /// The time after which the gateway is killed.
    pub timeout: HumanDuration,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            signal: "TERM".into(),
            timeout: HumanDuration::from_millis(3_000),
        }
    }
}

/// A database server, which gatebench starts for a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// The features that need PostgreSQL. It is started, with an empty database, only if a scenario
    /// uses one of them.
    #[schemars(length(min = 1))]
    pub postgres: Vec<String>,
}

/// A process that sends the gateway its configuration. The gateway itself, which `start` starts, is
/// then the data plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControlPlane {
    /// The command that starts the control plane in the foreground, before the gateway. The control
    /// plane must listen on the address `control_plane` of the input. Like `start`, the command is
    /// a list of templates.
    #[schemars(length(min = 1))]
    pub start: Vec<String>,
    /// The maximum time until the control plane listens [default: 10s].
    #[serde(default = "listen_timeout")]
    pub timeout: HumanDuration,
    /// Actions that replace those of the gateway with the same name. A signal goes to the control
    /// plane.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<String, Action>,
}

fn listen_timeout() -> HumanDuration {
    HumanDuration::from_millis(10_000)
}

/// A change to a running gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A signal to the main process.
    Signal(#[schemars(schema_with = "schema_fragments::action_signal")] String),
    /// A command that is run in the working folder, or inside the container if there is one.
    Command(Vec<String>),
    /// These files, which the gateway watches, are rendered again. Valid for `configure` and
    /// `weights`.
    Watched(#[schemars(length(min = 1))] Vec<String>),
    /// A file is rendered again, and its lines are sent to a control socket. Valid for `configure`
    /// and `weights`.
    Send(Lines),
    /// A file is rendered again. Each of its lines is a request to an admin interface, such as
    /// `{"method": "PATCH", "path": "/routes/a", "body": {"hosts": []}}`. Any status from 200 to
    /// 299 is a success. Valid for `configure` and `weights`.
    Call(Lines),
}

/// Lines, each of which is sent on a separate connection. With `send`, a response that is not blank
/// means that the line failed, and contains the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The rendered file, by its name in the working folder.
    pub file: String,
    /// The Unix socket, in the trial's working folder.
    pub to: String,
}
