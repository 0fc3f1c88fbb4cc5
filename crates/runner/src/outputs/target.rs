//! The target of an output: a command-line argument combined with settings from the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gatebench_model::HumanDuration;
use gatebench_outputs::{Duration as Sense, Encoder, Format, Stat};

use super::url::{Url, decoded, without_secrets};

/// The default and minimum interval between two pushes.
const PUSH_EVERY: Duration = Duration::from_secs(1);
/// The schema of k6's native histograms, which has eight buckets for each doubling.
const SCHEMA: i32 = 3;
const SCHEMA_MAX: i32 = 8;
const PROMETHEUS: &str = "http://localhost:9090/api/v1/write";
const INFLUXDB: &str = "http://localhost:8086";
const INFLUXDB_PORT: u16 = 8086;
const OTLP: &str = "http://localhost:4318";

/// An invalid argument of `--out` or an invalid environment variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the kind of output '{0}' is unknown")]
    Kind(String),
    /// The target is not a URL; the text contains no secrets.
    #[error("the target '{0}' is not a URL")]
    Url(String),
    /// The value of this variable is not a URL. The value is not shown, because it may contain a
    /// secret.
    #[error("the value of {0} is not a URL")]
    Variable(&'static str),
    #[error("the URL contains a secret, which other users of this machine could read")]
    Secret(Kind),
    #[error("{name} has the invalid value '{value}'")]
    Setting {
        /// The parameter or variable.
        name: String,
        /// The value, without secrets.
        value: String,
        /// The valid values, as text.
        valid: String,
    },
    /// The target is missing, or does not name a file or database.
    #[error("{0} has no target")]
    Empty(Kind),
}

impl TargetError {
    pub fn remedy(&self) -> String {
        match self {
            Self::Kind(_) => "write prometheus=URL, influxdb=URL, otlp=URL or jsonl=FILE".into(),
            Self::Url(_) | Self::Variable(_) => "write http://HOST:PORT/PATH, or https://".into(),
            Self::Secret(kind) => format!(
                "omit the secret, and {}; or put the URL into {} instead of the command line",
                kind.secrets(),
                kind.url_variable()
            ),
            Self::Setting { valid, .. } => format!("write {valid}"),
            Self::Empty(Kind::Influxdb) => {
                "name the database, as in influxdb=http://127.0.0.1:8086/k6".into()
            }
            Self::Empty(Kind::JsonLines) => {
                "name a file, as in jsonl=seconds.jsonl, or - for standard output".into()
            }
            Self::Empty(kind) => format!("write {kind}=URL"),
        }
    }
}

/// The kind of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Prometheus, by remote write.
    Prometheus,
    /// InfluxDB, by line protocol.
    Influxdb,
    /// OpenTelemetry, over HTTP.
    Otlp,
    /// A file or standard output, with JSON lines.
    JsonLines,
}

impl Kind {
    const ALL: [Self; 4] = [
        Self::Prometheus,
        Self::Influxdb,
        Self::Otlp,
        Self::JsonLines,
    ];

    /// Returns the name of the environment variable for the output's URL; empty for a file.
    fn url_variable(self) -> &'static str {
        match self {
            Self::Prometheus => "K6_PROMETHEUS_RW_SERVER_URL",
            Self::Influxdb => "K6_INFLUXDB_ADDR",
            Self::Otlp => "OTEL_EXPORTER_OTLP_ENDPOINT",
            Self::JsonLines => "",
        }
    }

    /// Returns instructions for setting the environment variables that contain the output's
    /// secrets.
    pub(super) fn secrets(self) -> &'static str {
        match self {
            Self::Prometheus => {
                "set K6_PROMETHEUS_RW_USERNAME and K6_PROMETHEUS_RW_PASSWORD, or \
                 K6_PROMETHEUS_RW_BEARER_TOKEN"
            }
            Self::Influxdb => {
                "set K6_INFLUXDB_USERNAME and K6_INFLUXDB_PASSWORD, or K6_INFLUXDB_TOKEN for \
                 version 2"
            }
            Self::Otlp => "set OTEL_EXPORTER_OTLP_HEADERS=authorization=VALUE",
            Self::JsonLines => "name a file",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Prometheus => "prometheus",
            Self::Influxdb => "influxdb",
            Self::Otlp => "otlp",
            Self::JsonLines => "jsonl",
        })
    }
}

impl FromStr for Kind {
    type Err = TargetError;

