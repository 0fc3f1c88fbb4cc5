//! Routes, and the paths that they match.

use std::borrow::Cow;

use gatebench_config::schema_fragments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::repeat;

/// A path prefix, and the policies for the requests below it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = repeat::describe)]
pub struct Route {
    /// The route's name, unique in the scenario.
    #[schemars(schema_with = "schema_fragments::name_template")]
    pub name: String,
    /// Path prefix, which begins with `/` and ends at the end of a segment.
    #[schemars(schema_with = "schema_fragments::path")]
    pub path: String,
    /// True if the prefix is removed from the path that is sent to the upstream.
    #[serde(default)]
    pub strip_path: bool,
    /// Policies in the order in which they apply.
    #[serde(default)]
    pub policies: Vec<Policy>,
}

impl Route {
    /// A route without policies, which does not strip its prefix.
    pub fn new(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            ..Self::default()
        }
    }

    /// Returns the path that is sent to the upstream when a client requests `path` on this route.
    pub fn upstream_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let rest = path.strip_prefix(&self.path).filter(|_| self.strip_path);
        match rest.unwrap_or(path) {
            rest if rest.starts_with('/') => Cow::Borrowed(rest),
            rest => Cow::Owned(format!("/{rest}")),
        }
    }

    /// Reports whether the gateway itself responds, so no request reaches the upstream.
    pub fn responds_itself(&self) -> bool {
        let mut policies = self.policies.iter();
        policies.any(|policy| matches!(policy, Policy::Mock(_)))
    }
}

/// Reports whether a path is below the prefix of a route. A prefix ends at the end of a segment:
/// `/json` matches `/json` and `/json/valid`, but not `/jsonx`.
pub(crate) fn path_matches(prefix: &str, path: &str) -> bool {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    path.strip_prefix(prefix)
        .is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_path_still_begins_with_a_slash() {
        let mut route = Route::new("size", "/size");
        assert_eq!(route.upstream_path("/size/350B"), "/size/350B");
        route.strip_path = true;
        assert_eq!(route.upstream_path("/size/350B"), "/350B");
        assert_eq!(route.upstream_path("/size"), "/");
        assert_eq!(route.upstream_path("/size?x=1"), "/?x=1");
    }
}
