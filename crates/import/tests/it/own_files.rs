//! Compares the templates and changes for users' configurations (`inputs/own-NAME`) with
//! `inputs/own-NAME.txt`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use gatebench_import::{Files, ImportError, OwnConfig, wire};

use crate::common::{assert_golden, inputs};

fn included(pattern: &str) -> io::Result<Vec<(String, String)>> {
    // Each of these files includes the next, without end.
    if let Some(number) = pattern.strip_prefix("chain-") {
        let next = number.parse::<u32>().unwrap() + 1;
        let text = format!("include chain-{next};\n");
        return Ok(vec![(pattern.into(), text)]);
    }
    if pattern == "many/*" {
        let file = |number: u32| (format!("many/{number}"), String::new());
        return Ok((0..501).map(file).collect());
    }
    let (name, text) = match pattern {
        "conf.d/*.conf" => ("conf.d/a.conf", "upstream more { server more:80; }\n"),
        "headers.conf" => ("headers.conf", "add_header X-A a;\n"),
        "listen.conf" => ("listen.conf", "listen 80; listen [::]:80;\n"),
        "servers.conf" => ("servers.conf", "server more:80 resolve;\n"),
        "loop.conf" => ("loop.conf", "# loop\ninclude loop.conf;\n"),
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    Ok(vec![(name.into(), text.into())])
}

fn files() -> Files<'static> {
    Files {
        folder: Path::new("/srv/site"),
        read: &included,
        is_file: &|path| path == Path::new("/usr/share/nginx/modules/a.so"),
    }
}

fn wired(file: &str, text: &str) -> Result<OwnConfig, ImportError> {
    wire(file, text, &files())
        .map(|own| own.unwrap_or_else(|| panic!("{file} has no known language")))
}

#[test]
fn each_file_becomes_a_template_with_its_changes() {
    for file in [
        "own-nginx.conf",
        "own-haproxy.cfg",
        "own-envoy.yaml",
        "own-kong.yml",
        "own-apisix.yaml",
    ] {
        let text = fs::read_to_string(inputs().join(file)).unwrap();
        let own = wired(file, &text).unwrap();
        let mut words = String::new();
        for change in &own.changes {
            let (before, after) = (&change.before, &change.after);
            writeln!(
                words,
                "{}:{}: {}\n- {before}\n+ {after}",
                change.file, change.line, change.why
            )
            .unwrap();
        }
        assert!(!words.contains("hunter2"), "a secret is shown: {words}");
        writeln!(words, "\n==> template, TLS {}\n{}", own.has_tls, own.text).unwrap();
        for request in &own.scenario.unwrap().requests {
            writeln!(
                words,
                "{} {} {:?}",
                request.method, request.path, request.headers
            )
            .unwrap();
        }
        assert_golden(&inputs().join(format!("{file}.txt")), &words);
    }
}

#[test]
fn the_port_with_the_most_routes_is_measured() {
    let server = |listens: &str, routes: usize| {
        let routes = (0..routes).map(|n| format!("location /{n}/ {{ proxy_pass http://a:1; }} "));
        format!("server {{ {listens} {}}}\n", routes.collect::<String>())
    };
    // The two addresses of port 80 lead to the same routes.
    let twice = server("listen 80; listen [::]:80;", 2) + &server("listen 8080;", 3);
    let quic = server("listen 443 quic;", 3) + &server("listen 8080;", 1);
    for text in [twice, quic] {
        let own = wired("x.conf", &format!("http {{\n{text}}}\n")).unwrap();
        let changed = own.changes.iter().find(|it| it.before.contains("8080"));
        let after = &changed.unwrap().after;
        assert!(after.contains("listeners[0] | endpoint"), "{after}");
    }
}

#[test]
fn of_two_addresses_of_a_port_the_one_with_tls_is_kept() {
    for listens in [
        "listen 443; listen [::]:443 ssl;",
        "listen 443 ssl; listen [::]:443;",
    ] {
        let text =
            format!("http {{ server {{ {listens} location / {{ proxy_pass http://a:1; }} }} }}\n");
        let own = wired("x.conf", &text).unwrap();
        assert!(own.has_tls, "{listens}");
        assert_eq!(own.text.matches("listen ").count(), 1, "{}", own.text);
        let kept = "listen {{ listeners[0] | endpoint }} ssl;";
        assert!(own.text.contains(kept), "{}", own.text);
    }
}

