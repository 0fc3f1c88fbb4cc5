//! `-H`: the user's headers. Headers that the load generator controls are refused.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue};

/// Headers of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// The headers other than Host, by their names as written.
    pub fields: BTreeMap<String, String>,
    /// The value of the Host header, if given; it replaces the one derived from the URL.
    pub host: Option<String>,
}

/// Headers that the load generator controls, because framing and keep-alive depend on them.
const MADE: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

pub(crate) fn parse(lines: &[String]) -> Result<Headers, String> {
    let mut headers = Headers::default();
    for line in lines {
        let (name, value) = parse_one(line)?;
        if name.eq_ignore_ascii_case("host") {
            headers.host = Some(value);
            continue;
        }
        let mut known = headers.fields.keys();
        if known.any(|known| known.eq_ignore_ascii_case(&name)) {
            return Err(format!(
                "header {name} is given twice: join the values with a comma (for Cookie, with a semicolon)"
            ));
        }
        headers.fields.insert(name, value);
    }
    Ok(headers)
}

fn parse_one(line: &str) -> Result<(String, String), String> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| format!("'{line}' is not a header: write 'Name: value'"))?;
    let (name, value) = (name.trim(), value.trim());
    let known = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("'{name}' is not a header name: write 'Name: value'"))?;
    if MADE.contains(&known.as_str()) {
        return Err(format!("gatebench controls {name} itself: omit it"));
    }
    HeaderValue::from_str(value).map_err(|_| {
        format!("the value of {name} contains a character that headers do not allow")
    })?;
    Ok((name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Headers, String> {
        parse(&lines.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn headers_are_parsed_and_host_is_separate() {
        let headers = read(&["X-A: b: c", "host:example.org", "Empty:"]).unwrap();
        assert_eq!(headers.host.as_deref(), Some("example.org"));
        let fields: Vec<_> = headers
            .fields
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(fields, [("Empty", ""), ("X-A", "b: c")]);
    }

    #[test]
    fn invalid_headers_are_explained() {
        for (lines, said) in [
            (&["X-A"][..], "Name: value"),
            (&["X A: b"], "'X A'"),
            (&["Content-Length: 3"], "omit it"),
            (&["A: b\nC: d"], "do not allow"),
            (&["A: b", "a: c"], "twice"),
        ] {
            let error = read(lines).unwrap_err();
            assert!(error.contains(said), "{lines:?}: {error}");
        }
    }
}