    fn from_str(word: &str) -> Result<Self, TargetError> {
        let known = Self::ALL.into_iter().find(|it| it.to_string() == word);
        known.ok_or_else(|| TargetError::Kind(word.into()))
    }
}

/// The target of an output.
#[derive(Clone, PartialEq)]
pub struct Target {
    pub(super) kind: Kind,
    pub(super) place: Place,
    pub(super) format: Format,
    pub(super) push_every: Duration,
    sense: Sense,
}

#[derive(Clone, PartialEq)]
pub(super) enum Place {
    Server(Box<Endpoint>),
    /// A file, or standard output as `-`.
    File(PathBuf),
}

#[derive(Clone, PartialEq)]
pub(super) struct Endpoint {
    pub(super) url: Url,
    /// Headers of each request, including those with secrets.
    pub(super) headers: Vec<(String, String)>,
    /// True if any certificate is accepted.
    pub(super) insecure: bool,
    /// The path and query of a request that is sent once before all others, and may fail.
    pub(super) first: Option<String>,
}

/// Omits the secrets.
impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Server(endpoint) => write!(out, "{}={}", self.kind, endpoint.url),
            Place::File(path) => write!(out, "{}={}", self.kind, path.display()),
        }
    }
}

/// Omits the secrets.
impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Target({self})")
    }
}

/// Looks up the value of an environment variable.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Target {
    pub fn is_stdout(&self) -> bool {
        matches!(&self.place, Place::File(path) if path.as_os_str() == "-")
    }

    /// Parses `KIND=TARGET`, and takes further settings from `variables`. If the target of a server
    /// is empty, the URL comes from a variable, or is the default URL.
    ///
    /// # Errors
    /// The argument or a variable is not valid.
    pub fn parse(word: &str, variables: Variables<'_>) -> Result<Self, TargetError> {
        let Some((kind, target)) = word.split_once('=') else {
            return Err(TargetError::Empty(word.parse()?));
        };
        let kind: Kind = kind.parse()?;
        match kind {
            Kind::Prometheus => prometheus(target, variables),
            Kind::Influxdb => influxdb(target, variables),
            Kind::Otlp => otlp(target, variables),
            Kind::JsonLines => json_lines(target),
        }
    }

    pub(super) fn encoder(&self) -> Encoder {
        Encoder::new(&self.format, self.sense)
    }

    /// Returns the statistics of trends that the environment requests, or the default statistics.
    ///
    /// # Errors
    /// The variable is not valid.
    pub fn trend_stats(variables: Variables<'_>) -> Result<Vec<Stat>, TargetError> {
        const NAME: &str = "K6_PROMETHEUS_RW_TREND_STATS";
        let Some(list) = variables(NAME) else {
            return Ok(Stat::DEFAULT.to_vec());
        };
        Stat::list(&list).map_err(|_| {
            let valid = "a comma-separated list of any of count, sum, min, max, avg, med, and \
                         percentiles such as p(95)";
            setting(NAME, &list, valid)
        })
    }
}

fn setting(name: &str, value: &str, valid: impl Into<String>) -> TargetError {
    TargetError::Setting {
        name: name.into(),
        value: value.into(),
        valid: valid.into(),
    }
}

fn given<T: FromStr>(
    name: &str,
    value: Option<String>,
    valid: &str,
) -> Result<Option<T>, TargetError> {
    let parse = |value: String| value.parse().map_err(|_| setting(name, &value, valid));
    value.map(parse).transpose()
}

const BOOLEAN: &str = "true or false";

/// Returns the URL from the command line, otherwise the URL from the variable, which may contain
/// secrets, otherwise the default URL.
fn url(kind: Kind, word: &str, variables: Variables<'_>) -> Result<Url, TargetError> {
    let (default, port) = match kind {
        Kind::Prometheus => (PROMETHEUS, None),
        Kind::Influxdb => (INFLUXDB, Some(INFLUXDB_PORT)),
        Kind::Otlp | Kind::JsonLines => (OTLP, None),
    };
    if !word.is_empty() {
        let url = Url::parse(word, port).ok_or_else(|| TargetError::Url(without_secrets(word)))?;
        return match url.has_secret() {
            true => Err(TargetError::Secret(kind)),
            false => Ok(url),
        };
    }
    let variable = kind.url_variable();
    let text = variables(variable).unwrap_or_else(|| default.into());
    Url::parse(&text, port).ok_or(TargetError::Variable(variable))
}

