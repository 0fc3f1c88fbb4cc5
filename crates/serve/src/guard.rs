//! Access control. Every program and user on this machine can connect to a port on the loopback
//! interface, and so can other sites in the user's browser, by DNS rebinding. The guard therefore
//! checks the host name, the cookie and the origin of each request before a page handles it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{COOKIE, HOST, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::problem::Problem;
use crate::secret::Secret;

/// The only path that accepts POST requests, and only with `--allow-run`.
pub(crate) const START: &str = "/start";

/// The content security policy of every page. Responses with untrusted content have other policies,
/// which include a sandbox. Forms are allowed even if all pages are read-only, because the policy
/// also applies to forms that only filter the list or choose two runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Headers of every response. A response can set its own values.
pub(crate) const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

pub(crate) struct Guard {
    address: SocketAddr,
    /// The secret in the printed URL.
    token: Secret,
    /// The secret in the cookie.
    session: Secret,
    /// True if [`START`] accepts POST requests.
    allows_run: bool,
}

impl Guard {
    /// Fails if the system provides no random numbers.
    pub(crate) fn new(address: SocketAddr, allows_run: bool) -> std::io::Result<Self> {
        Ok(Self {
            address,
            token: Secret::new()?,
            session: Secret::new()?,
            allows_run,
        })
    }

    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    /// The name contains the port, because browsers send a cookie to all ports of a host.
    fn cookie_name(&self) -> String {
        format!("gatebench_{}", self.address.port())
    }

    /// Reports whether the request has exactly one Host header, and that header names this server.
    /// If the URI contains a host, it must be the same one.
    fn is_named(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        let Ok(host) = host.to_str() else {
            return false;
        };
        uri.authority().is_none_or(|it| it.as_str() == host) && self.is_own_name(host)
    }

    /// Reports whether a host is `localhost` or an IP address, with the port of this server. If the
    /// server listens on the loopback interface, the address must be a loopback address. Any other
    /// name may belong to a site that makes the name resolve to this machine.
    fn is_own_name(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !name.is_empty() && !port.ends_with(']') => (name, port),
            _ => (host, "80"),
        };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        let is_ours = match address.parse::<IpAddr>() {
            Ok(address) => !self.address.ip().is_loopback() || address.is_loopback(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        is_ours && port == self.address.port().to_string()
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|it| it.to_str().ok());
        let mut pairs = cookies.flat_map(|it| it.split("; "));
        pairs.any(|pair| {
            let value = pair.strip_prefix(&name).and_then(|it| it.strip_prefix('='));
            value.is_some_and(|value| self.session.is(value))
        })
    }

    /// Returns the response that exchanges the token in a URL for the cookie; `None` if the URL has
    /// no token.
    fn exchanged(&self, uri: &Uri) -> Option<Result<Response, Problem>> {
        let query = uri.query()?;
        let token = query.split('&').find_map(|it| it.strip_prefix("token="))?;
        if !self.token.is(token) {
            return Some(Err(Problem::Forbidden(
                "the token is not valid for this server: open the URL that the server printed",
            )));
        }
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie_name(),
            self.session.as_str()
        );
        let mut response = Redirect::to(uri.path()).into_response();
        let cookie = HeaderValue::from_str(&cookie).expect("the cookie is ASCII");
        response.headers_mut().insert(SET_COOKIE, cookie);
        Some(Ok(response))
    }

    /// The referrer policy. With `no-referrer`, a browser would send `Origin: null` with a POST
    /// request.
    fn referrer_policy(&self) -> &'static str {
        match self.allows_run {
            true => "same-origin",
            false => "no-referrer",
        }
    }

    /// Checks a request. Returns the guard's own response, or `None` if a page may handle the
    /// request.
    fn check(&self, request: &Request) -> Result<Option<Response>, Problem> {
        let (uri, headers) = (request.uri(), request.headers());
        if !self.is_named(uri, headers) {
            return Err(Problem::Misdirected);
        }
        let may_post = self.allows_run && uri.path() == START;
        match *request.method() {
            Method::GET | Method::HEAD => {}
            Method::POST if may_post => check_origin(headers)?,
            _ => return Err(Problem::Method { may_post }),
        }
        check_site(request.method(), headers)?;
        if let Some(exchanged) = self.exchanged(uri) {
            return exchanged.map(Some);
        }
        match self.is_known(headers) {
            true => Ok(None),
            false => Err(Problem::Forbidden(
                "open the URL with the token that `gatebench serve` printed",
            )),
        }
    }
}

/// Refuses POST requests from pages of other origins. A browser sends the origin of the page with
/// each POST request.
fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|it| it.to_str().ok());
    let own = text(HOST).map(|host| format!("http://{host}"));
    match text(ORIGIN).is_some_and(|origin| own.as_deref() == Some(origin)) {
        true => Ok(()),
        false => Err(Problem::Forbidden(
            "the request does not come from a page of this server: use the form on the page 'Start a run'",
        )),
    }
}

/// Refuses requests from other origins in the user's browser, except when the user follows a link
/// to a page. The browser treats other ports of this machine as the same site and therefore sends
/// the cookie with their requests.
fn check_site(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let fetch = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let is_own = matches!(
        fetch("sec-fetch-site"),
        None | Some(b"same-origin" | b"none")
    );
    let is_link = fetch("sec-fetch-mode") == Some(b"navigate")
        && fetch("sec-fetch-dest") == Some(b"document")
        && method == Method::GET;
    match is_own || is_link {
        true => Ok(()),
        false => Err(Problem::Forbidden(
            "the request comes from another site: open this page directly",
        )),
    }
}

/// Passes permitted requests to their pages, and adds each common header that the response lacks.
pub(crate) async fn guard(State(own): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match own.check(&request) {
        Ok(None) => next.run(request).await,
        Ok(Some(response)) => response,
        Err(problem) => problem.into_response(),
    };
    let referrer_policy = ("referrer-policy", own.referrer_policy());
    for (name, value) in HEADERS.into_iter().chain([referrer_policy]) {
        let entry = response.headers_mut().entry(name);
        entry.or_insert(HeaderValue::from_static(value));
    }
    response
}
