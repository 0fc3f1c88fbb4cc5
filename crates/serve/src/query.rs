//! The contents of URL paths, queries and forms.

use serde::Deserialize;

pub(crate) type Pairs = Vec<(String, String)>;

/// The segments of a URL path that name a run, a trial and a file.
#[derive(Debug, Deserialize)]
pub(crate) struct Place {
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) trial: Option<String>,
    #[serde(default)]
    pub(crate) path: String,
}

/// The first value with this name, or an empty string.
pub(crate) fn first(pairs: &[(String, String)], name: &str) -> String {
    let found = pairs.iter().find(|(own, _)| own == name);
    found.map(|(_, value)| value.clone()).unwrap_or_default()
}
