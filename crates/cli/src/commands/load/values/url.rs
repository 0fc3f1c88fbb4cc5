//! Parses URLs as people type them.

use http::Uri;

/// The host, port and scheme of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub tls: bool,
    /// A name or an address, without the brackets of an IPv6 address.
    pub host: String,
    /// The given port, or the scheme's default.
    pub port: u16,
    /// Host and port as written: the Host header.
    pub authority: String,
}

/// Parses `[http://|https://]HOST[:PORT][/PATH][?QUERY]`. Path and query are kept as written; a
/// fragment is not sent.
pub(crate) fn parse(text: &str) -> Result<(Site, String), String> {
    let written = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    if let Some(wrong) = written.chars().find(|c| !c.is_ascii_graphic()) {
        return Err(format!(
            "a URL cannot contain {wrong:?}: percent-encode it, for example %20 for a space"
        ));
    }
    let uri: Uri = written.parse().map_err(|error| {
        format!("{error}: write a URL, for example http://127.0.0.1:8080/path?query")
    })?;
    let tls = match uri.scheme_str().unwrap_or_default() {
        "http" => false,
        "https" => true,
        other => {
            return Err(format!(
                "the scheme '{other}' is not supported: write http or https"
            ));
        }
    };
    let authority = uri.authority().ok_or("it contains no host")?;
    if authority.as_str().contains('@') {
        return Err("it contains credentials: use --user NAME:PASSWORD".into());
    }
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    if host.is_empty() {
        return Err("it contains no host".into());
    }
    let written_port = authority.as_str()[authority.host().len()..].strip_prefix(':');
    let port = match written_port.map(str::parse) {
        None => {
            if tls {
                443
            } else {
                80
            }
        }
        Some(Ok(port @ 1..)) => port,
        Some(_) => return Err("its port is not a number from 1 to 65535: write HOST:PORT".into()),
    };
    let path = match uri.path_and_query().map_or("/", |path| path.as_str()) {
        query if query.starts_with('?') => format!("/{query}"),
        "" => "/".into(),
        path => path.into(),
    };
    let authority = authority.as_str().to_owned();
    Ok((
        Site {
            tls,
            host,
            port,
            authority,
        },
        path,
    ))
}

impl Site {
    /// Returns the scheme and the authority as written: `http://127.0.0.1:8080`.
    pub fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    pub fn is_same(&self, other: &Self) -> bool {
        let here = (self.tls, self.port, self.host.to_ascii_lowercase());
        here == (other.tls, other.port, other.host.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (bool, String, u16, String) {
        let (site, path) = parse(text).unwrap();
        (site.tls, site.host, site.port, path)
    }

    #[test]
    fn missing_parts_of_a_url_have_defaults() {
        let at = |tls, host: &str, port, path: &str| (tls, host.into(), port, path.into());
        assert_eq!(read("http://a.b/"), at(false, "a.b", 80, "/"));
        assert_eq!(read("https://a.b"), at(true, "a.b", 443, "/"));
        assert_eq!(
            read("localhost:81/x?y=1"),
            at(false, "localhost", 81, "/x?y=1")
        );
        assert_eq!(read("http://[::1]:8080/p"), at(false, "::1", 8080, "/p"));
        assert_eq!(read("http://a?q"), at(false, "a", 80, "/?q"));
        assert_eq!(
            read("http://a/x/../y%20z#f"),
            at(false, "a", 80, "/x/../y%20z")
        );
        assert_eq!(read("http://a/u/{{id}}"), at(false, "a", 80, "/u/{{id}}"));
    }

    #[test]
    fn the_host_header_is_the_authority_as_written() {
        for (text, authority) in [
            ("http://a.b:80/", "a.b:80"),
            ("http://a.b/", "a.b"),
            ("http://[::1]:8080/", "[::1]:8080"),
        ] {
            assert_eq!(parse(text).unwrap().0.authority, authority);
        }
    }

    #[test]
    fn invalid_urls_are_explained() {
        for (text, said) in [
            ("", "write"),
            ("ftp://a/", "http or https"),
            ("http://", "write"),
            ("http://a:99999/", "65535"),
            ("http://a:0/", "65535"),
            ("http://a:/", "65535"),
            ("http://me:secret@a/", "--user"),
            ("http://a/b c", "%20"),
            ("http://a/é", "percent"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,40}") {
            if let Ok((site, path)) = parse(&text) {
                prop_assert!(path.starts_with('/'), "{}", path);
                prop_assert!(path.is_ascii() && !path.contains(' '));
                prop_assert!(!site.host.is_empty());
            }
        }

        #[test]
        fn hosts_ports_and_paths_are_preserved(
            host in "[a-z][a-z0-9.-]{0,12}[a-z]",
            port in 1_u16..,
            path in "/[a-z0-9/._~%-]{0,12}(\\?[a-z0-9=&]{1,6})?",
        ) {
            let (site, found) = parse(&format!("http://{host}:{port}{path}")).unwrap();
            prop_assert_eq!((site.host, site.port, found), (host, port, path));
        }
    }
}
