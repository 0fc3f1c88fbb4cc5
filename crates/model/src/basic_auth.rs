//! The key `basic_auth` of a request: a name and a password, which become the header Authorization
//! (RFC 7617).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatebench_config::{Data, Entry, Node, Problem};
use schemars::{Schema, json_schema};

const KEY: &str = "basic_auth";
const HEADER: &str = "Authorization";

/// Adds the key to a request in the schema. The type lacks the key, because reading a file replaces
/// it with the header.
pub(crate) fn describe(schema: &mut Schema) {
    let credentials = json_schema!({
        "type": "object",
        "description": "A name and a password, which are sent in the header Authorization (HTTP Basic authentication).",
        "additionalProperties": false,
        "required": ["name", "password"],
        "properties": { "name": {"type": "string"}, "password": {"type": "string"} }
    });
    let properties = schema.get_mut("properties");
    if let Some(properties) = properties.and_then(|it| it.as_object_mut()) {
        properties.insert(KEY.into(), credentials.into());
    }
}

/// Replaces the credentials of all requests of a scenario with their header.
pub(crate) fn expand(root: &mut Node, problems: &mut Vec<Problem>) {
    requests(root, problems);
    for group in root.list_mut("groups") {
        requests(group, problems);
    }
    cases(root, problems);
    if let Some(later) = root.get_mut("later") {
        cases(later, problems);
    }
}

fn requests(of: &mut Node, problems: &mut Vec<Problem>) {
    for request in of.list_mut("requests") {
        replace(request, problems);
    }
}

fn cases(of: &mut Node, problems: &mut Vec<Problem>) {
    for case in of.list_mut("parity") {
        if let Some(request) = case.get_mut("request") {
            replace(request, problems);
        }
    }
}

fn replace(request: &mut Node, problems: &mut Vec<Problem>) {
    let Some(credentials) = request.take(KEY) else {
        return;
    };
    let mut headers = request.mapping("headers").iter();
    if let Some(other) = headers.find(|it| it.key.eq_ignore_ascii_case(HEADER)) {
        let message = format!("the request has both `{KEY}` and the header {HEADER}");
        problems.push(other.problem(message, "remove one of them"));
        return;
    }
    let value = match header(&credentials) {
        Some(Ok(value)) => value,
        Some(Err(problem)) => return problems.push(problem),
        None => return,
    };
    let header = Entry::new(HEADER, &credentials.span, Data::Text(value));
    match request.get_mut("headers") {
        Some(headers) => headers.push(header),
        None => {
            let headers = Data::Map(vec![header]);
            request.push(Entry::new("headers", &credentials.span, headers));
        }
    }
}

/// The value of the header, or the mistake in the credentials. `None` if the name or the password
/// is missing or not text, which the check against the schema reports.
fn header(credentials: &Node) -> Option<Result<String, Problem>> {
    let name = credentials.text_of("name")?;
    let password = credentials.text_of("password")?;
    if name.contains(':') {
        let message = "the name contains a colon, which separates the name from the password";
        let help = "use a name without a colon";
        return Some(Err(credentials.problem(message, help)));
    }
    if name.contains("{{") || password.contains("{{") {
        let message = "a name or a password cannot come from a data source";
        let help = "write the header Authorization, and add a column of Base64-encoded credentials to the \
                    data source";
        return Some(Err(credentials.problem(message, help)));
    }
    let encoded = STANDARD.encode(format!("{name}:{password}"));
    Some(Ok(format!("Basic {encoded}")))
}
