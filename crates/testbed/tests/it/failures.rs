//! Tests that errors name their causes, and that no process is left behind.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use crate::common::{
    below, eventually, exists, folder, launcher, plain, scenario, script_folder, start,
};
use gatebench_model::{Blame, Culprit};
use gatebench_testbed::gateway::{Catalogue, Folder, LocalGateway};
use gatebench_testbed::{DriverError, Ended, Exit};

/// A small gateway that responds to every GET with the status in `STATUS`, or 204 if it is unset.
/// The gateway is a `TCPServer`, because Python's `HTTPServer` looks up its own host name.
const RESPONDING: &str = r#"exec python3 -c '
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(int(sys.argv[2])); self.end_headers()
http.server.socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
' "$1" "${STATUS:-204}""#;

const QUICK: &str = "ready: {timeout: 3s}";

fn start_in(at: &Path, folder: &Folder) -> Result<LocalGateway, DriverError> {
    start(folder, &plain(), &at.join("work"), &[])
}

fn fails(at: &Path, script: &str, more: &str) -> DriverError {
    let folder = script_folder(&at.join("mine"), script, more);
    start_in(at, &folder).err().unwrap()
}

#[test]
fn a_folder_of_the_user_works_without_compiling() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = script_folder(&temporary.path().join("mine"), RESPONDING, "");
    let mut gateway = start_in(temporary.path(), &folder).unwrap();
    assert_eq!(
        crate::common::ask(gateway.started.address, "/", &[]).status,
        204
    );
    assert_eq!(folder.find_binary(&launcher()).unwrap().version, "1.2");
    assert_eq!(gateway.process.stop(), Ended::Stopped);
}

#[test]
fn a_missing_binary_is_named_with_the_package_to_install() {
    let mut folder = folder("nginx");
    folder.spec.binary.names = vec!["no-such-gateway".into()];
    let error = folder.find_binary(&launcher()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "gateway nginx is not installed: no-such-gateway was not found"
    );
    assert_eq!(
        error.remedy(),
        "gatebench install nginx, or install it yourself: apt-get install nginx libnginx-mod-http-xslt-filter"
    );
    assert_eq!(error.culprit(), Culprit::Environment);
}

#[test]
fn a_refused_configuration_shows_what_the_gateway_said() {
    for (name, file) in [("nginx", "nginx.conf"), ("haproxy", "haproxy.cfg")] {
        let temporary = tempfile::tempdir().unwrap();
        let mine = temporary.path().join("mine");
        copy_folder(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../gateways")
                .join(name),
            &mine,
        );
        let template = fs::read_to_string(mine.join(file)).unwrap();
        fs::write(mine.join(file), template + "\nnonsense_directive on;\n").unwrap();
        let folder = Catalogue::default()
            .resolve(mine.to_str().unwrap())
            .unwrap();
        let error = start_in(temporary.path(), &folder).err().unwrap();
        assert!(error.to_string().contains("nonsense_directive"), "{error}");
        assert_eq!(error.culprit(), Culprit::Gateway(name.into()));
    }
}

#[test]
fn a_taken_port_is_the_environments_fault() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for name in ["nginx", "haproxy"] {
        let work = tempfile::tempdir().unwrap();
        let error = start(&folder(name), &plain(), work.path(), &[port])
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            format!("other processes use all ports that were tried: {port}")
        );
        assert_eq!(error.culprit(), Culprit::Environment);
    }
}

#[test]
fn of_two_gateways_that_want_a_port_the_first_keeps_it() {
    let temporary = tempfile::tempdir().unwrap();
    let first = start(
        &folder("nginx"),
        &plain(),
        &temporary.path().join("first"),
        &[],
    )
    .unwrap();
    let port = first.started.address.port();
    let work = temporary.path().join("second");
    let error = start(&folder("haproxy"), &plain(), &work, &[port])
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        format!("other processes use all ports that were tried: {port}")
    );
    assert_eq!(
        crate::common::ask(first.started.address, "/anything", &[]).status,
        200
    );
}

#[test]
fn after_a_clash_the_next_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let work = tempfile::tempdir().unwrap();
    let ports = [taken.local_addr().unwrap().port(), free];
    let gateway = start(&folder("nginx"), &plain(), work.path(), &ports).unwrap();
    assert_eq!(gateway.started.address.port(), free);
}

#[test]
fn a_gateway_that_ends_before_it_is_ready_is_reported_with_its_last_output() {
    let temporary = tempfile::tempdir().unwrap();
    let error = fails(temporary.path(), "echo 'no license' >&2; exit 3", "");
    assert_eq!(
        error.to_string(),
        "gateway mine ended while starting (exit code 3)\nno license"
    );
    assert_eq!(error.culprit(), Culprit::Gateway("mine".into()));
}

#[test]
fn a_hang_at_start_is_found_and_ended() {
    let temporary = tempfile::tempdir().unwrap();
    let note = temporary.path().join("pid");
    let error = fails(
        temporary.path(),
        &format!("echo $$ > {}; exec sleep 600", note.display()),
        QUICK,
    );
    assert!(
        error.to_string().contains("nothing listens on its port"),
        "{error}"
    );
    let pid = fs::read_to_string(note).unwrap().trim().parse().unwrap();
    assert!(!exists(pid));
}

