//! Tests that no spelling of a path bypasses the protection of a route. Upstreams decide where a
//! spelling leads: one in this project reads a path in every way at once, and others are real
//! servers. Only spellings that reach a protected path without the gateway are used.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::h2::Connection;
use crate::common::{Server, backends, field, scripted, serve};
use crate::spellings::{KNOWN, generated, may_be_protected};
use gatebench_gateway::Totals;
use gatebench_net::http2::Settings;
use serde_json::{Value, json};

/// The body of responses for `/admin` and below; all other responses have the body [`OPEN`].
const PROTECTED: &str = "protected";
const OPEN: &str = "open";

/// Sets of routes, each of which requires a key for `/admin`.
fn configurations() -> [(&'static str, Value); 3] {
    let route = |name: &str, path: &str, paths: &str| json!({"name": name, "path": path, "paths": paths, "upstream": "origin"});
    let mut admin = route("admin", "/admin", "strict");
    admin["policies"] = json!([
        {"api_key": {"header": "X-Api-Key"}}, {"consumer_header": {"header": "X-Consumer"}}]);
    let verbatim_admin = {
        let mut admin = admin.clone();
        admin["paths"] = "verbatim".into();
        admin
    };
    [
        (
            "next to a strict route",
            json!([route("all", "/", "strict"), admin]),
        ),
        (
            "next to verbatim routes",
            json!([
                route("all", "/", "verbatim"),
                route("x", "/x", "verbatim"),
                admin
            ]),
        ),
        (
            "on a verbatim route",
            json!([route("all", "/", "strict"), verbatim_admin]),
        ),
    ]
}

fn before(upstream: SocketAddr, routes: &Value) -> Server<Totals> {
    let target = json!({"address": "127.0.0.1", "port": upstream.port()});
    serve(
        backends()[0],
        &json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "origin", "keepalive": 4, "targets": [target]}],
            "consumers": [{"name": "alice", "keys": ["alice-key"]}],
            "routes": routes,
        }),
    )
}

/// A client that sends targets unchanged and opens a new connection if the server closed the old
/// one.
struct Asker {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

struct Response {
    status: u16,
    body: String,
}

impl Asker {
    fn new(address: SocketAddr) -> Self {
        Self {
            address,
            stream: None,
        }
    }

