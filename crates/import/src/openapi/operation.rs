//! Converts an operation to a request.

use std::collections::BTreeMap;

use gatebench_model::{Body, Check, Request, template};
use serde_json::Value;

use super::resolve::Document;
use super::sample;

/// The expected status if an operation lists no successful status.
const STATUS: u16 = 200;

/// An operation, and a request that it allows.
pub(super) struct Operation {
    /// The method and the path, as in `GET /pets/{id}`.
    pub(super) name: String,
    pub(super) path: String,
    pub(super) request: Request,
    pub(super) wrong_body: Option<String>,
}

impl Operation {
    /// Converts an operation, or returns the reason why no request can be created for it.
    pub(super) fn read(
        document: &Document,
        base: &str,
        path: &str,
        method: &str,
        item: &Value,
    ) -> Result<Self, &'static str> {
        let operation = document.resolved(item.get(method).unwrap_or(&Value::Null));
        let method = method.to_uppercase();
        let name = format!("{method} {path}");
        let mut target = Target {
            path: path.to_owned(),
            ..Target::default()
        };
        let shared = item.get("parameters").and_then(Value::as_array);
        let own = operation.get("parameters").and_then(Value::as_array);
        for parameter in parameters(document, shared.into_iter().chain(own).flatten()) {
            target.add(document, parameter)?;
        }
        let full = format!("{base}{}", target.path_and_query()?);
        let mut request = Request::new(method, template::escape(&full));
        request.name = Some(name.clone());
        request.headers.extend(target.headers);
        let mut wrong_body = None;
        if let Some(body) = operation.get("requestBody") {
            wrong_body = add_body(document, document.resolved(body), &mut request)?;
        }
        let status = status(operation);
        if status != STATUS {
            let header = ("X-Response-Status".into(), status.to_string());
            request.headers.extend([header]);
        }
        request.checks = vec![Check::Status(status)];
        Ok(Self {
            name,
            path: path.to_owned(),
            request,
            wrong_body,
        })
    }
}

/// Returns the parameters. A later parameter replaces an earlier one with the same name and place,
/// because an operation overrides the parameters of its path.
fn parameters<'d>(document: &'d Document, all: impl Iterator<Item = &'d Value>) -> Vec<&'d Value> {
    let mut parameters: Vec<&Value> = Vec::new();
    for parameter in all {
        let parameter = document.resolved(parameter);
        let is_same = |it: &Value| {
            ["in", "name"]
                .iter()
                .all(|key| it.get(key) == parameter.get(key))
        };
        parameters.retain(|it| !is_same(it));
        parameters.push(parameter);
    }
    parameters
}

fn status(operation: &Value) -> u16 {
    let responses = operation.get("responses").and_then(Value::as_object);
    let codes = responses.into_iter().flatten();
    let codes = codes.filter_map(|(code, _)| code.parse().ok());
    let successes = codes.filter(|code| (200..300).contains(code));
    successes.min().unwrap_or(STATUS)
}

/// Adds a JSON or form body. If the body is a JSON object, returns an empty array, which is a body
/// of the wrong type.
fn add_body(
    document: &Document,
    body: &Value,
    request: &mut Request,
) -> Result<Option<String>, &'static str> {
    let content = body.get("content").and_then(Value::as_object);
    let content = content.ok_or("its body has no content")?;
    let is_json = |kind: &str| kind.starts_with("application/json") || kind.contains("+json");
    let found = content.iter().find(|(kind, _)| is_json(kind));
    let form = content.get_key_value("application/x-www-form-urlencoded");
    let Some((kind, media)) = found.or(form) else {
        return Err("its body is neither JSON nor a URL-encoded form");
    };
    let example = media.get("example").or_else(|| {
        let examples = media.get("examples").and_then(Value::as_object)?;
        let (_, first) = examples.iter().next()?;
        document.resolved(first).get("value")
    });
    let sample = match example {
        Some(example) => Some(example.clone()),
        None => sample::of(document, media.get("schema").unwrap_or(&Value::Null)),
    };
    let sample = sample.ok_or("no value can be generated for its body")?;
    let text = match found.is_some() {
        true => sample.to_string(),
        false => {
            let members = sample.as_object().into_iter().flatten();
            query(members.map(|(name, value)| (name.as_str(), plain(value))))
        }
    };
    request.headers.insert("Content-Type".into(), kind.clone());
    request.body = Some(Body::new(template::escape(&text)));
    let is_object = found.is_some() && sample.is_object();
    Ok(is_object.then(|| "[]".to_owned()))
}