#[test]
fn a_check_that_hangs_is_ended_through_its_supervisor() {
    let temporary = tempfile::tempdir().unwrap();
    let note = temporary.path().join("pid");
    let check = format!(
        "check: [sh, -c, 'echo stuck; echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600']",
        note.display()
    );
    let folder = script_folder(&temporary.path().join("mine"), "exit 0", &check);
    let work = temporary.path().join("work");
    thread::scope(|scope| {
        let starting = scope.spawn(|| start(&folder, &plain(), &work, &[]));
        eventually("the check", || note.exists());
        let pid: u32 = fs::read_to_string(&note).unwrap().trim().parse().unwrap();
        crate::common::terminate(crate::common::parent(pid));
        let error = starting.join().unwrap().err().unwrap();
        assert_eq!(
            error.to_string(),
            "gateway mine did not finish checking its configuration (signal TERM)\nstuck"
        );
        assert!(!exists(pid));
    });
}

#[test]
fn a_gateway_that_accepts_and_never_responds_hangs() {
    let temporary = tempfile::tempdir().unwrap();
    let script = "exec python3 -c 'import socket, sys, time\n\
                  s = socket.create_server((\"127.0.0.1\", int(sys.argv[1])))\ntime.sleep(600)' \"$1\"";
    let error = fails(temporary.path(), script, "ready: {timeout: 10s}");
    assert!(
        error.to_string().contains("hangs without a response"),
        "{error}"
    );
}

#[test]
fn a_gateway_that_responds_503_is_not_ready() {
    let temporary = tempfile::tempdir().unwrap();
    let error = fails(
        temporary.path(),
        RESPONDING,
        "ready: {timeout: 10s}\nenvironment: {STATUS: '503'}",
    );
    assert!(
        error.to_string().contains("it responds with 503 to GET /"),
        "{error}"
    );
}

#[test]
fn a_gateway_that_ignores_the_request_to_stop_is_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let script = RESPONDING.replace(
        "import http.server, sys",
        "import http.server, signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)",
    );
    let folder = script_folder(
        &temporary.path().join("mine"),
        &script,
        "stop: {timeout: 50ms}",
    );
    let mut gateway = start_in(temporary.path(), &folder).unwrap();
    let processes = below(gateway.process.supervisor_pid());
    assert_eq!(gateway.process.stop(), Ended::Killed);
    assert!(!processes.into_iter().any(exists));
}

#[test]
fn a_gateway_that_is_killed_just_before_its_stop_has_crashed() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = script_folder(
        &temporary.path().join("mine"),
        RESPONDING,
        "stop: {timeout: 1h}",
    );
    let mut gateway = start_in(temporary.path(), &folder).unwrap();
    for pid in below(gateway.process.supervisor_pid()) {
        crate::common::kill(pid);
    }
    assert_eq!(gateway.process.stop(), Ended::Crashed(Exit::Signal(9)));
}

#[test]
fn a_killed_supervisor_ends_the_gateway() {
    let work = tempfile::tempdir().unwrap();
    let mut gateway = start(&folder("nginx"), &plain(), work.path(), &[]).unwrap();
    let processes = below(gateway.process.supervisor_pid());
    crate::common::kill(gateway.process.supervisor_pid());
    eventually("the end to be noticed", || !gateway.process.is_alive());
    for pid in processes {
        eventually("the end of the gateway", || !exists(pid));
    }
}

#[test]
fn a_template_error_names_file_and_line() {
    let temporary = tempfile::tempdir().unwrap();
    let mine = temporary.path().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("conf"), "# one\n# two\nworkers {{ wrokers }}\n").unwrap();
    let folder = script_folder(&mine, "exit 0", "files: [{template: conf, to: conf}]");
    let error = start_in(temporary.path(), &folder).err().unwrap();
    assert_eq!(
        error.culprit(),
        Culprit::File {
            path: mine.join("conf"),
            line: Some(3)
        }
    );
    assert!(
        error.to_string().contains("no `wrokers`, in `workers"),
        "{error}"
    );
    assert!(
        error
            .remedy()
            .contains("did you mean `workers`? the known names are `"),
        "{error:?}"
    );
    fs::write(
        mine.join("conf"),
        "{% for r in routes %}{{ r.pth }}{% endfor %}",
    )
    .unwrap();
    let folder = Catalogue::default()
        .resolve(mine.to_str().unwrap())
        .unwrap();
    let error = start_in(temporary.path(), &folder).err().unwrap();
    assert!(error.to_string().contains("no `pth`"), "{error}");
    assert!(
        error
            .remedy()
            .contains("`path`? the known names are `name`, `path`"),
        "{error:?}"
    );
}

#[test]
fn an_unsupported_policy_is_reported_before_the_start() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = script_folder(&temporary.path().join("mine"), "exit 0", "");
    let keyed = scenario(
        "scenario: keyed\ntitle: keyed\nupstream: httpbin\nconsumers: [{name: alice, keys: [k]}]\n\
         routes: [{name: all, path: /, policies: [{api_key: {header: X-Api-Key}}]}]\nrequests: [{path: /}]\n",
    );
    let unsupported = folder.claims(&keyed).unwrap_err();
    assert_eq!(unsupported.policies, ["api_key"]);
    let error = start(&folder, &keyed, &temporary.path().join("work"), &[])
        .err()
        .unwrap();
    assert!(matches!(error, DriverError::Unsupported(_)));
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