    /// Returns the response, or `None` if the server closes without one, even on a new connection.
    fn ask(&mut self, target: &str, fields: &str) -> Option<Response> {
        loop {
            let is_new = self.stream.is_none();
            let stream = self.stream.get_or_insert_with(|| {
                let stream = TcpStream::connect(self.address).unwrap();
                let patience = Some(Duration::from_secs(10));
                stream.set_read_timeout(patience).unwrap();
                stream.set_nodelay(true).unwrap();
                BufReader::new(stream)
            });
            let request = format!("GET {target} HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
            let sent = stream.get_mut().write_all(request.as_bytes());
            let heard = sent.and_then(|()| hear(stream));
            match heard {
                Ok((response, is_kept)) => {
                    self.stream = self.stream.take().filter(|_| is_kept);
                    return Some(response);
                }
                Err(error) => {
                    let is_late =
                        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                    assert!(!is_late, "no response to {target:?}");
                    self.stream = None;
                    if is_new {
                        return None;
                    }
                }
            }
        }
    }
}

/// Reads a response, and reports whether the connection may carry another.
fn hear(stream: &mut BufReader<TcpStream>) -> std::io::Result<(Response, bool)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    let length = field(&head, "Content-Length").map(|length| length.parse().unwrap());
    let mut body = Vec::new();
    match length {
        Some(length) => {
            body.resize(length, 0);
            stream.read_exact(&mut body)?;
        }
        None => {
            stream.read_to_end(&mut body)?;
        }
    }
    let is_closed = field(&head, "Connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
    let response = Response {
        status: status.unwrap_or(0),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    Ok((response, length.is_some() && !is_closed))
}

/// An upstream that reads a target as `/admin` if any server could. It counts the requests for such
/// targets that lack the field with the caller's name, which the gateway adds.
fn permissive() -> (SocketAddr, Arc<AtomicUsize>) {
    let reached = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reached);
    let address = scripted(move |_, mut peer| {
        loop {
            let head = peer.head();
            let Some((_, rest)) = head.split_once(' ') else {
                return;
            };
            let target = rest.split(' ').next().unwrap_or_default();
            let is_protected = may_be_protected(target);
            if is_protected && field(&head, "X-Consumer").is_none() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            let body = if is_protected { PROTECTED } else { OPEN };
            let length = body.len();
            peer.send(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes(),
            );
        }
    });
    (address, reached)
}

/// Returns the spellings that reach a protected path without a gateway.
fn effective(upstream: SocketAddr, count: usize) -> Vec<String> {
    let mut direct = Asker::new(upstream);
    let known = KNOWN.into_iter().map(str::to_owned);
    known
        .chain(generated(count))
        .filter(|target| {
            let response = direct.ask(target, "");
            response.is_some_and(|response| response.body.contains(PROTECTED))
        })
        .collect()
}

/// The numbers of spellings that got 400, 401 and other statuses.
#[derive(Debug, Default)]
struct Counts {
    refused: usize,
    asked_for_key: usize,
    elsewhere: usize,
}

/// Sends spellings without a key to a gateway: none may reach a protected path.
fn judge(gateway: &Server<Totals>, spellings: &[String], where_: &str) -> Counts {
    let mut counts = Counts::default();
    let mut client = Asker::new(gateway.address);
    for target in spellings {
        let response = client.ask(target, "");
        let response = response.unwrap_or_else(|| panic!("{where_}: no response to {target:?}"));
        assert!(
            !response.body.contains(PROTECTED),
            "{where_}: {target:?} leads to a protected path"
        );
        match response.status {
            400 => counts.refused += 1,
            401 => counts.asked_for_key += 1,
            _ => counts.elsewhere += 1,
        }
    }
    counts
}

/// Checks that correct paths are forwarded, and that protected ones require a key.
fn valid_requests_are_forwarded(gateway: &Server<Totals>, where_: &str) {
    let mut client = Asker::new(gateway.address);
    let mut ask = |target: &str, fields: &str| client.ask(target, fields).unwrap();
    for target in ["/admin", "/admin/users", "/admin?x=/../"] {
        let with_key = ask(target, "X-Api-Key: alice-key\r\n");
        assert_eq!(with_key.body, PROTECTED, "{where_}: {target}");
        assert_eq!(ask(target, "").status, 401, "{where_}: {target}");
    }
    for target in [
        "/",
        "/open",
        "/a%20b/caf%C3%A9;c=d?e=%2F..%2F//",
        "/administrator",
        "/a/admin",
        "/Admin",
        "http://h/open",
    ] {
        let response = ask(target, "");
        assert_eq!(
            (response.status, response.body.as_str()),
            (200, OPEN),
            "{where_}: {target}"
        );
    }
}

#[test]
fn no_spelling_bypasses_a_route_for_any_upstream() {
    let (upstream, reached) = permissive();
    let spellings = effective(upstream, 3500);
    assert!(
        KNOWN
            .iter()
            .all(|known| spellings.iter().any(|one| one == known))
    );
    assert!(spellings.len() > 2000 + KNOWN.len(), "{}", spellings.len());
    reached.store(0, Ordering::SeqCst);
    for (where_, routes) in configurations() {
        let gateway = before(upstream, &routes);
        let counts = judge(&gateway, &spellings, where_);
        assert_eq!(reached.load(Ordering::SeqCst), 0, "{where_}");
        assert!(counts.refused > 1000, "{where_}: {counts:?}");
        // Encoded unreserved characters are equivalent to the characters themselves (RFC 3986
        // 6.2.2.2).
        assert!(counts.asked_for_key > 20, "{where_}: {counts:?}");
        assert_eq!(counts.elsewhere, 0, "{where_}: {counts:?}");
        valid_requests_are_forwarded(&gateway, where_);
    }
}

#[test]
fn no_spelling_bypasses_a_route_over_http2() {
    let (upstream, reached) = permissive();
    let spellings = effective(upstream, 600);
    reached.store(0, Ordering::SeqCst);
    for (where_, routes) in configurations() {
        let gateway = before(upstream, &routes);
        let mut connection = Connection::open(gateway.address, Settings::default());
        for target in spellings.iter().filter(|target| target.starts_with('/')) {
            if connection.is_ending {
                connection = Connection::open(gateway.address, Settings::default());
            }
            let stream = connection.ask("GET", target, &[], b"");
            let response = connection.response(stream);
            let is_refused = matches!(response.status, 400 | 401);
            assert!(is_refused, "{where_}: {target:?}: {response:?}");
        }
        assert_eq!(reached.load(Ordering::SeqCst), 0, "{where_}");
    }
}

/// A server program, killed when dropped.
struct Program {
    child: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts a program with a configuration file; prints a note and returns `None` if it is not
    /// installed. `configuration` gets a port and a folder; `arguments` gets the paths of the file
    /// and of the folder.
    fn start(
        names: &[&str],
        configuration: impl Fn(u16, &Path) -> String,
        arguments: impl Fn(&Path, &Path) -> Vec<String>,
    ) -> Option<Self> {
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            drop(listener);
            let file = folder.path().join("configuration");
            let text = configuration(address.port(), folder.path());
            std::fs::write(&file, text).unwrap();
            let log = std::fs::File::create(folder.path().join("log")).unwrap();
            let spawned = names.iter().find_map(|name| {
                let mut command = Command::new(name);
                command.args(arguments(&file, folder.path()));
                command
                    .stdout(Stdio::null())
                    .stderr(log.try_clone().unwrap());
                match command.stdin(Stdio::null()).spawn() {
                    Ok(child) => Some(child),
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => panic!("{name}: {error}"),
                }
            });
            let Some(child) = spawned else {
                eprintln!("SKIPPED: {} is not installed", names[0]);
                return None;
            };
            let mut program = Self {
                child,
                address,
                folder,
            };
            if program.is_serving() {
                return Some(program);
            }
            // Another process may have taken the port in the meantime.
        }
        panic!("{} does not start", names[0]);
    }

