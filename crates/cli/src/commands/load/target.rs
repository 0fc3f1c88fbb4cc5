//! Derives the target and its requests from the flags.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatebench_engine::{Protocol, Target};
use gatebench_model::{Body, Check, Request};
use gatebench_net::Peer;
use gatebench_net::tls::{ClientContext, ClientSettings, Identity, Pem, SettingsError, Verify};

use super::flags::{ConnectionFlags, RequestFlags, TlsFlags};
use super::values::url::{self, Site};
use super::values::{check, data, header, resolve, template};
use crate::exit::Exit;
use crate::failure::Failure;

/// The requests that the URLs and flags describe.
#[derive(Debug)]
pub struct Asked {
    /// The host, port and scheme that all URLs share.
    pub site: Site,
    /// Value of the Host header.
    pub host: String,
    pub unix_socket: bool,
    /// One request for each URL or, with --path-file, for each path in the file.
    pub requests: Vec<Request>,
}

impl Asked {
    /// Describes the requests: `POST http://127.0.0.1:8080/path`, or
    /// `3 requests in turn to http://127.0.0.1:8080`.
    pub fn in_words(&self) -> String {
        let origin = self.site.origin();
        match self.requests.as_slice() {
            [only] => format!("{} {origin}{}", only.method, only.path),
            several => {
                let weighted = several.iter().any(|it| it.weight != several[0].weight);
                let how = if weighted { "by weight" } else { "in turn" };
                format!("{} requests {how} to {origin}", several.len())
            }
        }
    }
}

/// Builds the requests. Reads the body, which may come from standard input, and the path file.
pub fn asked(urls: &[String], flags: &RequestFlags) -> Result<Asked, Failure> {
    let (site, paths) = site_and_paths(urls, flags.path_file.as_deref())?;
    let mut headers = header::parse(&flags.headers).map_err(|what| {
        Failure::words("--header", what, "write -H 'Name: value', once per header")
    })?;
    if let Some(user) = &flags.user {
        let value = format!("Basic {}", STANDARD.encode(user));
        let earlier = headers.fields.insert("Authorization".into(), value);
        if earlier.is_some() {
            return Err(Failure::words(
                "--user",
                "an Authorization header is also given",
                "omit --user or -H Authorization",
            ));
        }
    }
    if check::contradicts(&flags.checks) {
        return Err(Failure::words(
            "--check",
            "no response has two statuses",
            "check for one status",
        ));
    }
    let body = flags.body.as_deref().map(body).transpose()?;
    let method = flags
        .method
        .clone()
        .unwrap_or_else(|| if body.is_some() { "POST" } else { "GET" }.into());
    if method == "HEAD" && flags.checks.iter().any(is_of_body) {
        return Err(Failure::words(
            "--check",
            "a response to HEAD has no body",
            "check its status or its headers",
        ));
    }
    let request = |(weight, path)| Request {
        weight,
        headers: headers.fields.clone(),
        body: body.clone(),
        checks: flags.checks.clone(),
        ..Request::new(method.clone(), path)
    };
    let requests = paths.into_iter().map(request).collect();
    let host = headers.host.unwrap_or_else(|| site.authority.clone());
    Ok(Asked {
        site,
        host,
        unix_socket: false,
        requests,
    })
}

fn is_of_body(check: &Check) -> bool {
    !matches!(check, Check::Status(_) | Check::Header(_))
}

type Weighted = (f64, String);

fn site_and_paths(
    urls: &[String],
    path_file: Option<&Path>,
) -> Result<(Site, Vec<Weighted>), Failure> {
    let mut site: Option<Site> = None;
    let mut paths = Vec::new();
    for text in urls {
        let refused = |what: String| {
            Failure::words(
                text,
                what,
                "write a URL, for example http://127.0.0.1:8080/path",
            )
        };
        let written = template::without_blanks(text)
            .map_err(|error| Failure::words(text, error.message, error.help))?;
        let (found, path) = url::parse(&written).map_err(refused)?;
        match &site {
            Some(first) if !first.is_same(&found) => {
                return Err(Failure::words(
                    text,
                    format!(
                        "it refers to {}, but the first URL refers to {}",
                        found.origin(),
                        first.origin()
                    ),
                    "use URLs with the same scheme, host and port, or run `gatebench load` several times",
                ));
            }
            Some(_) => {}
            None => site = Some(found),
        }
        paths.push((1.0, path));
    }
    let site = site.expect("clap requires a URL");
    match path_file {
        None => Ok((site, paths)),
        Some(_) if paths.iter().any(|(_, path)| path != "/") => Err(Failure::words(
            "--path-file",
            "the URL already has a path",
            format!("write only {}, or omit the file", site.origin()),
        )),
        Some(file) => Ok((site, data::paths(file)?)),
    }
}

