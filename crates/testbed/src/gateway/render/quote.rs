//! Filters for templates. Most of them quote a user's string for a gateway's configuration: a key
//! or a mock body may contain quotes, dollar signs and newlines, which would otherwise change the
//! configuration.

use std::net::{IpAddr, SocketAddr};

use gatebench_model::HumanDuration;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value, context};

use crate::gateway::binary::version;

/// Adds the filters of this module, whose names are part of the folder contract.
pub(crate) fn add_filters(environment: &mut Environment<'_>) {
    environment.add_filter("nginx_literal", nginx_literal);
    environment.add_filter("nginx_string", nginx_string);
    environment.add_filter("haproxy_string", haproxy_string);
    environment.add_filter("haproxy_argument", haproxy_argument);
    environment.add_filter("lua_string", lua_string);
    environment.add_filter("apache_string", apache_string);
    environment.add_filter("vcl_string", vcl_string);
    environment.add_filter("regex_literal", regex_literal);
    environment.add_filter("regex_bytes", regex_bytes);
    environment.add_filter("word", word);
    environment.add_filter("endpoint", endpoint);
    environment.add_filter("seconds", seconds);
    environment.add_filter("settings_of", settings_of);
    environment.add_filter("each_key", each_key);
    environment.add_filter("at_least", at_least);
}

/// `{{ text | nginx_literal }}`: an nginx token in places where nginx expands no variables, such as
/// the left side of a `map`.
fn nginx_literal(text: &str) -> Result<String, Error> {
    quoted(text, |c| match c {
        '"' | '\\' => Some(format!("\\{c}")),
        '\r' => Some(r"\r".into()),
        '\n' | '\t' => Some(c.into()),
        c => printable(c),
    })
}

/// `{{ text | nginx_string }}`: an nginx token in places where nginx expands variables, such as the
/// text of a `return`. nginx has no escape for `$`; the template must declare `geo $dollar {
/// default "$"; }`.
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

/// `{{ text | haproxy_argument }}`: an argument of a HAProxy fetch or converter, as in
/// `map_beg(…)`. HAProxy removes the quotes of the word first, so a comma or a parenthesis ends the
/// argument unless it is quoted separately.
fn haproxy_argument(text: &str) -> Result<String, Error> {
    haproxy_string(&format!("'{}'", text.replace('\'', r"'\''")))
}

/// `{{ text | lua_string }}`: a Lua string. Bytes other than ASCII letters, digits, spaces and a
/// few punctuation marks are written as numbers, which every version of Lua accepts.
fn lua_string(text: &str) -> String {
    let byte = |byte: u8| match char::from(byte) {
        c if c.is_ascii_alphanumeric() || " -_./:=".contains(c) => c.to_string(),
        _ => format!("\\{byte:03}"),
    };
    format!("\"{}\"", text.bytes().map(byte).collect::<String>())
}

/// `{{ text | apache_string }}`: a word of an Apache httpd directive, in quotes.
fn apache_string(text: &str) -> Result<String, Error> {
    if text.contains("${") {
        // httpd replaces `${NAME}`, which cannot be escaped.
        let message = format!("'{text}' contains ${{, which httpd replaces");
        return Err(wrong(message));
    }
    quoted(text, |c| match c {
        '"' | '\\' => Some(format!("\\{c}")),
        c => printable(c),
    })
}

/// `{{ text | vcl_string }}`: a VCL expression with this text as its value. Long strings in VCL end
/// at `"}`, which cannot be escaped, so the text is concatenated from parts without `"}`.
fn vcl_string(text: &str) -> Result<String, Error> {
    if text.contains('\0') {
        return Err(wrong("U+0000 cannot be part of a configuration".into()));
    }
    let parts = text.replace("\"}", "\"\0}");
    let long = parts.split('\0').map(|part| format!("{{\"{part}\"}}"));
    Ok(long.collect::<Vec<_>>().join(" + "))
}

/// `{{ text | regex_literal }}`: a regular expression that matches exactly this text.
fn regex_literal(text: &str) -> String {
    regex_lite::escape(text)
}

