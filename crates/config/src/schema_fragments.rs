//! Schemas of strings and simple lists in users' files. `patternErrorMessage` is the message that
//! editors and [`parse`](crate::parse) show if a string does not match its pattern.

use schemars::{Schema, SchemaGenerator, json_schema};

const NAME_FORM: &str = "write lowercase letters, digits and hyphens, as in proxy-json";
const PLAIN_PATH: &str = "^/[!-~]*$";
const HEADER_NAME: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
const HEADER_NAME_FORM: &str = "write letters, digits and hyphens only, as in X-Api-Key";
const SHA256: &str = "^[0-9a-f]{64}$";

fn text(pattern: &str, message: &str) -> Schema {
    json_schema!({"type": "string", "pattern": pattern, "patternErrorMessage": message})
}

fn optional_text(pattern: &str, message: &str) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": pattern, "patternErrorMessage": message})
}

/// A name of lowercase letters, digits and hyphens, so that it can be a file name and a word on a
/// command line.
pub fn name(_: &mut SchemaGenerator) -> Schema {
    text("^[a-z0-9][a-z0-9-]*$", NAME_FORM)
}

/// A [`name`] of an item that may be repeated. It may contain `{{ index }}`.
pub fn name_template(_: &mut SchemaGenerator) -> Schema {
    let pattern = r"^([a-z0-9]|\{\{ *index *\}\})([a-z0-9-]|\{\{ *index *\}\})*$";
    text(pattern, NAME_FORM)
}

/// The name of a client, which is also its user name. It may contain `{{ index }}`, like a
/// [`name_template`].
pub fn client_template(_: &mut SchemaGenerator) -> Schema {
    text(
        r"^([A-Za-z0-9._@+-]|\{\{ *index *\}\})+$",
        "write letters, digits and . _ @ + - only, as in alice or alice@example.com",
    )
}

/// A URL path, with or without a query, that may contain placeholders such as `{{ id }}`.
pub fn path(_: &mut SchemaGenerator) -> Schema {
    text(
        r#"^/([!"$-~]|\{\{( *[A-Za-z0-9_.-]+| *"[^"]*"| *'[^']*') *\}\})*$"#,
        "write a path that begins with /, as in /json/valid; spaces and special characters are percent-encoded, as in %20",
    )
}

/// A URL path, with or without a query, in which placeholders are not replaced.
pub fn plain_path(_: &mut SchemaGenerator) -> Schema {
    text(PLAIN_PATH, "write a path that begins with /, as in /ws")
}

pub fn optional_path(_: &mut SchemaGenerator) -> Schema {
    optional_text(PLAIN_PATH, "write a path that begins with /, as in /ready")
}

/// Base64 (RFC 4648 section 4), with padding.
pub fn base64(_: &mut SchemaGenerator) -> Schema {
    text(
        "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        "write Base64 with its padding, as in aGVsbG8=",
    )
}

pub fn sha256s(_: &mut SchemaGenerator) -> Schema {
    let message = "write 64 lowercase hexadecimal digits, as `pip hash FILE` prints";
    json_schema!({"type": "array", "minItems": 1, "items": text(SHA256, message)})
}

pub fn optional_sha256(_: &mut SchemaGenerator) -> Schema {
    let message = "write 64 lowercase hexadecimal digits, as `sha256sum FILE` prints";
    optional_text(SHA256, message)
}

/// An HTTP method in uppercase letters, like all common methods. RFC 9110 section 9.1 allows any
/// token.
pub fn method(_: &mut SchemaGenerator) -> Schema {
    let message = "write it in uppercase letters, as in GET or POST";
    text("^[A-Z]+$", message)
}

/// An HTTP field name, which is a token (RFC 9110 section 5.1).
pub fn header_name(_: &mut SchemaGenerator) -> Schema {
    text(HEADER_NAME, HEADER_NAME_FORM)
}

pub fn optional_header_name(_: &mut SchemaGenerator) -> Schema {
    optional_text(HEADER_NAME, HEADER_NAME_FORM)
}

pub fn header_names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": text(HEADER_NAME, HEADER_NAME_FORM)})
}

pub fn json_pointers(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": json_pointer(generator)})
}

pub fn statuses(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "minItems": 1,
        "items": {"type": "integer", "minimum": 100, "maximum": 599}
    })
}

/// A JSON Pointer (RFC 6901).
pub fn json_pointer(_: &mut SchemaGenerator) -> Schema {
    text(
        "^(/([^~]|~[01])*)?$",
        "write a JSON Pointer, as in /items/0/name; the empty string is the whole document",
    )
}

/// The name of the signal of an action, without `SIG`.
pub fn action_signal(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["HUP", "USR1", "USR2", "WINCH"]})
}

/// The name of the signal that stops a gateway, without `SIG`.
pub fn stop_signal(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["TERM", "QUIT", "INT", "USR1", "USR2", "HUP", "WINCH", "KILL"]})
}

pub fn tags(_: &mut SchemaGenerator) -> Schema {
    let message = "write lowercase letters, digits, hyphens and underscores, as in single_route";
    json_schema!({"type": "array", "items": text("^[a-z0-9][a-z0-9_-]*$", message)})
}
