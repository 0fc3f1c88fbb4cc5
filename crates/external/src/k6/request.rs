//! A request as a JavaScript object.

use gatebench_model::request::FILLER;
use gatebench_model::{Body, Check, Request};

use super::check;
use super::data::{self, Sources};
use super::script::Purpose;
use crate::text::js;

pub(super) struct Style<'a> {
    pub(super) sources: &'a Sources,
    pub(super) filled: bool,
    /// True if requests are drawn by weight instead of sent in turn.
    pub(super) weighted: bool,
    /// True if each request states its turns, as in [`data::definitions`].
    pub(super) has_turns: bool,
    pub(super) purpose: Purpose,
}

impl Style<'_> {
    /// Returns the request at `index` among the `requests` of its group as JavaScript. If any
    /// request of the script is filled with data, the path, the body and the headers are functions
    /// of the drawn rows.
    pub(super) fn written(&self, requests: &[Request], index: usize) -> String {
        let (sources, request) = (self.sources, &requests[index]);
        let lazy = if self.filled { "(row) => " } else { "" };
        let mut text = String::from("  {\n");
        if self.weighted {
            text += &format!("    weight: {},\n", request.weight);
        }
        if self.has_turns {
            text += &format!("    turns: {},\n", turns(sources, requests, index));
        }
        text += &format!("    method: {},\n", js(&request.method));
        text += &format!("    path: {lazy}{},\n", data::text(&request.path, sources));
        text += &format!("    body: {lazy}{},\n", body(request, sources));
        let headers = headers(request, sources);
        // After an arrow, a brace would begin a function body.
        let headers = match self.filled {
            true => format!("({headers})"),
            false => headers,
        };
        text += &format!("    headers: {lazy}{headers},\n");
        text += &format!("    params: {{ {} }},\n", params(request, self.purpose));
        let checks: Vec<String> = request.checks.iter().map(check::entry).collect();
        text += &match checks.join(",\n      ") {
            none if none.is_empty() => "    checks: {},\n".into(),
            checks => format!("    checks: {{\n      {checks},\n    }},\n"),
        };
        text + "  },\n"
    }
}

fn headers(request: &Request, sources: &Sources) -> String {
    let headers = request.headers.iter();
    object(headers.map(|(name, it)| format!("{}: {}", js(name), data::text(it, sources))))
}

/// Returns, for each source that a request uses, the number of requests of its group before it that
/// use the source, and the number of all that do.
fn turns(sources: &Sources, requests: &[Request], index: usize) -> String {
    let used = sources.keys().filter(|name| uses(&requests[index], name));
    object(used.map(|name| {
        let users = |of: &[Request]| of.iter().filter(|it| uses(it, name)).count();
        let (before, all) = (users(&requests[..index]), users(requests));
        format!("{}: [{before}, {all}]", js(name))
    }))
}

fn object(entries: impl Iterator<Item = String>) -> String {
    match &entries.collect::<Vec<_>>()[..] {
        [] => "{}".into(),
        entries => format!("{{ {} }}", entries.join(", ")),
    }
}

/// Returns the strings of a request that may be templates.
pub(super) fn texts(request: &Request) -> impl Iterator<Item = &str> {
    let headers = request.headers.values().map(String::as_str);
    let body = request.body.as_ref().and_then(|body| body.text());
    std::iter::once(request.path.as_str())
        .chain(headers)
        .chain(body)
}

pub(super) fn uses(request: &Request, source: &str) -> bool {
    texts(request).any(|text| data::draws_from(text, source))
}

fn body(request: &Request, sources: &Sources) -> String {
    if let Some(length) = request.body.as_ref().and_then(Body::filler_bytes) {
        return format!("'{FILLER}'.repeat({length})");
    }
    if let Some(base64) = binary_body(request) {
        return format!("encoding.b64decode({})", js(&base64));
    }
    match request.body.as_ref().and_then(|body| body.text()) {
        Some(body) => data::text(body, sources),
        None => "null".into(),
    }
}

/// Returns a binary body in Base64, as in the scenario.
pub(super) fn binary_body(request: &Request) -> Option<String> {
    let body = request.body.as_ref().filter(|body| body.text().is_none())?;
    let written = serde_json::to_value(body).ok()?;
    written["base64"].as_str().map(str::to_owned)
}

/// Returns the parameters of a request other than its headers and timeout: one name for all its
/// paths, and the type of body that its checks need. In a script for users, they include the status
/// codes that the checks `status` and `status_in` expect, except for a `status` below 400.
fn params(request: &Request, purpose: Purpose) -> String {
    let mut params = vec![format!("tags: {{ name: {} }}", js(&request.label()))];
    if check::need_body(request) {
        params.push("responseType: 'text'".into());
    } else if check::need_length(request) {
        params.push("responseType: 'binary'".into());
    }
    for check in request.checks.iter().filter(|_| purpose == Purpose::Keep) {
        let expected: Vec<String> = match check {
            Check::Status(status @ 400..) => vec![status.to_string()],
            Check::StatusIn(statuses) => statuses.iter().map(u16::to_string).collect(),
            _ => continue,
        };
        let expected = expected.join(", ");
        params.push(format!(
            "responseCallback: http.expectedStatuses({expected})"
        ));
    }
    params.join(", ")
}
