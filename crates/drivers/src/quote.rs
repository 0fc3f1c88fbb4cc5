//! Filters that make a user's string safe inside a gateway's configuration. A key or a mock body
//! may hold quotes, dollars and line ends; unquoted it would be configuration.

use std::net::{IpAddr, SocketAddr};

use gatebench_model::Span;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};

/// Adds every filter of this module to an environment. Their names are part of the folder contract.
pub(crate) fn add_filters(environment: &mut Environment<'_>) {
    environment.add_filter("nginx_literal", nginx_literal);
    environment.add_filter("nginx_string", nginx_string);
    environment.add_filter("haproxy_string", haproxy_string);
    environment.add_filter("regex_literal", regex_literal);
    environment.add_filter("word", word);
    environment.add_filter("endpoint", endpoint);
    environment.add_filter("seconds", seconds);
    environment.add_filter("settings_of", settings_of);
}

/// `{{ text | nginx_literal }}`: an nginx token where nginx expands no variables, such as the left
/// side of a `map`.
fn nginx_literal(text: &str) -> Result<String, Error> {
    let escape = |c: char| match c {
        '"' => Some(r#"\""#.into()),
        '\\' => Some(r"\\".into()),
        '\r' => Some(r"\r".into()),
        '\n' | '\t' => Some(c.into()),
        c => printable(c),
    };
    quoted(text, escape)
}

/// `{{ text | nginx_string }}`: an nginx token where variables are expanded, such as the text of a
/// `return`. nginx has no escape for `$`; the template must declare `geo $dollar { default "$"; }`.
fn nginx_string(text: &str) -> Result<String, Error> {
    Ok(nginx_literal(text)?.replace('$', "${dollar}"))
}

/// `{{ text | haproxy_string }}`: a HAProxy word in weak quotes.
fn haproxy_string(text: &str) -> Result<String, Error> {
    quoted(text, |c| match c {
        '"' | '\\' | '$' => Some(format!("\\{c}")),
        '\n' => Some(r"\n".into()),
        '\r' => Some(r"\r".into()),
        '\t' => Some(r"\t".into()),
        c => printable(c),
    })
}

/// `{{ text | regex_literal }}`: a regular expression that matches exactly this text.
fn regex_literal(text: &str) -> String {
    regex_lite::escape(text)
}

/// `{{ name | word }}`: lower case, with `_` for everything but letters and digits; `X-Api-Key`
/// becomes `x_api_key`, as in nginx's `$http_x_api_key`.
fn word(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect()
}

/// `{{ listener | endpoint }}`, `{{ target | endpoint }}`: `127.0.0.1:80`, `[::1]:80`.
fn endpoint(value: &Value) -> Result<String, Error> {
    let address = value.get_attr("address")?.to_string();
    let port = u16::try_from(value.get_attr("port")?)?;
    let address: IpAddr = address
        .parse()
        .map_err(|_| wrong(format!("'{address}' is not an IP address")))?;
    Ok(SocketAddr::new(address, port).to_string())
}

/// `{{ policy.rate_limit.window | seconds }}`: a duration as a number of seconds; `15m` becomes 900.
fn seconds(text: &str) -> Result<f64, Error> {
    let span: Span = text.parse().map_err(wrong)?;
    Ok(span.as_secs_f64())
}

/// `{{ routes | settings_of("api_key") }}`: the settings of this policy over all routes, each
/// different one once; for what a gateway declares once and refers to from routes.
fn settings_of(routes: &Value, kind: &str) -> Result<Vec<Value>, Error> {
    let mut found: Vec<Value> = Vec::new();
    for route in routes.try_iter()? {
        for policy in route.get_attr("policies")?.try_iter()? {
            let settings = policy.get_attr(kind)?;
            if settings.kind() == ValueKind::Undefined {
                return Err(wrong(format!(
                    "there is no policy '{kind}' in this contract"
                )));
            }
            if !settings.is_none() && !found.contains(&settings) {
                found.push(settings);
            }
        }
    }
    Ok(found)
}

fn quoted(text: &str, escape: impl Fn(char) -> Option<String>) -> Result<String, Error> {
    let mut out = String::from("\"");
    for c in text.chars() {
        let escaped = escape(c).ok_or_else(|| {
            wrong(format!(
                "U+{:04X} cannot stand in a configuration",
                u32::from(c)
            ))
        })?;
        out.push_str(&escaped);
    }
    out.push('"');
    Ok(out)
}

fn printable(c: char) -> Option<String> {
    (!c.is_control()).then(|| c.to_string())
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nginx_strings_are_closed_against_what_is_in_them() {
        assert_eq!(nginx_string("plain").unwrap(), r#""plain""#);
        assert_eq!(
            nginx_string(r#"a"; return 500 "$x\"#).unwrap(),
            r#""a\"; return 500 \"${dollar}x\\""#
        );
        assert_eq!(nginx_literal("$x").unwrap(), r#""$x""#);
        assert!(nginx_string("\0").is_err());
    }

    #[test]
    fn haproxy_strings_stay_on_their_line() {
        assert_eq!(
            haproxy_string("a\n  http-request deny").unwrap(),
            r#""a\n  http-request deny""#
        );
        assert_eq!(
            haproxy_string(r#"$HOME "x" #\"#).unwrap(),
            r#""\$HOME \"x\" #\\""#
        );
    }

    #[test]
    fn endpoints_know_both_families() {
        let at = |address: &str| endpoint(&minijinja::context! { address, port => 80 });
        assert_eq!(at("127.0.0.1").unwrap(), "127.0.0.1:80");
        assert_eq!(at("::1").unwrap(), "[::1]:80");
        assert!(at("localhost").is_err());
    }

    #[test]
    fn durations_become_seconds() {
        assert_eq!(
            (seconds("15m").unwrap(), seconds("250ms").unwrap()),
            (900.0, 0.25)
        );
        assert!(seconds("soon").is_err());
    }

    #[test]
    fn words_are_as_nginx_names_headers() {
        assert_eq!(word("X-Api-Key"), "x_api_key");
    }
}
