//! The head of a request over HTTP/1.1 or HTTP/2.

use gatebench_net::http1::Field;
use gatebench_net::{http1, http2};

use crate::response::Response;

/// A request's head, with the target split into path and query.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) head: Head<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum Head<'a> {
    Http1(http1::Head<'a>),
    Http2(http2::Head<'a>),
}

impl<'a> Asked<'a> {
    pub(crate) fn over_http1(head: http1::Head<'a>) -> Self {
        Self::new(head.method(), origin_form(head.target()), Head::Http1(head))
    }

    pub(crate) fn over_http2(head: http2::Head<'a>) -> Self {
        // Text that is not UTF-8 becomes an empty string. Only the origin `any` serves an empty
        // path.
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
        Self::new(text(head.method()), text(head.path()), Head::Http2(head))
    }

    fn new(method: &'a str, target: &'a str, head: Head<'a>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method,
            path,
            query,
            head,
        }
    }

    /// Returns the value of the first field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<&'a [u8]> {
        match &self.head {
            Head::Http1(head) => head.field(name),
            Head::Http2(head) => head.field(name),
        }
    }

    /// Returns the names and values of all fields. Over HTTP/2, `:authority` (RFC 9113 8.3.1) comes
    /// first, as Host.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + Clone + use<'a> {
        let (http1, http2) = match self.head {
            Head::Http1(head) => (Some(head), None),
            Head::Http2(head) => (None, Some(head)),
        };
        let host = self.authority().map(|host| ("Host", host));
        let http1 = http1.into_iter().flat_map(|head| head.fields());
        let http2 = http2.into_iter().flat_map(|head| head.fields());
        let pair = |it: Field<'a>| (it.name, it.value);
        http1.map(pair).chain(host).chain(http2.map(pair))
    }

    /// Returns the value of `:authority`, which replaces Host in HTTP/2.
    fn authority(&self) -> Option<&'a [u8]> {
        match &self.head {
            Head::Http1(_) => None,
            Head::Http2(head) => Some(head.authority()).filter(|host| !host.is_empty()),
        }
    }

    pub(crate) fn host(&self) -> &'a [u8] {
        let named = || self.field("Host").unwrap_or_default();
        self.authority().unwrap_or_else(named)
    }

    pub(crate) fn reads(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }

    pub(crate) fn get(&self, make: impl FnOnce() -> Response) -> Response {
        if self.reads() {
            make()
        } else {
            Response::not_allowed("GET, HEAD")
        }
    }

    /// Returns the value of the first field with this name, if it is UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        std::str::from_utf8(self.field(name)?).ok()
    }
}

/// Removes the scheme and the authority from a target in absolute form (RFC 9112 3.2.2).
fn origin_form(target: &str) -> &str {
    let Some(rest) = target.strip_prefix("http://") else {
        return target;
    };
    rest.find('/').map_or("/", |at| &rest[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_targets_lose_their_authority() {
        assert_eq!(origin_form("/a?b"), "/a?b");
        assert_eq!(origin_form("http://host:1/a?b"), "/a?b");
        assert_eq!(origin_form("http://host"), "/");
        assert_eq!(origin_form("*"), "*");
    }
}