fn sense(query: &mut BTreeMap<String, String>) -> Result<Sense, TargetError> {
    match query.remove("duration").as_deref() {
        None | Some("response") => Ok(Sense::Response),
        Some("service") => Ok(Sense::Service),
        Some(other) => Err(setting("duration", other, "response or service")),
    }
}

fn basic(user: &str, password: &str) -> (String, String) {
    let value = BASE64_STANDARD.encode(format!("{user}:{password}"));
    ("Authorization".into(), format!("Basic {value}"))
}

/// Returns the header with the user and password from the variables, or otherwise from the URL.
/// Removes the user and password from the URL.
fn credentials(variable: Variables<'_>, url: &mut Url) -> Option<(String, String)> {
    let user = variable("USERNAME").map(|it| (it, variable("PASSWORD").unwrap_or_default()));
    let (user, password) = user.or(url.user.take())?;
    Some(basic(&user, &password))
}

/// Parses the items of a comma-separated list of pairs as headers.
fn headers<'l>(
    name: &str,
    items: impl Iterator<Item = &'l str>,
    between: char,
) -> Result<Vec<(String, String)>, TargetError> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once(between)?;
        let (name, value) = (name.trim(), value.trim());
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    let all: Option<Vec<_>> = items.map(pair).collect();
    let valid = format!("pairs NAME{between}VALUE, separated by commas");
    // The text is not shown, because it may contain a secret.
    all.ok_or_else(|| setting(name, "...", valid))
}

fn push_every(name: &str, variables: Variables<'_>) -> Result<Duration, TargetError> {
    let given: Option<HumanDuration> = given(name, variables(name), "a duration such as 1s")?;
    Ok(given.map_or(PUSH_EVERY, |it| it.0.max(PUSH_EVERY)))
}