/// `{{ text | regex_bytes }}`: like `regex_literal`, for places where neither quotes nor spaces can
/// be escaped. All bytes other than ASCII letters, digits, `/`, `-` and `_` are written as numbers.
fn regex_bytes(text: &str) -> String {
    let byte = |byte: u8| match char::from(byte) {
        c if c.is_ascii_alphanumeric() || "/-_".contains(c) => c.to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    text.bytes().map(byte).collect()
}

/// `{{ name | word }}`: lower case, with `_` for everything but ASCII letters and digits;
/// `X-Api-Key` becomes `x_api_key`, as in nginx's `$http_x_api_key`.
fn word(text: &str) -> String {
    text.to_ascii_lowercase()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// `{{ listener | endpoint }}`, `{{ target | endpoint }}`: the address with the port, such as
/// `127.0.0.1:80` or `[::1]:80`.
fn endpoint(value: &Value) -> Result<String, Error> {
    let address = value.get_attr("address")?.to_string();
    let port = u16::try_from(value.get_attr("port")?)?;
    let address: IpAddr = address
        .parse()
        .map_err(|_| wrong(format!("'{address}' is not an IP address")))?;
    Ok(SocketAddr::new(address, port).to_string())
}

/// `{{ policy.rate_limit.window | seconds }}`: a duration as a number of seconds; `15m` becomes
/// 900.
fn seconds(text: &str) -> Result<f64, Error> {
    let duration: Result<HumanDuration, _> = text.parse();
    match duration {
        Ok(duration) => Ok(duration.as_secs_f64()),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// `{{ routes | settings_of("api_key") }}`: the distinct settings of this policy in these routes,
/// for gateways that declare settings once and refer to them in routes.
pub(crate) fn settings_of(routes: &Value, kind: &str) -> Result<Vec<Value>, Error> {
    let mut found: Vec<Value> = Vec::new();
    for route in routes.try_iter()? {
        for policy in route.get_attr("policies")?.try_iter()? {
            let settings = policy.get_attr(kind)?;
            if settings.kind() == ValueKind::Undefined {
                let message = format!("there is no policy '{kind}' in this contract");
                return Err(wrong(message));
            }
            if !settings.is_none() && !found.contains(&settings) {
                found.push(settings);
            }
        }
    }
    Ok(found)
}

/// `{{ consumers | each_key }}`: a list that contains, for each key, a map with the `key` and its
/// `client`. Templates should not build this list themselves, because a template can append an item
/// only by copying the whole list.
fn each_key(consumers: &Value) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for consumer in consumers.try_iter()? {
        let client = consumer.get_attr("name")?;
        for key in consumer.get_attr("keys")?.try_iter()? {
            found.push(context! { key, client => client.clone() });
        }
    }
    Ok(found)
}

/// `{{ version | at_least("3.6") }}`: true for 3.6 and later versions, including 3.10.
fn at_least(version: &str, bound: &str) -> bool {
    version::at_least(version, bound)
}

fn quoted(text: &str, escape: impl Fn(char) -> Option<String>) -> Result<String, Error> {
    let mut out = String::from("\"");
    for c in text.chars() {
        let code = u32::from(c);
        let unfit = || wrong(format!("U+{code:04X} cannot be part of a configuration"));
        out.push_str(&escape(c).ok_or_else(unfit)?);
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
    use super::*;

    #[test]
    fn nginx_strings_escape_their_contents() {
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
        let injected = haproxy_string("a\n  http-request deny").unwrap();
        assert_eq!(injected, r#""a\n  http-request deny""#);
        let special = haproxy_string(r#"$HOME "x" #\"#).unwrap();
        assert_eq!(special, r#""\$HOME \"x\" #\\""#);
    }

    #[test]
    fn arguments_of_haproxy_may_contain_commas() {
        let quoted = haproxy_argument("a, b) $c").unwrap();
        assert_eq!(quoted, r#""'a, b) \$c'""#);
        assert_eq!(haproxy_argument("it's").unwrap(), r#""'it'\\''s'""#);
    }

    #[test]
    fn lua_strings_contain_only_plain_bytes() {
        assert_eq!(lua_string("a\"\\]]\n"), r#""a\034\092\093\093\010""#);
        assert_eq!(lua_string("é1"), r#""\195\1691""#);
    }

    #[test]
    fn httpd_replaces_nothing_in_words() {
        assert_eq!(apache_string(r#"a "b" \"#).unwrap(), r#""a \"b\" \\""#);
        assert!(apache_string("${HOME}").is_err() && apache_string("a\nb").is_err());
    }

    #[test]
    fn vcl_strings_do_not_end_early() {
        assert_eq!(vcl_string("a\nb").unwrap(), "{\"a\nb\"}");
        assert_eq!(vcl_string("x\"}y").unwrap(), "{\"x\"\"} + {\"}y\"}");
    }

    #[test]
    fn expressions_of_bytes_contain_neither_quotes_nor_spaces() {
        assert_eq!(regex_bytes("/a-b"), "/a-b");
        assert_eq!(regex_bytes("k 1\"é"), r"k\x201\x22\xc3\xa9");
    }

    #[test]
    fn endpoints_have_addresses_of_both_families() {
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
    fn each_key_has_its_client() {
        let both = [
            context! { name => "a", keys => ["k1", "k2"] },
            context! { name => "b", keys => ["k3"] },
        ];
        let keys = each_key(&Value::from(Vec::from(both))).unwrap();
        let attributes = |it: &Value| ["client", "key"].map(|name| it.get_attr(name).unwrap());
        let rendered = keys
            .iter()
            .map(|it| attributes(it).map(|it| it.to_string()).join(" "));
        assert!(rendered.eq(["a k1", "a k2", "b k3"]));
    }

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        assert!(at_least("3.10.0", "3.6") && at_least("3.6", "3.6"));
        assert!(!at_least("3.5.0", "3.6"));
    }

    #[test]
    fn words_have_the_form_of_nginx_variables() {
        assert_eq!(word("X-Api-Key"), "x_api_key");
    }
}
