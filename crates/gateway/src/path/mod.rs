//! Targets of requests: taken apart, put into the one form that routes are chosen by and upstreams
//! get, and refused where an upstream could read them otherwise.
//!
//! A route that is strict, as all are unless they say otherwise, takes a path that is written in one
//! way only ([`strict`]). What RFC 3986 6.2.2 calls equivalent (unreserved characters as `%61`,
//! percent-encodings in lower case) is put into that form first, so that the upstream gets what was
//! matched. A route that is verbatim is chosen by the path as it was written, and sends it on so.
//!
//! What is left are paths that an upstream may read as another one, such as `/admin;x=1`. All readings
//! must belong to the same route ([`readings`]): a path that has the policies of one route before the
//! gateway and is the path of another one behind it is refused.
//!
//! It knows the prefixes of routes and nothing else of them.

pub(crate) mod query;
mod readings;
mod routes;
mod strict;

use gatebench_net::http1::is_host;

use crate::config::Paths;
pub(crate) use readings::without_parameters;
use routes::RouteTable;
pub(crate) use routes::strip;
pub(crate) use strict::{is_normal, is_path};

/// A target taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    /// Of the absolute form (RFC 9112 3.2.2).
    pub(crate) authority: Option<&'a str>,
    /// What routes and operations are chosen by.
    pub(crate) path: &'a str,
    /// Path and query as they go on. The path may be empty in the absolute form.
    pub(crate) rest: &'a str,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way<'a> {
    pub(crate) route: Option<usize>,
    pub(crate) target: Target<'a>,
}

/// Why a target is refused.
pub(crate) type Words = &'static str;

/// The routes by the paths of their requests.
#[derive(Debug)]
pub(crate) struct Router {
    table: RouteTable,
    /// The same prefixes in all readings.
    read: RouteTable,
    /// One of them can be read as another path, so a path that cannot may be one of its route.
    has_odd: bool,
    /// By the route's number.
    paths: Vec<Paths>,
}

impl Router {
    /// Of the prefixes of the routes, in the order of their numbers.
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

    /// The way of a request with that target, or why it is refused. `memory` holds the path where its
    /// normal form differs from what was written.
    pub(crate) fn find<'a>(
        &self,
        target: &'a str,
        memory: &'a mut String,
    ) -> Result<Way<'a>, Words> {
        let (authority, rest) = split(target);
        if authority.is_some_and(|authority| !is_host(authority.as_bytes())) {
            return Err("the target's authority is not a host with an optional port");
        }
        let look = strict::look(rest.as_bytes())?;
        let path = match &rest[..look.path_bytes] {
            "" if authority.is_some() => "/",
            path => path,
        };
        let written = Target {
            authority,
            path,
            rest,
        };
        let route = self.table.find(path.as_bytes());
        let way = Way {
            route,
            target: written,
        };
        if look.is_plain {
            // It is read in one way only, but a prefix may be read in several.
            let is_agreed =
                !self.has_odd || route.is_none() || self.read.find(path.as_bytes()) == route;
            return if is_agreed { Ok(way) } else { Err(AMBIGUOUS) };
        }
        if route.is_some_and(|route| self.is_verbatim(route)) {
            self.agree(path, route)?;
            return Ok(way);
        }
        let form = strict::judge(path)?;
        let is_ambiguous = form.is_ambiguous || self.has_odd;
        if form.is_normal {
            if is_ambiguous {
                self.agree(path, route)?;
            }
            return Ok(way);
        }
        memory.clear();
        strict::normalise(path, memory);
        let path_bytes = memory.len();
        memory.push_str(&rest[look.path_bytes..]);
        let rest: &'a str = memory;
        let path = &rest[..path_bytes];
        let route = self.table.find(path.as_bytes());
        // That route is chosen by what was written, which is something else.
        if route.is_some_and(|route| self.is_verbatim(route)) {
            return Err(AMBIGUOUS);
        }
        if is_ambiguous {
            self.agree(path, route)?;
        }
        Ok(Way {
            route,
            target: Target {
                authority,
                path,
                rest,
            },
        })
    }

    fn is_verbatim(&self, route: usize) -> bool {
        self.paths[route] == Paths::Verbatim
    }

    /// Whether every reading of a path belongs to its route. A path that has none goes nowhere.
    fn agree(&self, path: &str, route: Option<usize>) -> Result<(), Words> {
        let Some(route) = route else { return Ok(()) };
        match readings::all(path.as_bytes(), |it| self.read.find(it) == Some(route)) {
            true => Ok(()),
            false => Err(AMBIGUOUS),
        }
    }
}

const AMBIGUOUS: Words =
    "the target's path can be read as one of another route; write it in its normal form";

