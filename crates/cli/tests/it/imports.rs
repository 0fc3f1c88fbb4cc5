//! `gatebench import`, `run` with the resulting folders, and `--config` with a user's files.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::bench::Bench;
use crate::turns::turn;

/// A configuration whose policies the reference gateway supports.
const KONG: &str = "\
_format_version: '3.0'
services:
  - name: shop
    url: https://shop.internal:8443
    routes:
      - name: orders
        paths: [/orders]
        plugins: [{name: key-auth, config: {key_names: [X-Api-Key]}}]
      - name: pages
        paths: [/pages]
        plugins: [{name: response-transformer, config: {remove: {headers: [X-Internal]}}}]
consumers:
  - {username: alice, keyauth_credentials: [{key: a-secret-of-alices}]}
";

/// A configuration that runs only after its ports, paths and addresses are replaced.
const NGINX: &str = "\
user nobody;
worker_processes auto;
pid /run/nginx.pid;
error_log /var/log/nginx/error.log;
events {}
http {
  include /etc/nginx/no-such-file;
  access_log /var/log/nginx/access.log;
  upstream app { server app.internal:8080; keepalive 16; }
  server { listen 80; return 301 https://$host$request_uri; }
  server {
    listen 443 ssl;
    server_name shop.example;
    ssl_certificate /etc/ssl/shop.pem;
    ssl_certificate_key /etc/ssl/shop.key;
    proxy_http_version 1.1;
    proxy_set_header Connection '';
    location / { proxy_pass http://app; }
    location /api/ { proxy_pass https://me:hunter2@api.internal/v1/; }
  }
}
";

#[test]
fn a_folder_is_imported_and_runs() {
    let bench = Bench::new();
    bench.write("kong.yml", KONG);
    bench
        .gatebench("import kong kong.yml --dir shop")
        .assert_code(0)
        .assert_prints(&[
            "shop/ contains kong.yml, scenario.yaml, suite.yaml",
            "gatebench run ./shop --smoke",
        ]);
    bench
        .gatebench("run ./shop --smoke --gateway reference --no-direct --dir run")
        .assert_measured();
    let report = bench.read("run/report.json");
    assert!(!report.contains("a-secret-of-alices"));
    bench
        .gatebench("import kong kong.yml --dir shop")
        .assert_code(2)
        .assert_says(&["shop: already exists", "choose another folder with --dir"]);
}

#[test]
fn what_is_not_understood_is_not_supported_by_other_gateways() {
    let bench = Bench::new();
    bench.write(
        "kong.yml",
        &KONG.replace(
            "{name: response-transformer, config: {remove: {headers: [X-Internal]}}}",
            "{name: cors}",
        ),
    );
    bench
        .gatebench("import kong kong.yml --dir shop")
        .assert_code(0)
        .assert_prints(&["line 11: the plug-in cors"]);
    bench
        .gatebench("run ./shop --smoke --gateway reference --no-direct --dir run")
        .assert_prints(&["reference does not support the plug-in cors (line 11)"]);
}

#[test]
fn a_users_configuration_runs_as_a_copy() {
    let bench = Bench::new();
    bench.write("nginx.conf", NGINX);
    let plan = bench.gatebench("run --config nginx.conf --smoke --dry-run");
    plan.assert_code(0).assert_prints(&[
        "nginx.conf:8: files are written to the folder of the trial\n- access_log /var/log/nginx/access.log;",
        "- upstream app { server app.internal:8080; keepalive 16; }",
        "- location /api/ { proxy_pass https://***@api.internal/v1/; }",
        "+ (removed)",
    ]);
    assert!(!plan.stdout.contains("hunter2"), "{}", plan.stdout);
    bench
        .gatebench("run --config nginx.conf --smoke --no-direct --dir run")
        .assert_measured();
    assert_eq!(bench.read("nginx.conf"), NGINX, "the file is not changed");
    let report: Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    assert_eq!(
        report["trials"][0]["variant"], "nginx-nginx",
        "{}",
        report["trials"]
    );
    for file in ["report.json", "report.md", "manifest.json"] {
        assert!(
            !bench.read(&format!("run/{file}")).contains("hunter2"),
            "{file}"
        );
    }
    let rendered = bench.path("run/trials/0001-nginx-nginx-nginx-b1/gateway/nginx.conf");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(rendered).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn two_files_are_compared_by_name() {
    let bench = Bench::new();
    bench.write("old.conf", NGINX);
    bench.write("new.conf", &NGINX.replace("keepalive 16", "keepalive 64"));
    let plan = bench.gatebench("ab --config old.conf --config new.conf --dry-run");
    plan.assert_code(0)
        .assert_prints(&["nginx-new", "nginx-old", "nginx-old-2"]);
    bench
        .gatebench("ab --config old.conf --dry-run")
        .assert_code(2)
        .assert_says(&["an A/B test compares two configurations"]);
    bench
        .gatebench("run --config ping.yaml --dry-run")
        .assert_code(2)
        .assert_says(&[
            "ping.yaml is not recognized as a configuration of nginx",
            "--gateway NAME",
        ]);
}

fn log(counts: &[(&str, usize)]) -> String {
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let mut log = String::new();
    let paths = counts
        .iter()
        .flat_map(|(path, count)| std::iter::repeat_n(path, *count));
    for (number, path) in paths.enumerate() {
        // Spreads the requests evenly over ten minutes.
        let (minute, second) = (number * 600 / total / 60, number * 600 / total % 60);
        writeln!(log, "192.0.2.1 - - [31/Jan/2025:14:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 300").unwrap();
    }
    log
}

#[test]
fn a_replay_has_the_mix_of_the_log() {
    let _turn = turn();
    let bench = Bench::new();
    let counts = [
        ("/users/17", 3_000),
        ("/cart", 1_500),
        ("/search?q=secret", 900),
        ("/static/app.js", 600),
    ];
    bench.write("access.log", &log(&counts));
    bench
        .gatebench("import access-log access.log --dir traffic --times 500 --over 3s")
        .assert_code(0)
        .assert_prints(&[
            "6000 lines, read in the format of nginx",
            "the log has only whole seconds",
        ]);
    let run = bench
        .gatebench("run ./traffic --gateway reference --no-direct --blocks 1 --verbose --dir run");
    run.assert_prints(&[
        "arrivals within a second are Poisson, because the log has only whole seconds",
    ]);
    let trial: Value =
        serde_json::from_str(&bench.read("run/trials/0001-traffic-reference-b1/trial.json"))
            .unwrap();
    let requests = trial["phases"][0]["groups"][0]["routes"]
        .as_array()
        .unwrap();
    let done = |request: &Value| request["completed"].as_f64().unwrap();
    let total: f64 = requests.iter().map(done).sum();
    assert!(total > 10_000.0, "{total}");
    for (name, share) in [
        ("GET /users/{number}", 0.50),
        ("GET /cart", 0.25),
        ("GET /search?q=x", 0.15),
        ("GET /static/app.js", 0.10),
    ] {
        let found = requests
            .iter()
            .find(|it| it["name"] == name)
            .unwrap_or_else(|| panic!("{requests:?}"));
        let difference = (done(found) / total - share).abs();
        assert!(difference < 0.01, "{name}: {}", done(found) / total);
    }
}

#[test]
fn errors_in_the_input_name_the_line_and_the_remedy() {
    let bench = Bench::new();
    bench.write(
        "kong.yml",
        "_format_version: '3.0'\nservices: 7\nconsumers: 8\n",
    );
    bench
        .gatebench("import kong kong.yml --dir k")
        .assert_code(2)
        .assert_says(&[
            "kong.yml:2:11",
            "kong.yml:3:12",
            "is not a list",
            "begin each item with `- `",
            "2 mistakes",
        ]);
    bench.write("access.log", &(log(&[("/a", 100)]) + "what\nis\nthis\n"));
    bench
        .gatebench("import access-log access.log --dir l")
        .assert_code(2)
        .assert_says(&[
            "3 of 103 lines are not in the format",
            "access.log:101: expected a time in brackets",
        ]);
    bench
        .gatebench("import har absent.har")
        .assert_code(2)
        .assert_says(&["absent.har: cannot be read", "- for standard input"]);
    assert!(!bench.path("k").exists() && !bench.path("l").exists());
}