#[test]
fn a_server_listens_once_wherever_its_lines_are() {
    for lines in [
        "listen 80; include headers.conf; include headers.conf;",
        "include listen.conf;",
        "listen 80; include listen.conf;",
        "include headers.conf;",
    ] {
        // The second server has its own lines for the same port.
        let server = format!("server {{ {lines} location / {{ proxy_pass http://a:1; }} }}\n");
        let own = wired("x.conf", &format!("http {{\n{server}{server}}}\n")).unwrap();
        let count = |line: &str| own.text.matches(line).count();
        let counts = ["listen {{ listeners[0] | endpoint }}", "listen "].map(count);
        assert_eq!(counts, [2, 2], "{lines}: {}", own.text);
    }
}

#[test]
fn included_servers_of_an_upstream_become_those_of_the_trial() {
    let text = "http { upstream a { include servers.conf; } \
                server { location / { proxy_pass http://a; } } }\n";
    let own = wired("x.conf", text).unwrap();
    let server = "server {{ upstreams[0].targets[0] | endpoint }} ;";
    assert!(own.text.contains(server), "{}", own.text);
}

#[test]
fn relative_paths_lead_to_the_files_of_the_original() {
    let text = "load_module modules/a.so;\nload_module \"modules/b.so\";\n\
                load_module /m/c.so;\n\
                http { server { auth_basic_user_file users;\n\
                location / { proxy_pass http://a; } } }\n";
    let own = wired("x.conf", text).unwrap();
    for line in [
        "load_module \"/usr/share/nginx/modules/a.so\";",
        "load_module \"/srv/site/modules/b.so\";",
        "load_module /m/c.so;",
        "auth_basic_user_file \"/srv/site/users\";",
    ] {
        assert!(own.text.contains(line), "{}", own.text);
    }
}

#[test]
fn lines_about_removed_mailers_are_removed() {
    let text = "mailers m\n  mailer one 10.0.0.1:25\n\
                defaults\n  mode http\n  email-alert mailers m\n  email-alert to a@b\n\
                listen a\n  bind :80\n  server s 10.0.0.2:80\n";
    let own = wired("haproxy.cfg", text).unwrap();
    assert!(!own.text.contains("mail"), "{}", own.text);
}

#[test]
fn templates_and_unknown_languages_are_left_as_they_are() {
    let template = "server { listen {{ listeners[0] | endpoint }}; }\n";
    assert!(wire("x", template, &files()).unwrap().is_none());
    assert!(
        wire("Caddyfile", "localhost\nreverse_proxy :80\n", &files())
            .unwrap()
            .is_none()
    );
}

#[test]
fn parts_that_cannot_run_in_a_trial_are_refused_with_their_line() {
    for (text, expected) in [
        (
            "http {\n  server { listen 80\n}\n",
            "x:2:12: `listen` is not terminated; add `;` at its end",
        ),
        (
            "events {}\nhttp { server { listen 80; } }\n",
            "x: nginx has no route to an upstream in this file",
        ),
        (
            "http { include loop.conf; }\n",
            "loop.conf:2:1: loop.conf includes itself; remove this `include`",
        ),
        (
            "http { include chain-1; }\n",
            "chain-8:1:1: includes are nested more than 8 levels deep; move the",
        ),
        (
            "http { include many/*; }\n",
            "x:1:8: more than 500 files are included; import a configuration",
        ),
        (
            "frontend a\n  bind :80\n",
            "x: HAProxy has no route to an upstream in this file",
        ),
        (
            "dynamic_resources: {}\n",
            "x:1:1: resources come from a control plane, which is not part of the file",
        ),
        (
            "static_resources: {}\n",
            "x: Envoy has no route to a cluster in this file",
        ),
    ] {
        let error = wired("x", text).map(|own| own.text).unwrap_err();
        let found = match &error {
            ImportError::Mistakes(mistakes) => mistakes.all()[0].to_string(),
            other => other.to_string(),
        };
        assert!(found.starts_with(expected), "{found}");
        assert!(!error.remedy().is_empty());
    }
}