fn query<'n>(pairs: impl Iterator<Item = (&'n str, String)>) -> String {
    let pair = |(name, value): (&str, String)| format!("{}={}", encoded(name), encoded(&value));
    pairs.map(pair).collect::<Vec<_>>().join("&")
}

#[derive(Default)]
struct Target {
    path: String,
    query: Vec<(String, String)>,
    headers: BTreeMap<String, String>,
}

impl Target {
    /// Adds a parameter if it is part of the path or required.
    fn add(&mut self, document: &Document, parameter: &Value) -> Result<(), &'static str> {
        let word = |key: &str| parameter.get(key).and_then(Value::as_str);
        let name = word("name").ok_or("a parameter has no name")?;
        let place = word("in").unwrap_or_default();
        let is_required = parameter.get("required").and_then(Value::as_bool) == Some(true);
        if place != "path" && !is_required {
            return Ok(());
        }
        let schema = parameter.get("schema").unwrap_or(&Value::Null);
        let value = match parameter.get("example") {
            Some(example) => Some(example.clone()),
            None => sample::of(document, schema),
        };
        let value = plain(&value.ok_or("no value can be generated for a parameter")?);
        match place {
            "path" => self.path = self.path.replace(&format!("{{{name}}}"), &encoded(&value)),
            "query" => self.query.push((name.to_owned(), value)),
            "header" => drop(self.headers.insert(name.to_owned(), value)),
            "cookie" => {
                let cookies = self.headers.entry("Cookie".into()).or_default();
                let separator = if cookies.is_empty() { "" } else { "; " };
                cookies.push_str(&format!("{separator}{name}={value}"));
            }
            _ => return Err("a parameter has an unknown location"),
        }
        Ok(())
    }

    fn path_and_query(&self) -> Result<String, &'static str> {
        if self.path.contains('{') {
            return Err("a parameter of its path is not described");
        }
        let pairs = self.query.iter();
        match query(pairs.map(|(name, value)| (name.as_str(), value.clone()))) {
            query if query.is_empty() => Ok(self.path.clone()),
            query => Ok(format!("{}?{query}", self.path)),
        }
    }
}

/// Formats a value for a parameter. The items of an array are separated by commas.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            items.join(",")
        }
        other => other.to_string(),
    }
}

/// Percent-encodes all but unreserved characters and commas (RFC 3986 section 2.3).
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(item: &Value) -> Request {
        let document = Document { root: Value::Null };
        let operation = Operation::read(&document, "", "/pets/{id}", "get", item);
        operation.unwrap().request
    }

    #[test]
    fn an_operation_overrides_the_parameters_of_its_path() {
        let item = json!({
            "parameters": [
                { "in": "path", "name": "id", "example": "of the path" },
                { "in": "query", "name": "id", "required": true, "example": 2 },
                { "in": "query", "name": "page", "required": true, "example": 1 }
            ],
            "get": { "parameters": [
                { "in": "path", "name": "id", "example": 7 },
                { "in": "query", "name": "page" }
            ] }
        });
        assert_eq!(request(&item).path, "/pets/7?id=2");
    }

    #[test]
    fn all_required_cookies_are_sent() {
        let cookie =
            |name: &str| json!({ "in": "cookie", "name": name, "required": true, "example": 1 });
        let item = json!({ "get": { "parameters": [
            { "in": "path", "name": "id", "example": 7 }, cookie("a"), cookie("b")
        ] } });
        assert_eq!(request(&item).headers["Cookie"], "a=1; b=1");
    }
}
