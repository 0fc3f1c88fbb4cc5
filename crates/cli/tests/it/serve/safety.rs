//! Restrictions on access to the pages, and on the pages themselves.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::site::Site;
use crate::history::common::runs::write_run;
use crate::turns::turn;

/// Creates a folder with a one-block run and files that no page may show.
fn folder() -> TempDir {
    let root = TempDir::new().unwrap();
    let runs = root.path().join("runs");
    write_run(&runs.join("mine"), 1, |_| {}, |_| {});
    write_run(&root.path().join("others/theirs"), 1, |_| {}, |_| {});
    fs::write(root.path().join("secret"), "a secret of the user").unwrap();
    fs::write(runs.join("secret"), "a secret of the user").unwrap();
    symlink("../others/theirs", runs.join("link")).unwrap();
    symlink("../../secret", runs.join("mine/secret.txt")).unwrap();
    let trial = fs::read_dir(runs.join("mine/trials")).unwrap().next();
    let trial = trial.unwrap().unwrap().path();
    symlink("../../../../secret", trial.join("secret.txt")).unwrap();
    root
}

fn site(folder: &TempDir) -> Site {
    Site::start(folder.path(), &["runs"])
}

#[test]
fn only_the_loopback_interface_is_listened_on() {
    let folder = folder();
    let site = site(&folder);
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X} 00000000:0000 0A", site.port);
    let mine: Vec<&str> = sockets.lines().filter(|it| it.contains(&port)).collect();
    assert_eq!(mine.len(), 1, "{sockets}");
    assert!(mine[0].contains(" 0100007F:"), "{mine:?}");
    let sockets = fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    let port = format!(":{:04X} {}:0000 0A", site.port, "0".repeat(32));
    let mine: Vec<&str> = sockets.lines().filter(|it| it.contains(&port)).collect();
    if mine.is_empty() {
        // The system has no IPv6, or another program uses the port.
        let error = TcpListener::bind(("::1", site.port)).unwrap_err();
        eprintln!("SKIPPED on ::1: {error}");
        return;
    }
    assert_eq!(mine.len(), 1, "{sockets}");
    assert!(
        mine[0].contains(" 00000000000000000000000001000000:"),
        "{mine:?}"
    );
    let mut stream = TcpStream::connect(("::1", site.port)).unwrap();
    let (host, cookie) = (format!("localhost:{}", site.port), &site.cookie);
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
}

#[test]
fn unparsable_requests_get_the_same_headers_as_others() {
    let folder = folder();
    let site = site(&folder);
    let ordinary = site.get("/");
    let not_http = site.send("no HTTP\r\n\r\n");
    let too_large = site.send(&format!(
        "GET / HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(20_000)
    ));
    assert_eq!((not_http.status, too_large.status), (400, 431));
    for name in [
        "content-security-policy",
        "x-content-type-options",
        "x-frame-options",
        "cache-control",
        "cross-origin-resource-policy",
        "cross-origin-opener-policy",
        "referrer-policy",
    ] {
        let expected = ordinary.header(name);
        assert!(expected.is_some(), "{name}");
        assert_eq!(not_http.header(name), expected, "{name}");
        assert_eq!(too_large.header(name), expected, "{name}");
    }
}

#[test]
fn requests_for_another_host_are_refused() {
    let folder = folder();
    let site = site(&folder);
    let (port, cookie) = (site.port, &site.cookie);
    let with = |hosts: &str| {
        site.send(&format!(
            "GET / HTTP/1.1\r\n{hosts}Cookie: {cookie}\r\n\r\n"
        ))
        .status
    };
    for own in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        assert_eq!(with(&format!("Host: {own}:{port}\r\n")), 200, "{own}");
    }
    for other in [
        String::new(),
        format!("Host: evil.example:{port}\r\n"),
        format!("Host: 127.0.0.1.evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n".into(),
        format!("Host: 127.0.0.1:{}\r\n", port ^ 1),
        format!("Host: 10.0.0.1:{port}\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"),
    ] {
        assert_eq!(with(&other), 421, "{other}");
    }
    let absolute = format!(
        "GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
    );
    assert_eq!(site.send(&absolute).status, 421);
}

