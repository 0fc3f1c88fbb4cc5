//! What each origin answers to which path.

mod anything;
mod go_bench;
mod httpbin;

use gatebench_net::http1::Head;

pub(crate) use anything::{AnythingParts, write_anything};

use crate::Kind;
use crate::answer::{Answer, Body, TEXT};
use crate::random::Random;

/// A request's head with its target taken apart.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) head: &'a Head<'a>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(head: &'a Head<'a>) -> Self {
        let target = origin_form(head.target());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method: head.method(),
            path,
            query,
            head,
        }
    }

    fn reads(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }

    /// The answer of `make` for GET and HEAD, else 405.
    fn get(&self, make: impl FnOnce() -> Answer) -> Answer {
        if self.reads() {
            make()
        } else {
            Answer::not_allowed("GET, HEAD")
        }
    }

    /// A field's value where it is UTF-8.
    fn text(&self, name: &str) -> Option<&'a str> {
        std::str::from_utf8(self.head.field(name)?).ok()
    }
}

/// Takes scheme and authority off an absolute-form target (RFC 9112 3.2.2).
fn origin_form(target: &str) -> &str {
    let Some(rest) = target.strip_prefix("http://") else {
        return target;
    };
    rest.find('/').map_or("/", |at| &rest[at..])
}

/// Decides at the head. `scratch` is empty and keeps what the answer will need at the end.
pub(crate) fn answer(
    kind: Kind,
    asked: &Asked<'_>,
    scratch: &mut Vec<u8>,
    random: &mut Random,
) -> Answer {
    match kind {
        Kind::Ping if asked.path == "/ping" => {
            asked.get(|| Answer::ok("text/plain", Body::Static(b"ok")))
        }
        Kind::Ping => Answer::not_found(),
        Kind::GoBench => go_bench::answer(asked, scratch, random),
        Kind::Httpbin => httpbin::answer(asked, scratch, random),
        // It has workers of its own, which never ask here.
        Kind::Pathology => Answer::not_found(),
    }
}

/// A body of so many bytes, or the refusal of more than fits.
fn sized(bytes: Option<u64>, content_type: &'static str, body: fn(u64) -> Body) -> Answer {
    match bytes {
        Some(bytes) if bytes <= crate::BODY_BYTES_MAX => Answer::ok(content_type, body(bytes)),
        Some(_) => Answer::error(400, "upstream: at most 128 MiB are answered\n"),
        None => Answer::error(400, "upstream: not a size; write 350B, 5KB or 1M\n"),
    }
}

/// 200 `text/plain` after a while, or the refusal of what is no duration.
fn delayed(delay_ns: Option<u64>, refusal: &'static str) -> Answer {
    match delay_ns {
        Some(delay_ns) => Answer {
            delay_ns,
            ..Answer::ok(TEXT, Body::Static(b"delayed\n"))
        },
        None => Answer::error(400, refusal),
    }
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