fn body(text: &str) -> Result<Body, Failure> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(Body::new(text));
    };
    let read = if path == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let remedy = "write --body TEXT, --body @FILE or --body @- for standard input";
    read.map(Body::new)
        .map_err(|error| Failure::words("--body", format!("cannot read {path}: {error}"), remedy))
}

pub fn target(
    asked: &Asked,
    connections: &ConnectionFlags,
    tls: &TlsFlags,
) -> Result<Target, Failure> {
    let site = &asked.site;
    let tls = tls_context(site, tls, connections)?;
    let address = peer(site, connections)?;
    let mut target = Target::new(address, asked.host.clone());
    target.sources.clone_from(&connections.sources);
    target.proxy = connections.proxy_protocol;
    target.tls = tls;
    target.protocol = match connections.handshakes {
        true => Protocol::Handshakes,
        false if connections.http2 => Protocol::Http2 {
            streams: connections.streams,
        },
        false => Protocol::Http1,
    };
    Ok(target)
}

fn peer(site: &Site, connections: &ConnectionFlags) -> Result<Peer, Failure> {
    if let Some(path) = &connections.unix_socket {
        return Ok(path.as_path().into());
    }
    if let Some(other) = resolve::unused(site, &connections.resolve) {
        return Err(Failure::words(
            "--resolve",
            format!("{other} matches no URL"),
            format!("write {}:{}:ADDRESS", site.host, site.port),
        ));
    }
    let address = resolve::address(site, &connections.resolve).map_err(|reason| {
        let (host, port) = (&site.host, site.port);
        let what = format!("cannot find its address: {reason}");
        let remedy =
            format!("check the name, or give its address: --resolve {host}:{port}:ADDRESS");
        Failure::said(Exit::Environment, format!("target {host}"), what, remedy)
    })?;
    if let Some(source) = connections
        .sources
        .iter()
        .find(|source| source.is_ipv4() != address.is_ipv4())
    {
        return Err(Failure::words(
            "--source",
            format!("{source} cannot connect to {address}: one is IPv4, the other IPv6"),
            "use a source address of the same family as the target",
        ));
    }
    Ok(address.into())
}

fn tls_context(
    site: &Site,
    flags: &TlsFlags,
    connections: &ConnectionFlags,
) -> Result<Option<ClientContext>, Failure> {
    if !site.tls {
        return match flags.first_given() {
            None => Ok(None),
            Some(flag) => Err(Failure::words(
                flag,
                "there is no TLS on http://",
                "write https://, or omit the option",
            )),
        };
    }
    let context =
        settings(flags, connections).and_then(|settings| ClientContext::new(&settings, &site.host));
    context.map(Some).map_err(|error| {
        let exit = match error {
            SettingsError::NoSystemRoots(_) => Exit::Environment,
            _ => Exit::WrongWords,
        };
        let place = error.place().map_or(String::new(), |it| format!("{it}: "));
        Failure::said(
            exit,
            "TLS",
            format!("{place}{}", error.what()),
            error.remedy(),
        )
    })
}

fn settings(
    flags: &TlsFlags,
    connections: &ConnectionFlags,
) -> Result<ClientSettings, SettingsError> {
    let verify = match &flags.cacert {
        _ if flags.insecure => Verify::Skip,
        Some(path) => Verify::Ca(Pem::read(path)?),
        None => Verify::System,
    };
    let identity = match (&flags.cert, &flags.key) {
        (Some(chain), Some(key)) => Some(Identity {
            chain: Pem::read(chain)?,
            key: Pem::read(key)?,
        }),
        _ => None,
    };
    let mut settings = ClientSettings {
        verify,
        identity,
        server_name: flags.sni.clone(),
        alpn: flags
            .alpn
            .iter()
            .map(|word| word.clone().into_bytes())
            .collect(),
        // --handshakes measures full handshakes; a resumed handshake costs the server much less.
        resumption: !(flags.no_resumption || connections.handshakes),
        ..ClientSettings::default()
    };
    if connections.http2 {
        settings.alpn = vec![b"h2".to_vec()];
    }
    if let Some(version) = flags.version {
        (settings.min, settings.max) = (version, version);
    }
    Ok(settings)
}
