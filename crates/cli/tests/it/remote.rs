//! Gateways on another host, over a real `ssh` to a real sshd that runs on 127.0.0.1 for this test,
//! with its own keys, configuration and folders. Processes on the remote side are recognized by
//! their environment, which sshd sets, and by their temporary folder.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, LONG_MEASURE, Session};
use crate::processes::{self, Process};

/// The path of sshd on Debian. Its folder is not on a user's PATH.
const SSHD: &str = "/usr/sbin/sshd";

/// The folder that sshd needs if it runs as root. In a container, it may not exist.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

/// An sshd for this test, which ends on drop.
struct Far {
    sshd: Child,
}

impl Far {
    /// Starts sshd, which `ssh far` reaches in this bench. `cache` is the folder for programs on
    /// that host.
    fn start(bench: &Bench, cache: &Path) -> Self {
        for folder in ["far-tmp", "far-cache", "bin"] {
            fs::create_dir_all(bench.path(folder)).unwrap();
        }
        for key in ["host-key", "user-key", "other-key"] {
            let path = bench.path(key);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path)
                .status();
            assert!(made.unwrap().success());
        }
        if !Path::new(PRIVILEGE_SEPARATION).exists() {
            // If the test does not run as root, sshd does not need this folder.
            let _ = fs::DirBuilder::new()
                .mode(0o755)
                .create(PRIVILEGE_SEPARATION);
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        configure(bench, port, cache);
        let sshd = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(bench.path("sshd.conf"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(bench.path("sshd.log")).unwrap())
            .spawn();
        let far = Self {
            sshd: sshd.unwrap(),
        };
        bench.wait_for("sshd", || TcpStream::connect(("127.0.0.1", port)).ok());
        far
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

/// Writes an sshd configuration and an ssh configuration. A wrapper on PATH makes `ssh` use this
/// configuration instead of the user's, which remains unchanged.
fn configure(bench: &Bench, port: u16, cache: &Path) {
    let at = |name: &str| bench.path(name).display().to_string();
    let (mark, value) = bench.mark();
    bench.write(
        "sshd.conf",
        &format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
             SetEnv {mark}={value} TMPDIR={} XDG_CACHE_HOME={}\n",
            at("host-key"),
            at("user-key.pub"),
            at("far-tmp"),
            cache.display()
        ),
    );
    let key = bench.read("host-key.pub");
    bench.write("known", &format!("[127.0.0.1]:{port} {key}"));
    let host = |name: &str, port: u16, identity: &str, known: &str| {
        format!(
            "Host {name}\nHostName 127.0.0.1\nPort {port}\nIdentityFile {identity}\nIdentitiesOnly yes\nUserKnownHostsFile {known}\n"
        )
    };
    let text = [
        host("far", port, &at("user-key"), &at("known")),
        host("refusing", port, &at("other-key"), &at("known")),
        host("unknown", port, &at("user-key"), &at("nobody-known")),
        // The discard port, which no process listens on.
        host("deaf", 9, &at("user-key"), &at("known")),
    ];
    bench.write("ssh.conf", &text.concat());
    let wrapper = format!(
        "#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n",
        at("ssh.conf")
    );
    bench.write("bin/ssh", &wrapper);
    fs::set_permissions(bench.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the path of a stripped gatebench. Without stripping, its debug information would also be
/// copied to the host.
pub fn stripped(bench: &Bench) -> PathBuf {
    let program = bench.path("gatebench");
    if !program.exists() {
        let stripped = Command::new("strip")
            .arg("-o")
            .arg(&program)
            .arg(env!("CARGO_BIN_EXE_gatebench"))
            .status();
        assert!(stripped.unwrap().success());
    }
    program
}

fn start<'a>(bench: &'a Bench, words: &str) -> Session<'a> {
    let (mark, value) = bench.mark();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(stripped(bench));
    command
        .args(words.split_whitespace())
        .current_dir(bench.path(""))
        .env(mark, value)
        .env("PATH", format!("{}:{path}", bench.path("bin").display()))
        .env_remove("NO_COLOR");
    bench.spawn(command)
}

/// Asserts that no process is left and that the remote temporary folder is empty.
fn assert_nothing_left(bench: &Bench) {
    bench.wait_for("all processes to end", || {
        bench.processes().is_empty().then_some(())
    });
    let left: Vec<_> = fs::read_dir(bench.path("far-tmp"))
        .unwrap()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn gateways_on_another_host_are_measured_and_leave_nothing() {
    let bench = Bench::new();
    let _far = Far::start(&bench, &bench.path("far-cache"));
    bench.suite("reference, nginx", 1);
    start(&bench, "run suite.yaml --gateway-on far --dir run")
        .wait()
        .assert_measured();
    assert_nothing_left(&bench);
    bench.assert_reportable("run", 2);
    for trial in bench.kept_trials("run") {
        let record = bench.read(&format!("run/trials/{trial}/trial.json"));
        for fact in [
            " on far\"",
            "\"stopped\": \"on SIG",
            "\"gateway\": {\"cpu_ns\"",
        ] {
            let record = record.replace("\n", "").replace("  ", "");
            assert!(record.contains(fact), "{fact} is not in {record}");
        }
        let logs = bench.path(&format!("run/trials/{trial}/gateway/gateway.stderr.log"));
        assert!(logs.exists());
    }
    let programs = fs::read_dir(bench.path("far-cache/gatebench")).unwrap();
    assert_eq!(programs.count(), 1, "the program was sent once");
    missing_programs_are_reported(&bench);
}

fn missing_programs_are_reported(bench: &Bench) {
    bench.faulty("honest");
    let spec = bench
        .read("faulty/gateway.yaml")
        .replace("[/usr/bin/python3, python3]", "[no-such-program]");
    bench.write("faulty/gateway.yaml", &spec);
    let words = "run suite.yaml --gateway ./faulty --gateway-on far --dir missing";
    let missing = start(bench, words).wait();
    missing
        .assert_code(3)
        .assert_says(&["on far: gateway faulty is not installed", "→ on far: "]);
    bench.faulty("refuse:line-7-says-nonsense");
    let words = "run suite.yaml --gateway ./faulty --gateway-on far --dir refused";
    let refused = start(bench, words).wait();
    refused
        .assert_code(1)
        .assert_says(&["gateway faulty", "on far: ", "line 7 says nonsense"]);
    assert_nothing_left(bench);
}

#[test]
fn a_broken_connection_ends_all_remote_processes() {
    let bench = Bench::new();
    let _far = Far::start(&bench, &bench.path("far-cache"));
    bench.load(LONG_MEASURE);
    let session = start(&bench, "run suite.yaml --gateway-on far --dir broken");
    session.until_load();
    let is_ssh = |process: &Process| process.command.iter().any(|word| word == "BatchMode=yes");
    let ssh: Vec<Process> = bench.processes().into_iter().filter(is_ssh).collect();
    assert_eq!(ssh.len(), 1, "{ssh:?}");
    processes::signal(ssh[0].pid, "KILL");
    let finished = session.wait_for_end();
    finished.assert_says(&[
        "environment: ",
        "the connection to far broke",
        "→ check that far and the network to it are up",
    ]);
    assert_nothing_left(&bench);

    let session = start(&bench, "run suite.yaml --gateway-on far --dir killed");
    session.until_load();
    session.signal("KILL");
    drop(session);
    assert_nothing_left(&bench);
}

#[test]
fn an_unusable_host_is_reported_with_the_remedy() {
    let bench = Bench::new();
    // `/sys` is a kernel file system, in which no folder can be created.
    let _far = Far::start(&bench, Path::new("/sys"));
    for (host, said) in [
        (
            "refusing",
            [
                "Permission denied (publickey)",
                "make sure that `ssh refusing true` works",
            ],
        ),
        (
            "unknown",
            [
                "Host key verification failed",
                "log in once by hand with `ssh unknown`",
            ],
        ),
        (
            "deaf",
            ["Connection refused", "make sure that sshd runs on deaf"],
        ),
        (
            "no-such-host.invalid",
            ["Could not resolve hostname", "name the host as for `ssh`"],
        ),
        (
            "far",
            [
                "cannot create directory",
                "→ give the user on far a writable home",
            ],
        ),
    ] {
        let words = format!("run suite.yaml --gateway-on {host} --dir run");
        let finished = start(&bench, &words).wait();
        let cannot = format!("environment: gatebench cannot be run on {host}: ");
        finished
            .assert_code(3)
            .assert_says(&[&cannot])
            .assert_says(&said);
        assert!(!bench.path("run").exists(), "nothing was started");
    }
    assert_nothing_left(&bench);
}

#[test]
fn hosts_from_terraform_and_from_a_file_give_the_same_plan() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: Kong's outputs name no user, so gatebench logs in as root");
        return;
    }
    let bench = Bench::new();
    let _far = Far::start(&bench, &bench.path("far-cache"));
    // Terraform's outputs contain the addresses of hosts, so ssh must know the host by its address.
    let config = bench
        .read("ssh.conf")
        .replace("Host far\n", "Host far 127.0.0.2\n");
    bench.write("ssh.conf", &config);
    fs::create_dir(bench.path("infra")).unwrap();
    bench.write("outputs.json", OUTPUTS);
    terraform(&bench, "*output*) cat outputs.json;;");
    let plan = |hosts: &str| {
        let planned = start(
            &bench,
            &format!("run suite.yaml --dry-run --json --hosts {hosts}"),
        )
        .wait();
        planned.assert_code(0);
        planned.stdout
    };
    let of_terraform = plan("terraform:infra");
    assert_eq!(plan("outputs.json"), of_terraform);
    assert!(of_terraform.contains("root@127.0.0.2"), "{of_terraform}");
    for absent in ["a-secret", "db-password", "something-else"] {
        assert!(!of_terraform.contains(absent), "{absent}");
    }
    // A dry run asks for no confirmation.
    assert_eq!(plan("terraform:infra --provision --destroy"), of_terraform);
    let refused = start(&bench, "run suite.yaml --hosts terraform:infra --provision").wait();
    refused
        .assert_code(2)
        .assert_says(&["cannot ask for confirmation", "→ add --yes"]);
    let log = bench.read("terraform.log");
    assert_eq!(log, "-chdir=infra output -json -no-color\n".repeat(2));

    let words = "run suite.yaml --dir run --hosts terraform:infra --provision --destroy --yes";
    start(&bench, words).wait().assert_measured();
    assert_nothing_left(&bench);
    let log = bench.read("terraform.log");
    assert_eq!(
        verbs(&log)[2..],
        ["init", "plan", "apply", "output", "plan", "apply"]
    );
    assert!(log.contains("-destroy"), "{log}");
    let manifest = bench.read("run/manifest.json");
    assert!(!manifest.contains("a-secret") && !manifest.contains("db-password"));
}

/// Creates a `terraform` that writes its arguments to `terraform.log`. By default, each plan has
/// changes and every other command succeeds. `branches`, which are branches of a shell's `case`,
/// take precedence.
fn terraform(bench: &Bench, branches: &str) {
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> terraform.log\ncase \"$*\" in\n{branches}\n\
         *' plan '*) echo 'Plan: 2 to add'; exit 2;;\nesac\n"
    );
    fs::create_dir_all(bench.path("bin")).unwrap();
    bench.write("bin/terraform", &script);
    fs::set_permissions(
        bench.path("bin/terraform"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
}

/// Returns the subcommands in `terraform.log`.
fn verbs(log: &str) -> Vec<&str> {
    let lines = log.lines();
    lines.filter_map(|it| it.split(' ').nth(1)).collect()
}

#[test]
fn hosts_are_destroyed_after_a_failure_once_their_creation_has_begun() {
    let bench = Bench::new();
    fs::create_dir(bench.path("infra")).unwrap();
    let no_outputs = "`terraform -chdir=infra output -json` failed: no state";
    let cases: [(&str, i32, &[&str], &[&str]); 6] = [
        (
            "*' init '*) exit 1;;",
            3,
            &["init"],
            &["`terraform -chdir=infra init` failed"],
        ),
        (
            // Only the first `apply` fails.
            "*' apply '*) test -e applied && exit 0; touch applied; exit 1;;",
            3,
            &["init", "plan", "apply", "plan", "apply"],
            &["`terraform -chdir=infra apply` failed"],
        ),
        (
            // Ctrl-C during the first `apply` reaches gatebench and Terraform.
            "*' apply '*) test -e hit && exit 0; touch hit; kill -INT $PPID; sleep 1; exit 1;;",
            130,
            &["init", "plan", "apply", "plan", "apply"],
            &[
                "interrupted: the hosts are destroyed",
                "--hosts: interrupted before the run",
                "→ run the command again",
            ],
        ),
        (
            "*output*) echo no state >&2; exit 1;;",
            3,
            &["init", "plan", "apply", "output", "plan", "apply"],
            &[no_outputs],
        ),
        (
            "*output*) echo '{}';;",
            2,
            &["init", "plan", "apply", "output", "plan", "apply"],
            &["terraform:infra"],
        ),
        (
            "*output*) echo no state >&2; exit 1;;\n*-destroy*) exit 1;;",
            3,
            &["init", "plan", "apply", "output", "plan"],
            &["`terraform -chdir=infra plan` failed", no_outputs],
        ),
    ];
    for (branches, code, called, said) in cases {
        terraform(&bench, branches);
        let words = "run suite.yaml --hosts terraform:infra --provision --destroy --yes";
        let failed = start(&bench, words).wait();
        failed.assert_code(code).assert_says(said);
        let log = bench.read("terraform.log");
        assert_eq!(verbs(&log), called, "{branches}");
        assert_eq!(log.contains("-destroy"), called.len() > 1, "{log}");
        fs::remove_file(bench.path("terraform.log")).unwrap();
    }
}

/// Terraform outputs like those of Kong's framework, including a sensitive output and an unknown
/// output.
const OUTPUTS: &str = r#"{
  "kong-ip": {"sensitive": false, "type": "string", "value": "127.0.0.2"},
  "kong-internal-ip": {"sensitive": false, "type": "string", "value": "127.0.0.1"},
  "worker-ip": {"sensitive": false, "type": "string", "value": "127.0.0.3"},
  "worker-internal-ip": {"sensitive": false, "type": "string", "value": "127.0.0.1"},
  "db-password": {"sensitive": true, "type": "string", "value": "a-secret"},
  "something-else": {"sensitive": false, "type": "number", "value": 7}
}
"#;