    /// Waits until the program accepts connections. Returns false if it ends first or takes too
    /// long.
    fn is_serving(&mut self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            if self.child.try_wait().unwrap().is_some() {
                let said = std::fs::read_to_string(self.folder.path().join("log"));
                eprintln!("{}", said.unwrap_or_default());
                return false;
            }
            if TcpStream::connect(self.address).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

/// Checks that a real upstream's spellings of a protected path do not reach that path through a
/// gateway.
fn judge_before(name: &str, upstream: SocketAddr, candidates: usize, at_least: usize) {
    let spellings = effective(upstream, candidates);
    assert!(
        spellings.len() >= at_least,
        "{name} reads only {} of {candidates} spellings as a protected path",
        spellings.len()
    );
    for (where_, routes) in configurations() {
        let gateway = before(upstream, &routes);
        let where_ = format!("{where_}, before {name}");
        judge(&gateway, &spellings, &where_);
        valid_requests_are_forwarded(&gateway, &where_);
    }
    println!("{name}: {} spellings", spellings.len());
}

fn nginx(port: u16, folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "daemon off; master_process off; worker_processes 1;
         pid {folder}/pid; error_log {folder}/error crit;
         events {{ worker_connections 256; }}
         http {{
             access_log off; default_type text/plain;
             client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
             fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
             scgi_temp_path {folder}/scgi;
             server {{
                 listen 127.0.0.1:{port};
                 location ~ ^/admin(/|$) {{ return 200 \"{PROTECTED}\"; }}
                 location / {{ return 200 \"{OPEN}\"; }}
             }}
         }}"
    )
}

#[test]
fn no_spelling_bypasses_a_route_before_nginx() {
    let arguments = |file: &Path, folder: &Path| {
        let file = file.display().to_string();
        let error = folder.join("error").display().to_string();
        vec!["-c".to_owned(), file, "-e".to_owned(), error]
    };
    if let Some(program) = Program::start(&["nginx", "/usr/sbin/nginx"], nginx, arguments) {
        judge_before("nginx", program.address, 3500, 500);
    }
}

fn haproxy(port: u16, _: &Path) -> String {
    let normalizers = [
        "percent-to-uppercase",
        "percent-decode-unreserved",
        "path-merge-slashes",
        "path-strip-dot",
        "path-strip-dotdot full",
    ];
    let normalizers = normalizers.map(|one| format!("    http-request normalize-uri {one}\n"));
    format!(
        "global
    expose-experimental-directives
defaults
    mode http
    timeout connect 1s
    timeout client 10s
    timeout server 10s
frontend test
    bind 127.0.0.1:{port}
{}    acl is_protected path,url_dec -m str /admin
    acl is_protected path,url_dec -m beg /admin/
    http-request return status 200 content-type text/plain string {PROTECTED} if is_protected
    http-request return status 200 content-type text/plain string {OPEN}
",
        normalizers.concat()
    )
}

#[test]
fn no_spelling_bypasses_a_route_before_haproxy() {
    let arguments = |file: &Path, _: &Path| {
        let file = file.display().to_string();
        vec!["-db".to_owned(), "-f".to_owned(), file]
    };
    if let Some(program) = Program::start(&["haproxy", "/usr/sbin/haproxy"], haproxy, arguments) {
        judge_before("haproxy", program.address, 3500, 200);
    }
}

fn envoy(port: u16, _: &Path) -> String {
    let http = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
    let router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
    let response = |body: &str| json!({"status": 200, "body": {"inline_string": body}});
    let manager = json!({
        "@type": http, "stat_prefix": "test",
        "normalize_path": true, "merge_slashes": true,
        "path_with_escaped_slashes_action": "UNESCAPE_AND_FORWARD",
        "http_filters": [{"name": "router", "typed_config": {"@type": router}}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
            {"match": {"path_separated_prefix": "/admin"}, "direct_response": response(PROTECTED)},
            {"match": {"prefix": "/"}, "direct_response": response(OPEN)},
        ]}]},
    });
    json!({"static_resources": {"listeners": [{
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }]}})
    .to_string()
}

#[test]
fn no_spelling_bypasses_a_route_before_envoy() {
    let data = std::env::var("XDG_DATA_HOME").unwrap_or_else(|_| {
        let home = std::env::var("HOME").unwrap_or_default();
        format!("{home}/.local/share")
    });
    let installed = format!("{data}/gatebench/bin/envoy");
    let arguments = |file: &Path, folder: &Path| {
        // Envoy recognizes the format of a file by its extension.
        let named = folder.join("envoy.json");
        std::fs::copy(file, &named).unwrap();
        let words = [
            "--disable-hot-restart",
            "--concurrency",
            "1",
            "--log-level",
            "error",
        ];
        let file = named.display().to_string();
        let all = ["--config-path".to_owned(), file].into_iter();
        all.chain(words.map(String::from)).collect()
    };
    if let Some(program) = Program::start(&["envoy", &installed], envoy, arguments) {
        judge_before("envoy", program.address, 3500, 200);
    }
}

/// Runs a program to completion; returns `None` if it is not installed.
fn ran(program: &str, arguments: &[&str]) -> Option<()> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{program}: {errors}{text}");
            Some(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("SKIPPED: {program} is not installed");
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

/// Compiles the Spring application into `folder`, and returns its class path, or `None` if Maven or
/// javac is not installed.
fn spring(folder: &Path) -> Option<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/spellings/spring");
    let (pom, class) = (source.join("pom.xml"), source.join("Upstream.java"));
    let list = folder.join("classpath");
    let output = format!("-Dmdep.outputFile={}", list.display());
    let pom = pom.display().to_string();
    let goal = "dependency:build-classpath";
    ran(
        "mvn",
        &["-q", "-B", "--strict-checksums", "-f", &pom, goal, &output],
    )?;
    let libraries = std::fs::read_to_string(list).unwrap();
    let (classes, class) = (folder.display().to_string(), class.display().to_string());
    ran("javac", &["-cp", &libraries, "-d", &classes, &class])?;
    Some(format!("{classes}:{libraries}"))
}

#[test]
#[ignore = "downloads Spring with Maven (25 MB); run make test-full"]
fn no_spelling_bypasses_a_route_before_spring() {
    let folder = tempfile::tempdir().unwrap();
    let Some(class_path) = spring(folder.path()) else {
        return;
    };
    let configuration =
        |port: u16, _: &Path| format!("server.port={port}\nserver.address=127.0.0.1\n");
    let arguments = |file: &Path, _: &Path| {
        let named = file.with_extension("properties");
        std::fs::copy(file, &named).unwrap();
        let settings = format!("--spring.config.location=file:{}", named.display());
        let words = ["-cp", &class_path, "upstream.Upstream", &settings];
        words.map(str::to_owned).to_vec()
    };
    if let Some(program) = Program::start(&["java"], configuration, arguments) {
        judge_before("Spring", program.address, 3500, 20);
    }
}