/// The authority of a target in the absolute form, and the rest: path and query.
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn router(routes: &[(&str, Paths)]) -> Router {
        Router::new(routes.iter().copied())
    }

    fn strict() -> Router {
        router(&[("/", Paths::Strict), ("/admin", Paths::Strict)])
    }

    /// The number of the route and what goes on; nothing where the target is refused.
    fn found(router: &Router, target: &str) -> Option<(Option<usize>, String)> {
        let mut memory = "of an earlier request".to_owned();
        let way = router.find(target, &mut memory).ok()?;
        Some((way.route, way.target.rest.to_owned()))
    }

    #[test]
    fn targets_come_apart() {
        let parts = |target: &str| {
            let mut memory = String::new();
            let Target {
                authority,
                path,
                rest,
            } = strict().find(target, &mut memory).unwrap().target;
            let authority = authority.map(str::to_owned);
            (authority, path.to_owned(), rest.to_owned())
        };
        let host = |host: &str| Some(host.to_owned());
        let text = str::to_owned;
        assert_eq!(parts("/a/b?c?d"), (None, text("/a/b"), text("/a/b?c?d")));
        assert_eq!(
            parts("http://h:1/a?b"),
            (host("h:1"), text("/a"), text("/a?b"))
        );
        assert_eq!(parts("HTTP://h/a"), (host("h"), text("/a"), text("/a")));
        assert_eq!(parts("http://h"), (host("h"), text("/"), text("")));
        assert_eq!(parts("http://h?q"), (host("h"), text("/"), text("?q")));
        assert_eq!(parts("*"), (None, text("*"), text("*")));
    }

    #[test]
    fn a_long_plain_path_is_read_once_next_to_a_prefix_of_several_readings() {
        let router = router(&[("/", Paths::Strict), ("/caf%C3%A9", Paths::Strict)]);
        let long = format!("/{}", "a".repeat(5_000));
        assert_eq!(found(&router, &long), Some((Some(0), long.clone())));
        assert_eq!(found(&router, "/caf%C3%A9").unwrap().0, Some(1));
    }

    #[test]
    fn what_only_some_servers_decode_reaches_no_other_route() {
        let router = router(&[("/", Paths::Verbatim), ("/admin", Paths::Strict)]);
        for target in [
            "/%u0061dmin",
            "/x/..%FC%80%80%80%80%AFadmin",
            "/x/..%F8%80%80%80%AFadmin",
        ] {
            assert_eq!(found(&router, target), None, "{target}");
        }
        assert_eq!(found(&router, "/user").unwrap().0, Some(0));
    }

    #[test]
    fn an_authority_is_a_host() {
        for (target, expected) in [
            ("/a", true),
            ("http://h/", true),
            ("http://[::1]:80/", true),
            ("http://h", true),
            ("http:///a", false),
            ("http://:80/a", false),
            ("http://user@h/a", false),
            ("http://u:p@h/a", false),
            ("http://h\\@g/a", false),
            ("http://h\"/a", false),
            ("http://h#g/a", false),
            ("http://\u{e4}/a", false),
            ("http://a:b:c/", false),
            ("http://a,b/", false),
            ("http://x%00y/", false),
            ("http://[::1/", false),
        ] {
            assert_eq!(found(&strict(), target).is_some(), expected, "{target}");
        }
    }

    #[test]
    fn what_is_equivalent_goes_on_in_its_normal_form() {
        for (target, route, rest) in [
            ("/%61dmin?x=%61", 1, "/admin?x=%61"),
            ("/admin/%7euser", 1, "/admin/~user"),
            ("http://h/%61dmin", 1, "/admin"),
            ("/caf%c3%a9", 0, "/caf%C3%A9"),
            ("/a%20b", 0, "/a%20b"),
            ("/.well-known/a..b/..c", 0, "/.well-known/a..b/..c"),
            ("/a;x=1/b", 0, "/a;x=1/b"),
            ("/admin/b;x=1", 1, "/admin/b;x=1"),
            ("/100%25", 0, "/100%25"),
            ("/a?b=[c]&d=/../&e=//;%zz", 0, "/a?b=[c]&d=/../&e=//;%zz"),
            ("/Admin", 0, "/Admin"),
        ] {
            let expected = Some((Some(route), rest.to_owned()));
            assert_eq!(found(&strict(), target), expected, "{target}");
        }
        let target = "/a%20b/c?d";
        let mut memory = String::new();
        let way = strict().find(target, &mut memory).unwrap();
        let is_copied = way.target.rest.as_ptr() != target.as_ptr();
        assert!(!is_copied, "a path in its normal form stays where it is");
    }

    #[test]
    fn a_strict_route_takes_what_all_read_alike() {
        for target in [
            "//admin",
            "/admin//a",
            "/./admin",
            "/x/../admin",
            "/admin/..",
            "/x/%2e%2E/admin",
            "/x/..;/admin",
            "/x/..;a=b/admin",
            "/;/admin",
            "/;x=1/admin",
            "/admin;x=1",
            "/admin;x=1/b",
            "/admin%3bx=1",
            "/admin%2Fx",
            "/x%5cadmin",
            "/admin%00",
            "/a%1f",
            "/a%7F",
            "/a%",
            "/a%6",
            "/a%zz",
            "/%2561dmin",
            "/x%252F..%25252Fadmin",
            "/x/%252e%252e/admin",
            "/admin.",
            "/admin%20",
            "/admin%20%2E/x",
            "/admin%3Fx",
            "/admin%23",
            "/x%c0%af..%c0%afadmin",
            "/a#b",
            "/a?b#c",
            "/a\\b",
            "/a\"b",
            "/a<b>",
            "/a{b}",
            "/a|b",
            "/a^b",
            "/a`b",
            "/a[b]",
            "/\u{e4}",
            "/a?\u{e4}",
            "/a?{b}",
            "/a?b|c",
            "http://h//admin",
            "http://h/x/../admin",
            "HTTP://h/admin;x",
        ] {
            assert_eq!(found(&strict(), target), None, "{target}");
        }
        let long = format!("/{}", "a;".repeat(5000));
        assert_eq!(
            found(&strict(), &long),
            None,
            "too long for all its readings"
        );
    }

    #[test]
    fn a_verbatim_route_takes_what_is_written_unless_it_leads_out_of_it() {
        let router = router(&[
            ("/", Paths::Verbatim),
            ("/admin", Paths::Strict),
            ("/files", Paths::Verbatim),
            ("/files/strict", Paths::Strict),
        ]);
        for (target, route) in [
            ("/a//b", 0),
            ("/a/../b/%2e/%2F%5C%00", 0),
            ("/%zz", 0),
            ("/%61", 0),
            ("/files/a%2Fb", 2),
            ("/files/a/../b%5cc;d", 2),
            ("/files/../files/a", 2),
        ] {
            let expected = Some((Some(route), target.to_owned()));
            assert_eq!(found(&router, target), expected, "{target}");
        }
        for target in [
            "//admin",
            "/x/..%2fadmin",
            "/%61dmin",
            "/%2561dmin",
            "/;x/admin",
            "/admin.",
            "/admin%00.png",
            "/files/..%2fadmin",
            "/files/%2e%2e/a",
            "/files%2Fa",
            "/files/a/..%2f..%2fx",
            "/files/strict%2Fa",
            "/a/..\\admin",
            "/admin#x",
            "/x%c0%afadmin",
            // Out of the way and back again.
            "/v/../admin/x%2F..%2F..%2Fv",
            "/v/../admin/x%5C..%5C..%5Cv",
            // In it for those who decode and do not resolve, or resolve before they decode a slash.
            "/a%64min/..%2fa.b",
            "/admin%2F..%2Fa",
            "/v/../admin%2F..%2Fa",
        ] {
            assert_eq!(found(&router, target), None, "{target}");
        }
    }

    #[test]
    fn of_a_strict_route_within_a_verbatim_one_only_the_normal_form_is_taken() {
        let router = router(&[("/", Paths::Verbatim), ("/admin", Paths::Strict)]);
        let expected = Some((Some(1), "/admin/a".to_owned()));
        assert_eq!(found(&router, "/admin/a"), expected);
        assert_eq!(found(&router, "/admin/%61"), expected);
        // By what is written this is a path of the verbatim route.
        assert_eq!(found(&router, "/%61dmin/a"), None);
        assert_eq!(found(&router, "/admin//a"), None);
        assert_eq!(found(&router, "/admin/../b"), None);
    }

    #[test]
    fn a_prefix_that_can_be_read_otherwise_is_found_as_it_is_written() {
        let router = router(&[
            ("/a%2Fb", Paths::Verbatim),
            ("/v1.", Paths::Strict),
            ("/caf%C3%A9", Paths::Strict),
        ]);
        for (target, route) in [("/a%2Fb/c", 0), ("/v1./c", 1), ("/caf%c3%a9/c;d", 2)] {
            let found = found(&router, target).unwrap();
            assert_eq!(found.0, Some(route), "{target}");
        }
        assert_eq!(found(&router, "/a/b"), Some((None, "/a/b".into())));
    }

    #[test]
    fn what_need_not_be_encoded_is_the_same_path_to_some() {
        let router_of = |prefix| router(&[("/", Paths::Strict), (prefix, Paths::Strict)]);
        let plain = router_of("/a:b");
        assert_eq!(found(&plain, "/a:b/c"), Some((Some(1), "/a:b/c".into())));
        assert_eq!(found(&plain, "/a%3Ab/c"), None);
        assert_eq!(found(&plain, "/x%3Ab"), Some((Some(0), "/x%3Ab".into())));
        let encoded = router_of("/a%3Ab");
        let expected = Some((Some(1), "/a%3Ab/c".to_owned()));
        assert_eq!(found(&encoded, "/a%3ab/c"), expected);
        assert_eq!(found(&encoded, "/a:b/c"), None);
        assert_eq!(found(&encoded, "/a:c"), Some((Some(0), "/a:c".into())));
    }

    #[test]
    fn no_spelling_of_what_is_not_a_path_is_one() {
        for target in ["*", "a", "h:80", "https://h/a", "?a", ""] {
            let route = found(&strict(), target).map(|(route, _)| route);
            assert_eq!(route, Some(None), "{target}");
        }
        for target in ["a//b", "a/../b", "..", "%2fadmin", "*/../admin"] {
            let route = found(&strict(), target).map(|(route, _)| route);
            assert!(matches!(route, None | Some(None)), "{target}");
        }
    }
}
