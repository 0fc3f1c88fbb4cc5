//! Answers the gateway makes itself.

use gatebench_net::http1::{BodyLength, write_response_head};

use crate::config::Mock;

/// An answer of the gateway's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a str,
}

impl<'a> Local<'a> {
    pub(crate) fn mock(mock: &'a Mock) -> Self {
        Self {
            status: mock.status,
            content_type: &mock.content_type,
            body: &mock.body,
        }
    }

    pub(crate) fn error(status: u16) -> Self {
        Self {
            status,
            content_type: "text/plain",
            body: words(status),
        }
    }
}

/// How an answer goes to its client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Toward {
    /// The request was HEAD.
    pub(crate) is_head: bool,
    pub(crate) is_http10: bool,
    pub(crate) keep_alive: bool,
}

impl Toward {
    /// The Connection field that this client needs to be sent (RFC 9112 9.3).
    pub(crate) fn connection(self) -> Option<(&'static str, &'static [u8])> {
        match (self.keep_alive, self.is_http10) {
            (false, _) => Some(("Connection", b"close")),
            (true, true) => Some(("Connection", b"keep-alive")),
            (true, false) => None,
        }
    }
}

/// Writes an answer of the gateway's own.
pub(crate) fn write_local(out: &mut Vec<u8>, local: Local<'_>, toward: Toward) {
    let fields = [
        Some(("Content-Type", local.content_type.as_bytes())),
        // RFC 9110 15.5.2: 401 must say how to authenticate.
        (local.status == 401).then_some(("WWW-Authenticate", &b"ApiKey"[..])),
        toward.connection(),
    ];
    let has_body = !matches!(local.status, 204 | 304);
    let length = if has_body {
        BodyLength::Length(local.body.len() as u64)
    } else {
        BodyLength::None
    };
    write_response_head(out, local.status, fields.into_iter().flatten(), length);
    if has_body && !toward.is_head {
        out.extend_from_slice(local.body.as_bytes());
    }
}

fn words(status: u16) -> &'static str {
    match status {
        401 => "gateway: no valid key\n",
        404 => "gateway: no route matches the path\n",
        408 => "gateway: the request did not come whole in time\n",
        502 => "gateway: the upstream cannot be reached or broke off\n",
        504 => "gateway: the upstream did not answer in time\n",
        _ => "gateway: the request is refused\n",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn written(local: Local<'_>, toward: Toward) -> String {
        let mut out = Vec::new();
        write_local(&mut out, local, toward);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn answers_fit_their_client() {
        let plain = Toward {
            is_head: false,
            is_http10: false,
            keep_alive: true,
        };
        let mock = Local {
            status: 200,
            content_type: "text/plain",
            body: "Hello",
        };
        assert_eq!(
            written(mock, plain),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nHello"
        );
        assert!(
            written(
                mock,
                Toward {
                    is_head: true,
                    ..plain
                }
            )
            .ends_with("Length: 5\r\n\r\n")
        );
        let old = written(
            mock,
            Toward {
                is_http10: true,
                ..plain
            },
        );
        assert!(old.contains("Connection: keep-alive\r\n"));
        let last = written(
            Local::error(401),
            Toward {
                keep_alive: false,
                ..plain
            },
        );
        assert!(last.contains("Connection: close\r\n") && last.contains("WWW-Authenticate: "));
        let empty = written(
            Local {
                status: 204,
                content_type: "text/plain",
                body: "",
            },
            plain,
        );
        assert!(!empty.contains("Content-Length"));
    }
}
