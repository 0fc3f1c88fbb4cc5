//! Adapts the configuration of a user's gateway so that it runs in a trial. Addresses,
//! certificates, numbers of workers, and paths of files and sockets become those of the trial;
//! settings that cannot apply to a trial are removed. The result is a template for a gateway
//! folder.

mod apisix;
mod edits;
mod envoy;
mod haproxy;
mod kong;
mod mask;
mod nginx;
mod scenario;
mod tree;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use gatebench_config::{Data, tree as yaml_tree};
use gatebench_model::Scenario;

use crate::error::ImportError;

pub use edits::Change;

pub(crate) const LISTENER: &str = "{{ listeners[0] | endpoint }}";
pub(crate) const TARGET: &str = "{{ upstreams[0].targets[0] | endpoint }}";
pub(crate) const TARGET_HOST: &str = "{{ upstreams[0].targets[0].address }}";
pub(crate) const TARGET_PORT: &str = "{{ upstreams[0].targets[0].port }}";

/// Returns the path and the text of each file that matches the pattern of an `include`, such as
/// `conf.d/*.conf`. A relative pattern is relative to the configuration's folder.
pub type ReadIncluded<'f> = &'f dyn Fn(&str) -> io::Result<Vec<(String, String)>>;

/// The files that a configuration can name.
#[derive(Clone, Copy)]
pub struct Files<'f> {
    /// The absolute path of the folder that contains the configuration.
    pub folder: &'f Path,
    pub read: ReadIncluded<'f>,
    /// Reports whether a path leads to a file.
    pub is_file: &'f dyn Fn(&Path) -> bool,
}

// Reasons that apply to changes in more than one configuration language.
const PORT: &str = "each trial has its own port";
const OTHER_PORT: &str =
    "only one port is measured; the others are sockets in the folder of the trial";
const CERTIFICATE: &str = "a trial can use only its own certificate";
const UPSTREAM: &str = "requests go to gatebench's upstream";
const PLAIN: &str = "gatebench's upstream speaks HTTP without TLS";
const MOVED: &str = "files are written to the folder of the trial";
const OWN_PROCESS: &str = "each trial has its own process, cores and files";

/// A word of a configuration, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    /// The text without quotes. In HAProxy words, all escapes are resolved; in nginx words, only
    /// those of the enclosing quote.
    text: String,
    span: Range<usize>,
}

/// The language of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Nginx,
    Haproxy,
    /// Envoy's bootstrap, in YAML or JSON.
    Envoy,
    /// Kong's declarative configuration.
    Kong,
    /// APISIX's standalone configuration.
    Apisix,
}

impl Language {
    pub fn of(text: &str) -> Option<Self> {
        if let Some(root) = yaml_tree(text).filter(|root| matches!(root.data, Data::Map(_))) {
            let has = |key: &str| root.get(key).is_some();
            return match () {
                () if has("_format_version") => Some(Self::Kong),
                () if has("static_resources") || has("dynamic_resources") => Some(Self::Envoy),
                // A scenario also contains `routes`.
                () if has("routes") && !has("scenario") => Some(Self::Apisix),
                () => None,
            };
        }
        let sections = ["global", "defaults", "frontend", "backend", "listen"];
        let is_section = |line: &str| {
            let is_first = !line.starts_with(char::is_whitespace) && !line.contains(['{', ';']);
            let word = line.split_whitespace().next().unwrap_or_default();
            is_first && sections.contains(&word)
        };
        if text.lines().any(is_section) {
            return Some(Self::Haproxy);
        }
        // The brace may be on a line of its own.
        let is_block = |(brace, _): (usize, &str)| {
            let before = text[..brace].trim_end();
            let line = before.rsplit(['\n', ';', '{', '}']).next();
            let word = line.unwrap_or_default().split_whitespace().next();
            matches!(word, Some("http" | "events" | "server"))
        };
        text.match_indices('{').any(is_block).then_some(Self::Nginx)
    }

    /// Returns the folder name of the gateway that reads this language.
    pub fn gateway(self) -> &'static str {
        self.names().0
    }

    /// Returns the name, in the working folder, of the rendered file that the configuration
    /// replaces.
    pub fn replaces(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Nginx => ("nginx", "nginx.conf"),
            Self::Haproxy => ("haproxy", "haproxy.cfg"),
            Self::Envoy => ("envoy", "envoy.json"),
            Self::Kong => ("kong", "kong.json"),
            Self::Apisix => ("apisix", "apisix.yaml"),
        }
    }
}

/// A user's configuration, adapted to run in a trial.
#[derive(Clone, Debug)]
pub struct OwnConfig {
    pub language: Language,
    /// The text as a template for a gateway folder.
    pub text: String,
    /// The lines of the user's configuration that were changed or removed, and those that were
    /// inserted between them.
    pub changes: Vec<Change>,
    pub environment: BTreeMap<String, String>,
    /// True if clients must use TLS.
    pub has_tls: bool,
    /// A scenario with a request for each imported route; `None` if there is no route.
    pub scenario: Option<Scenario>,
}

/// Reports whether a document is already a template that refers to the listeners or upstreams of a
/// trial.
fn is_template(text: &str) -> bool {
    let mut expressions = text.split("{{").skip(1).map(str::trim_start);
    expressions.any(|it| it.starts_with("listeners") || it.starts_with("upstreams"))
}

/// Adapts a configuration so that it runs in a trial. Returns `None` if the language is unknown or
/// the configuration is already a template, which is used unchanged.
///
/// # Errors
/// Returns the mistakes in the text or in an included file, each with its line and remedy. Also
/// fails if nginx, HAProxy or Envoy has no route to an upstream, or if Envoy gets its resources
/// from a control plane.
pub fn wire(file: &str, text: &str, files: &Files<'_>) -> Result<Option<OwnConfig>, ImportError> {
    if is_template(text) {
        return Ok(None);
    }
    let Some(language) = Language::of(text) else {
        return Ok(None);
    };
    let wired = match language {
        Language::Nginx => nginx::wire(file, text, files)?,
        Language::Haproxy => haproxy::wire(file, text)?,
        Language::Envoy => envoy::wire(file, text)?,
        Language::Kong => kong::wire(file, text)?,
        Language::Apisix => apisix::wire(file, text)?,
    };
    Ok(Some(wired))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_recognized_by_its_text() {
        for (text, language) in [
            ("events {}\nhttp {\n}\n", Some(Language::Nginx)),
            ("server { listen 80; }\n", Some(Language::Nginx)),
            ("http # all\n{\n  include x;\n}\n", Some(Language::Nginx)),
            ("# http {\nmap x y { default 1; }\n", None),
            ("defaults\n  mode http\n", Some(Language::Haproxy)),
            ("static_resources: {}\n", Some(Language::Envoy)),
            ("{\"_format_version\": \"3.0\"}", Some(Language::Kong)),
            ("routes: []\n#END\n", Some(Language::Apisix)),
            ("hello\n", None),
            ("apps: {http: {}}\n", None),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }
}