fn prometheus(word: &str, variables: Variables<'_>) -> Result<Target, TargetError> {
    let prefixed = |name: &str| format!("K6_PROMETHEUS_RW_{name}");
    let variable = |name: &str| variables(&prefixed(name));
    let boolean = |name: &str| given::<bool>(&prefixed(name), variable(name), BOOLEAN);
    let kind = Kind::Prometheus;
    let mut url = url(kind, word, variables)?;
    let native: Option<bool> = given("native", url.query.remove("native"), BOOLEAN)?;
    let native = native.or(boolean("TREND_AS_NATIVE_HISTOGRAM")?);
    let schema: Option<i32> = given("schema", url.query.remove("schema"), "0 to 8")?;
    if let Some(wrong) = schema.filter(|it| !(0..=SCHEMA_MAX).contains(it)) {
        return Err(setting("schema", &wrong.to_string(), "0 to 8"));
    }
    let native = native.unwrap_or(schema.is_some());
    let sense = sense(&mut url.query)?;
    let mut all: Vec<(String, String)> = [
        ("Content-Encoding", "snappy"),
        ("Content-Type", "application/x-protobuf"),
        ("X-Prometheus-Remote-Write-Version", "0.1.0"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    all.extend(credentials(&variable, &mut url));
    let token = variable("BEARER_TOKEN").filter(|it| !it.is_empty());
    all.extend(token.map(|it| ("Authorization".into(), format!("Bearer {it}"))));
    if let Some(list) = variable("HTTP_HEADERS") {
        let items = list.split(',');
        all.extend(headers(&prefixed("HTTP_HEADERS"), items, ':')?);
    }
    Ok(Target {
        kind,
        format: Format::RemoteWrite {
            stats: Target::trend_stats(variables)?,
            native: native.then_some(schema.unwrap_or(SCHEMA)),
            stale_markers: boolean("STALE_MARKERS")?.unwrap_or(true),
        },
        push_every: push_every(&prefixed("PUSH_INTERVAL"), variables)?,
        sense,
        place: Place::Server(Box::new(Endpoint {
            url,
            headers: all,
            insecure: boolean("INSECURE_SKIP_TLS_VERIFY")?.unwrap_or(false),
            first: None,
        })),
    })
}

fn influxdb(word: &str, variables: Variables<'_>) -> Result<Target, TargetError> {
    let prefixed = |name: &str| format!("K6_INFLUXDB_{name}");
    let variable = |name: &str| variables(&prefixed(name));
    let kind = Kind::Influxdb;
    let mut url = url(kind, word, variables)?;
    let sense = sense(&mut url.query)?;
    let whole = "a whole number of requests";
    let sampling: Option<u64> = given("sampling", url.query.remove("sampling"), whole)?;
    let insecure: Option<bool> = given("insecure", url.query.remove("insecure"), BOOLEAN)?;
    let bucket = url.query.remove("bucket").or_else(|| variable("BUCKET"));
    let mut headers = Vec::new();
    let first = match bucket {
        Some(bucket) => {
            let organization = url.query.remove("org");
            let organization = organization.or_else(|| variable("ORGANIZATION"));
            url.path = "/api/v2/write".into();
            url.query.insert("bucket".into(), bucket);
            url.query.extend(organization.map(|it| ("org".into(), it)));
            let token = variable("TOKEN").map(|it| format!("Token {it}"));
            headers.extend(token.map(|it| ("Authorization".into(), it)));
            None
        }
        None => {
            let named = Some(url.path.trim_matches('/').to_owned()).filter(|it| !it.is_empty());
            let database = named.or_else(|| variable("DB"));
            let database = database.ok_or(TargetError::Empty(kind))?;
            let create = format!("CREATE DATABASE \"{}\"", database.replace('"', ""));
            let mut query = url.clone();
            query.path = "/query".into();
            query.query = [("q".to_owned(), create)].into();
            url.path = "/write".into();
            url.query.insert("db".into(), database);
            headers.extend(credentials(&variable, &mut url));
            Some(query.target())
        }
    };
    url.query.insert("precision".into(), "ns".into());
    Ok(Target {
        kind,
        format: Format::Influx {
            sampling: sampling.map(|it| it.max(1)),
        },
        push_every: push_every(&prefixed("PUSH_INTERVAL"), variables)?,
        sense,
        place: Place::Server(Box::new(Endpoint {
            url,
            headers,
            insecure: insecure.unwrap_or(false),
            first,
        })),
    })
}

/// Returns the URL of the OpenTelemetry collector. The variable for metrics contains the complete
/// URL. The variable for all signals contains a base, to which `/v1/metrics` is added.
fn otlp_url(word: &str, variables: Variables<'_>) -> Result<Url, TargetError> {
    const COMPLETE: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
    let complete = variables(COMPLETE).filter(|_| word.is_empty());
    if let Some(text) = complete {
        return Url::parse(&text, None).ok_or(TargetError::Variable(COMPLETE));
    }
    let mut url = url(Kind::Otlp, word, variables)?;
    if word.is_empty() || url.path == "/" {
        url.path = format!("{}/v1/metrics", url.path.trim_end_matches('/'));
    }
    Ok(url)
}

fn otlp(word: &str, variables: Variables<'_>) -> Result<Target, TargetError> {
    // The variable for metrics replaces the one for all signals.
    const HEADERS: [&str; 2] = [
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
        "OTEL_EXPORTER_OTLP_HEADERS",
    ];
    // OpenTelemetry treats an empty variable as unset.
    let variables = &|name: &str| variables(name).filter(|it| !it.is_empty());
    let kind = Kind::Otlp;
    let mut url = otlp_url(word, variables)?;
    let sense = sense(&mut url.query)?;
    let mut all = vec![("Content-Type".into(), "application/x-protobuf".into())];
    all.extend(credentials(&|_| None, &mut url));
    let set = |name| Some((name, variables(name)?));
    if let Some((name, list)) = HEADERS.into_iter().find_map(set) {
        // As in W3C Baggage, items may be empty, and values are percent-encoded.
        let items = list.split(',').filter(|it| !it.trim().is_empty());
        let headers = headers(name, items, '=')?.into_iter();
        all.extend(headers.map(|(name, value)| (name, decoded(&value))));
    }
    let service = variables("OTEL_SERVICE_NAME").unwrap_or_else(|| "gatebench".into());
    Ok(Target {
        kind,
        format: Format::Otlp {
            service,
            prefix: variables("K6_OTEL_METRIC_PREFIX").unwrap_or_default(),
        },
        push_every: PUSH_EVERY,
        sense,
        place: Place::Server(Box::new(Endpoint {
            url,
            headers: all,
            insecure: false,
            first: None,
        })),
    })
}

fn json_lines(word: &str) -> Result<Target, TargetError> {
    if word.is_empty() {
        return Err(TargetError::Empty(Kind::JsonLines));
    }
    Ok(Target {
        kind: Kind::JsonLines,
        place: Place::File(word.into()),
        format: Format::JsonLines,
        push_every: PUSH_EVERY,
        sense: Sense::Response,
    })
}

#[cfg(test)]
mod tests;