#[test]
fn only_the_cookie_for_the_token_opens_a_page() {
    let folder = folder();
    let site = site(&folder);
    let token = site.token();
    assert_eq!(token.len(), 32);
    let first = site.request("GET", &format!("/?token={token}"), &[]);
    assert_eq!((first.status, first.header("location")), (303, Some("/")));
    let cookie = first.header("set-cookie").unwrap();
    let name = format!("gatebench_{}=", site.port);
    assert!(cookie.starts_with(&name), "{cookie}");
    assert!(
        cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    assert!(
        !cookie.contains(token),
        "the cookie must not contain the token"
    );

    let other = Site::start(folder.path(), &["runs"]);
    let foreign = other
        .cookie
        .replace(&other.port.to_string(), &site.port.to_string());
    for lines in [
        vec![],
        vec![format!("Cookie: {name}{token}")],
        vec![format!("Cookie: {name}")],
        vec![format!("Cookie: {foreign}")],
        vec![format!("Cookie: x{}", site.cookie)],
    ] {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        for path in ["/", "/run/mine/", "/style.css", "/events", "/nothing"] {
            let response = site.request("GET", path, &lines);
            assert_eq!(response.status, 403, "{path} {lines:?}");
            assert!(!response.body.contains("mine"), "{}", response.body);
        }
    }
    let old = format!("/?token={}", other.token());
    assert_eq!(
        site.get(&old).status,
        403,
        "the token belongs to another server"
    );
}

#[test]
fn other_sites_can_only_link_to_a_page() {
    let folder = folder();
    let site = site(&folder);
    let cookie = format!("Cookie: {}", site.cookie);
    let status = |site_of: &str, mode: &str, dest: &str| {
        let fetch = [
            format!("Sec-Fetch-Site: {site_of}"),
            format!("Sec-Fetch-Mode: {mode}"),
            format!("Sec-Fetch-Dest: {dest}"),
        ];
        let lines = [&cookie, &fetch[0], &fetch[1], &fetch[2]];
        site.request("GET", "/", &lines.map(String::as_str)).status
    };
    assert_eq!(status("same-origin", "cors", "empty"), 200);
    assert_eq!(status("none", "navigate", "document"), 200);
    assert_eq!(status("cross-site", "navigate", "document"), 200);
    // For a browser, another port on this machine belongs to the same site.
    for other in ["cross-site", "same-site"] {
        assert_eq!(status(other, "no-cors", "image"), 403, "{other}");
        assert_eq!(status(other, "cors", "empty"), 403, "{other}");
        assert_eq!(status(other, "navigate", "iframe"), 403, "{other}");
    }
}

#[test]
fn pages_are_read_only() {
    let folder = folder();
    let site = site(&folder);
    let cookie = format!("Cookie: {}", site.cookie);
    let origin = format!("Origin: http://{}", site.host());
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"] {
        for path in ["/", "/run/mine/", "/start"] {
            let response = site.request(method, path, &[&cookie, &origin, "Content-Length: 0"]);
            assert_eq!(response.status, 405, "{method} {path}");
            assert_eq!(response.header("allow"), Some("GET, HEAD"));
        }
    }
    let head = site.request("HEAD", "/run/mine/", &[&cookie]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(site.get("/start").status, 404);
}

#[test]
fn every_response_has_the_security_headers() {
    let folder = folder();
    let site = site(&folder);
    let paths = [
        "/",
        "/run/mine/",
        "/style.css",
        "/serve.js",
        "/nothing",
        "/run/mine/report.html",
    ];
    let mut responses: Vec<_> = paths.iter().map(|path| site.get(path)).collect();
    responses.push(site.request("GET", "/", &[]));
    responses.push(site.request("POST", "/", &[]));
    responses.push(site.send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"));
    for response in &responses {
        let header = |name: &str| response.header(name).unwrap_or_default();
        assert_eq!(header("x-content-type-options"), "nosniff", "{response:?}");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert_eq!(response.header("access-control-allow-origin"), None);
    }
    let policy = responses[0].header("content-security-policy").unwrap();
    for rule in [
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    // The Content-Security-Policy forbids inline styles and scripts, so a page must have none.
    for response in &responses[..2] {
        assert!(!response.body.contains(" style=") && !response.body.contains("<style"));
        assert!(!response.body.contains("<script>") && !response.body.contains(" onclick"));
    }
}

#[test]
fn no_path_leads_out_of_the_runs() {
    let folder = folder();
    let site = site(&folder);
    let run = site.page("/run/mine/");
    let trial = super::site::links(&run, "/trial/").remove(0);
    assert!(!run.contains("secret.txt") && !site.page(&trial).contains("secret.txt"));
    let list = site.page("/");
    assert!(list.contains("/run/mine/"), "{list}");
    assert!(
        !list.contains("theirs") && !list.contains("/run/link"),
        "{list}"
    );
    for path in [
        "/run/link/",
        "/run/..%2Fothers%2Ftheirs/",
        "/run/%2e%2e/",
        "/run/../secret",
        "/run/mine/file/../../secret",
        "/run/mine/file/..%2f..%2fsecret",
        "/run/mine/file/%2e%2e/secret",
        "/run/mine/file/%2Fetc%2Fpasswd",
        "/run/mine/file//etc/passwd",
        "/run/mine/file/secret.txt",
        "/run/mine/file/.lock",
        "/run/mine/file/a%00b",
        "/run/mine/file/trials",
        "/run/mine/secret.txt",
        "/run/mine/trial/..%2F../file/manifest.json",
        "/run/mine%00/",
    ] {
        let response = site.get(path);
        assert!(
            [400, 404].contains(&response.status),
            "{path}: {response:?}"
        );
        assert!(!response.body.contains("of the user"), "{path}");
    }
    for path in ["secret.txt", "../../manifest.json", "..%2f..%2f..%2fsecret"] {
        let response = site.get(&format!("{trial}file/{path}"));
        assert_eq!(response.status, 404, "{path}: {response:?}");
    }
    assert_eq!(site.get("/run/mine/file/manifest.json").status, 200);
}

#[test]
fn a_head_has_at_most_8_kib_and_arrives_within_5_seconds() {
    let _turn = turn();
    let folder = folder();
    let site = site(&folder);
    let status = |bytes: usize| {
        let (host, cookie) = (site.host(), &site.cookie);
        let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nX: ");
        let rest = "x".repeat(bytes - head.len() - 4);
        site.send(&format!("{head}{rest}\r\n\r\n")).status
    };
    let sizes = [(8 << 10) - 16, (8 << 10) + 16, 20_000];
    assert_eq!(sizes.map(status), [200, 431, 431]);

    // A client gets no more time if it sends a byte every now and then.
    let begun = Instant::now();
    let mut stream = site.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
    let pause = Duration::from_millis(100);
    stream.set_read_timeout(Some(pause)).unwrap();
    let mut is_waiting = || {
        let read = stream.write_all(b"x").and_then(|()| stream.read(&mut [0]));
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    while is_waiting() {}
    let took = begun.elapsed().as_secs_f64();
    // On busy cores, the server may be late.
    assert!((5.0..8.0).contains(&took), "{took} s");
}

#[test]
fn a_client_that_does_not_read_is_dropped() {
    let folder = folder();
    // The buffers of the two sockets hold only a small part of the file.
    let bytes = 64 << 20;
    let large = File::create(folder.path().join("runs/mine/large")).unwrap();
    large.set_len(bytes).unwrap();
    let site = site(&folder);
    let begun = Instant::now();
    let mut stream = site.connect();
    let (host, cookie) = (site.host(), &site.cookie);
    let request =
        format!("GET /run/mine/file/large HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    // The server's end of the connection, while it is established (proc_net_tcp.txt of Linux).
    let client = stream.local_addr().unwrap().port();
    let open = format!(":{:04X} 0100007F:{client:04X} 01", site.port);
    while fs::read_to_string("/proc/net/tcp").unwrap().contains(&open) {
        assert!(begun.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(100));
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(10), "{took:?}");
    let mut received = Vec::new();
    // The connection may be reset.
    let _ = stream.read_to_end(&mut received);
    assert!(received.starts_with(b"HTTP/1.1 200") && received.len() as u64 <= bytes / 2);
}

#[test]
fn clients_have_limits() {
    let folder = folder();
    let site = site(&folder);
    // There are more incomplete requests than connections that the server serves at the same time.
    // They time out, and then a complete request is served.
    let half = (0..70).map(|_| {
        let mut stream = site.connect();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
        stream
    });
    let mut half: Vec<TcpStream> = half.collect();
    assert_eq!(site.get("/").status, 200);
    let mut rest = Vec::new();
    // The connection is closed, with or without a response.
    let _ = half[0].read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    drop(half);
    let mut streams: Vec<_> = (0..16).map(|_| site.changes("/events")).collect();
    for stream in &mut streams {
        stream.until("200 OK");
    }
    assert_eq!(site.get("/events").status, 503);
}

#[test]
fn listening_on_another_address_causes_a_warning() {
    let folder = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gatebench"))
        .args(["serve", "runs", "--listen", "0.0.0.0"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let url = crate::serving::first_line(&mut child);
    let site = Site::at(url.trim());
    let (port, cookie) = (site.port, &site.cookie);
    let status = |host: &str| {
        site.send(&format!(
            "GET / HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\n\r\n"
        ))
        .status
    };
    assert_eq!((status("10.1.2.3"), status("evil.example")), (200, 421));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("not the loopback interface") && said.contains("ssh -L"),
        "{said}"
    );
}
