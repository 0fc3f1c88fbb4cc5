//! httpbin's `/anything`, which returns the request as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::asked::Asked;
use crate::json;
use crate::response::{AnythingParts, Body, JSON, Response};

/// Chooses the response, and writes the members that are known from the head to the scratch buffer.
pub(super) fn prepare(asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    json::write_pairs(scratch, asked.query);
    let args_end = scratch.len();
    write_fields(scratch, asked);
    let headers_end = scratch.len();
    scratch.extend_from_slice(b",\"method\":");
    json::write_string(scratch, asked.method);
    scratch.extend_from_slice(b",\"origin\":");
    write_origin(scratch, asked);
    scratch.extend_from_slice(b",\"url\":");
    write_url(scratch, asked);
    scratch.push(b'}');
    let is_form = asked.text("Content-Type").is_some_and(|value| {
        value
            .trim_start()
            .starts_with("application/x-www-form-urlencoded")
    });
    Response::ok(
        JSON,
        Body::Anything(AnythingParts {
            args_end,
            headers_end,
            is_form,
        }),
    )
}

/// Writes the client's address as a gateway reports it in X-Forwarded-For, or an empty string if
/// the request has no such field.
pub(super) fn write_origin(out: &mut Vec<u8>, asked: &Asked<'_>) {
    json::write_bytes(out, asked.field("X-Forwarded-For").unwrap_or_default());
}

pub(super) fn write_url(scratch: &mut Vec<u8>, asked: &Asked<'_>) {
    let host = String::from_utf8_lossy(asked.host());
    let mark = if asked.query.is_empty() { "" } else { "?" };
    json::write_string(
        scratch,
        &["http://", &host, asked.path, mark, asked.query].concat(),
    );
}

/// Writes the fields as an object. Names are in title case, and the values of repeated names are
/// joined with commas.
pub(super) fn write_fields(out: &mut Vec<u8>, asked: &Asked<'_>) {
    out.push(b'{');
    let mut written = 0;
    for (at, (name, value)) in asked.fields().enumerate() {
        let same = |(other, _): &(&str, &[u8])| other.eq_ignore_ascii_case(name);
        if asked.fields().take(at).any(|earlier| same(&earlier)) {
            continue;
        }
        json::separate(out, written);
        written += 1;
        write_title_case(out, name);
        out.push(b':');
        if asked.fields().skip(at + 1).any(|later| same(&later)) {
            let values: Vec<_> = asked.fields().filter(same).map(|it| it.1).collect();
            json::write_bytes(out, &values.join(&b","[..]));
        } else {
            json::write_bytes(out, value);
        }
    }
    out.push(b'}');
}

/// Writes a field name, which is a token (RFC 9110 5.6.2) and therefore requires no escapes.
fn write_title_case(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    let mut starts_word = true;
    for byte in name.bytes() {
        out.push(if starts_word {
            byte.to_ascii_uppercase()
        } else {
            byte.to_ascii_lowercase()
        });
        starts_word = byte == b'-';
    }
    out.push(b'"');
}

/// Writes the body of the response once the request's body is known.
pub(crate) fn write_anything(
    out: &mut Vec<u8>,
    parts: AnythingParts,
    scratch: &[u8],
    request_body: &[u8],
) {
    let text = std::str::from_utf8(request_body);
    out.extend_from_slice(b"{\"args\":");
    out.extend_from_slice(&scratch[..parts.args_end]);
    out.extend_from_slice(b",\"data\":");
    match text {
        _ if parts.is_form => json::write_string(out, ""),
        Ok(text) => json::write_string(out, text),
        Err(_) => {
            let encoded = STANDARD.encode(request_body);
            json::write_string(
                out,
                &["data:application/octet-stream;base64,", &encoded].concat(),
            );
        }
    }
    out.extend_from_slice(b",\"files\":{},\"form\":");
    json::write_pairs(out, text.ok().filter(|_| parts.is_form).unwrap_or(""));
    out.extend_from_slice(b",\"headers\":");
    out.extend_from_slice(&scratch[parts.args_end..parts.headers_end]);
    out.extend_from_slice(b",\"json\":");
    match serde_json::from_slice::<serde::de::IgnoredAny>(request_body) {
        // JSON is returned byte for byte, so numbers and spacing do not change.
        Ok(_) => out.extend_from_slice(request_body),
        Err(_) => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(&scratch[parts.headers_end..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anything(body: &[u8], is_form: bool) -> serde_json::Value {
        let scratch = br#"{"a":"1"}{"Host":"h"},"method":"POST"}"#;
        let parts = AnythingParts {
            args_end: 9,
            headers_end: 21,
            is_form,
        };
        let mut out = Vec::new();
        write_anything(&mut out, parts, scratch, body);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn json_comes_back_as_text_and_as_json() {
        let response = anything(br#"{"n": 1.50}"#, false);
        assert_eq!(response["data"], r#"{"n": 1.50}"#);
        assert_eq!(response["json"]["n"], 1.5);
        assert_eq!(response["args"]["a"], "1");
        assert_eq!(response["headers"]["Host"], "h");
        assert_eq!(response["method"], "POST");
        let members = response.as_object().unwrap().keys();
        let expected = ["args", "data", "files", "form", "headers", "json", "method"];
        assert!(members.eq(expected));
    }

    #[test]
    fn forms_text_and_bytes_are_distinguished() {
        let form = anything(b"x=1&y=2", true);
        assert_eq!(form["form"]["y"], "2");
        assert_eq!(form["data"], "");
        assert_eq!(anything(b"plain", false)["json"], serde_json::Value::Null);
        let bytes = anything(b"\xff\x00", false);
        assert_eq!(bytes["data"], "data:application/octet-stream;base64,/wA=");
    }
}
