//! The URL of a metrics server.

use std::collections::BTreeMap;

use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Query parameters whose values are secrets of metrics servers, in lowercase. `u` and `p` belong
/// to InfluxDB, and `authKey` to VictoriaMetrics.
const SECRETS: [&str; 8] = [
    "u",
    "p",
    "password",
    "token",
    "access_token",
    "authkey",
    "api_key",
    "apikey",
];
const MASK: &str = "...";
/// The bytes of a component that are percent-encoded: all except the unreserved characters of RFC
/// 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) is_tls: bool,
    /// User and password, which are not allowed on the command line.
    pub(super) user: Option<(String, String)>,
    pub(super) host: String,
    pub(super) port: u16,
    /// The path, which begins with `/`.
    pub(super) path: String,
    /// The parameters that have not been interpreted yet.
    pub(super) query: BTreeMap<String, String>,
}

impl Url {
    /// Parses a URL; `None` if it is not a valid HTTP or HTTPS URL with a host.
    pub(super) fn parse(text: &str, default_port: Option<u16>) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let is_tls = match uri.scheme_str()? {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let authority = uri.authority()?.as_str();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let user = user.map(|it| it.split_once(':').unwrap_or((it, "")));
        let host = uri.host().filter(|host| !host.is_empty())?;
        let usual = if is_tls { 443 } else { 80 };
        // The text after the host must be a valid port.
        if uri.port_u16().is_none() && !authority.ends_with(host) {
            return None;
        }
        let pair = |it: &str| {
            let (name, value) = it.split_once('=').unwrap_or((it, ""));
            (decoded(name), decoded(value))
        };
        let query = uri.query().unwrap_or_default().split('&');
        Some(Self {
            is_tls,
            user: user.map(|(user, password)| (decoded(user), decoded(password))),
            host: host.into(),
            port: uri.port_u16().or(default_port).unwrap_or(usual),
            path: uri.path().into(),
            query: query.filter(|it| !it.is_empty()).map(pair).collect(),
        })
    }

    /// Reports whether the URL has a user, a password or a parameter with a secret.
    pub(super) fn has_secret(&self) -> bool {
        self.user.is_some() || self.query.keys().any(|name| is_secret(name))
    }

    /// The value of the `Host` header.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The path with the remaining parameters.
    pub(super) fn target(&self) -> String {
        let pairs = self.query.iter();
        let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        match pairs.collect::<Vec<_>>().join("&") {
            query if query.is_empty() => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }
}

/// Omits the user and the password, and masks the values of secret parameters.
impl std::fmt::Display for Url {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        let mut shown = self.clone();
        let secrets = shown.query.iter_mut().filter(|(name, _)| is_secret(name));
        secrets.for_each(|(_, value)| *value = MASK.into());
        write!(out, "{scheme}://{}{}", shown.authority(), shown.target())
    }
}

fn is_secret(parameter: &str) -> bool {
    SECRETS.contains(&parameter.to_ascii_lowercase().as_str())
}

/// Masks the parts of an invalid URL that may contain secrets.
pub(super) fn without_secrets(text: &str) -> String {
    let (text, query) = match text.split_once('?') {
        Some((text, _)) => (text, format!("?{MASK}")),
        None => (text, String::new()),
    };
    match text.rfind('@') {
        Some(at) => format!("{MASK}{}{query}", &text[at..]),
        None => format!("{text}{query}"),
    }
}

fn encoded(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, RESERVED)
}

pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_its_parts() {
        let url = Url::parse("http://u%40:p:w@h:8086/k6?native=true&x=a%20b", None).unwrap();
        assert_eq!(url.user, Some(("u@".into(), "p:w".into())));
        assert_eq!((url.host.as_str(), url.port), ("h", 8086));
        assert_eq!(url.to_string(), "http://h:8086/k6?native=true&x=a%20b");
        let keyed = Url::parse("http://h/?authKey=x", None).unwrap();
        assert_eq!(keyed.to_string(), "http://h:80/?authKey=...");
        let plain = Url::parse("https://[::1]", None).unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("[::1]", 443));
        assert_eq!(Url::parse("http://h", Some(8086)).unwrap().port, 8086);
    }

    #[test]
    fn malformed_urls_are_refused() {
        for wrong in [
            "",
            "h:80",
            "ftp://h",
            "http://",
            "http:///x",
            "http://h:99999",
            "http://h:",
            "http://a b",
        ] {
            assert_eq!(Url::parse(wrong, None), None, "{wrong}");
        }
    }
}
