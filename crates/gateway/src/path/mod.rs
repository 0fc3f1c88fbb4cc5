//! Splits request targets, normalizes them to the form that selects the route and that the upstream
//! gets, and refuses those that an upstream could read as a path of another route.
//!
//! A strict route, the default, accepts only one spelling of a path ([`strict`]). Spellings that
//! are equivalent according to RFC 3986 6.2.2 (unreserved characters as `%61`, percent-encodings in
//! lower case) are normalized first, so the upstream gets the matched path. A verbatim route is
//! selected by the path as written, and forwards it unchanged.
//!
//! The remaining danger is a path that an upstream may read as another one, such as `/admin;x=1`.
//! All readings must belong to the same route ([`readings`]): a path that has the policies of one
//! route at the gateway and belongs to another one at the upstream is refused.

pub(crate) mod query;
mod readings;
mod routes;
mod strict;

use gatebench_net::http1::is_host;

use crate::config::Paths;
pub(crate) use readings::without_parameters;
use routes::RouteTable;
pub(crate) use routes::strip;
pub(crate) use strict::{encoded, is_normal, is_path, normalized};

/// A request target split into its parts, and the route that it selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) route: Option<usize>,
    /// The authority of the absolute form (RFC 9112 3.2.2).
    pub(crate) authority: Option<&'a str>,
    /// The path that selects the route and the operation.
    pub(crate) path: &'a str,
    /// The path and query to forward, before a prefix is stripped. The path may be empty in the
    /// absolute form.
    pub(crate) rest: &'a str,
}

pub(crate) type Words = &'static str;

#[derive(Debug)]
pub(crate) struct Router {
    table: RouteTable,
    /// All readings of the prefixes in `table`.
    read: RouteTable,
    /// True if a prefix can be read as another path. In that case, even a path with only one
    /// reading must be compared with all readings of the prefixes.
    has_odd: bool,
    /// The spellings that each route allows, indexed by route number.
    paths: Vec<Paths>,
}

impl Router {
    /// Creates a router from the routes' prefixes and allowed spellings, in order of route number.
    pub(crate) fn new<'a>(routes: impl Iterator<Item = (&'a str, Paths)> + Clone) -> Self {
        let prefixes = routes.clone().map(|(prefix, _)| prefix);
        let mut read = RouteTable::new(prefixes.clone());
        let mut has_odd = false;
        for (route, prefix) in prefixes.clone().enumerate() {
            readings::all(prefix.as_bytes(), |reading| {
                has_odd |= reading != prefix.as_bytes();
                read.add(reading, route);
                true
            });
        }
        Self {
            table: RouteTable::new(prefixes),
            read,
            has_odd,
            paths: routes.map(|(_, paths)| paths).collect(),
        }
    }

    /// Splits a target and selects its route, or returns the reason why the target is refused.
    /// `memory` holds the path and query if the path's normal form differs from the path as
    /// written.
    pub(crate) fn find<'a>(
        &self,
        target: &'a str,
        memory: &'a mut String,
    ) -> Result<Target<'a>, Words> {
        let (authority, rest) = split(target);
        if authority.is_some_and(|authority| !is_host(authority.as_bytes())) {
            return Err("the target's authority is not a host with an optional port");
        }
        let look = strict::look(rest.as_bytes())?;
        let path = match &rest[..look.path_bytes] {
            "" if authority.is_some() => "/",
            path => path,
        };
        let route = self.table.find(path.as_bytes());
        let written = Target {
            route,
            authority,
            path,
            rest,
        };
        if look.is_plain {
            // The path has only one reading, but a prefix may have several.
            let is_agreed =
                !self.has_odd || route.is_none() || self.read.find(path.as_bytes()) == route;
            return is_agreed.then_some(written).ok_or(AMBIGUOUS);
        }
        if route.is_some_and(|route| self.is_verbatim(route)) {
            self.agree(path, route)?;
            return Ok(written);
        }
        let form = strict::judge(path)?;
        let is_ambiguous = form.is_ambiguous || self.has_odd;
        if form.is_normal {
            if is_ambiguous {
                self.agree(path, route)?;
            }
            return Ok(written);
        }
        memory.clear();
        strict::normalize(path, memory);
        let path_bytes = memory.len();
        memory.push_str(&rest[look.path_bytes..]);
        let rest: &'a str = memory;
        let path = &rest[..path_bytes];
        let route = self.table.find(path.as_bytes());
        // A verbatim route is selected only by the path as written. Here, the path as written does
        // not select that route, but the normal form does.
        if route.is_some_and(|route| self.is_verbatim(route)) {
            return Err(AMBIGUOUS);
        }
        if is_ambiguous {
            self.agree(path, route)?;
        }
        Ok(Target {
            route,
            authority,
            path,
            rest,
        })
    }

    fn is_verbatim(&self, route: usize) -> bool {
        self.paths[route] == Paths::Verbatim
    }

    /// Checks that every reading of a path belongs to its route. A path without a route passes,
    /// because it gets 404 anyway.
    fn agree(&self, path: &str, route: Option<usize>) -> Result<(), Words> {
        let Some(route) = route else { return Ok(()) };
        let is_agreed = readings::all(path.as_bytes(), |it| self.read.find(it) == Some(route));
        is_agreed.then_some(()).ok_or(AMBIGUOUS)
    }
}

const AMBIGUOUS: Words =
    "the target's path can be read as a path of another route; write it in its normal form";

/// Splits a target into its authority, if it has one (the absolute form), and its path and query.
fn split(target: &str) -> (Option<&str>, &str) {
    const SCHEME: &str = "http://";
    match target.split_at_checked(SCHEME.len()) {
        Some((scheme, after)) if scheme.eq_ignore_ascii_case(SCHEME) => {
            let end = after.find(['/', '?']).unwrap_or(after.len());
            (Some(&after[..end]), &after[end..])
        }
        _ => (None, target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict() -> Router {
        Router::new([("/", Paths::Strict), ("/admin", Paths::Strict)].into_iter())
    }

    #[test]
    fn targets_are_split() {
        for (target, authority, path, rest) in [
            ("/a/b?c?d", None, "/a/b", "/a/b?c?d"),
            ("http://h:1/a?b", Some("h:1"), "/a", "/a?b"),
            ("HTTP://h/a", Some("h"), "/a", "/a"),
            ("http://h", Some("h"), "/", ""),
            ("http://h?q", Some("h"), "/", "?q"),
            ("*", None, "*", "*"),
        ] {
            let mut memory = String::new();
            let found = strict().find(target, &mut memory).unwrap();
            let parts = (found.authority, found.path, found.rest);
            assert_eq!(parts, (authority, path, rest), "{target}");
        }
    }

    #[test]
    fn only_a_path_that_changes_is_copied() {
        let mut memory = "of an earlier request".to_owned();
        let found = strict().find("/%61dmin?x", &mut memory).unwrap();
        assert_eq!(found.rest, "/admin?x");
        let target = "/a%20b/c?d";
        let found = strict().find(target, &mut memory).unwrap();
        let is_copied = found.rest.as_ptr() != target.as_ptr();
        assert!(!is_copied, "a path in its normal form stays where it is");
    }
}
