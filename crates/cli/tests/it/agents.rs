//! Loads that agents send from network namespaces, which represent other machines. gatebench
//! reaches an sshd in each namespace with a real `ssh`. In most tests, the upstream is outside the
//! namespaces.
//!
//! Namespaces need root. Names and addresses contain a number derived from the process ID, so that
//! tests of several checkouts can run at the same time.

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Bench, Finished, Session};
use crate::processes::{self, Process};
use crate::serving::Serving;
use crate::turns::turn;

/// The path of sshd on Debian. Its folder is not on a user's PATH.
const SSHD: &str = "/usr/sbin/sshd";

/// The folder that sshd needs if it runs as root.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

const PORT: u16 = 2222;

/// A relay that delays each piece of a response by 20 ms.
const RELAY: &str = r"
import socket, sys, threading, time
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=256)
target = (sys.argv[3], int(sys.argv[2]))
def copy(source, sink, hold):
    try:
        while data := source.recv(65536):
            time.sleep(hold)
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
print('ready', flush=True)
while True:
    client, _ = listener.accept()
    server = socket.create_connection(target)
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=copy, args=(client, server, 0), daemon=True).start()
    threading.Thread(target=copy, args=(server, client, 0.020), daemon=True).start()
";

/// A connection with the faults that `kubectl exec` can have: `repeat` sends each line twice; after
/// some lines, `end` exits without an error, and `stall` passes on no more lines.
const CARRIER: &str = r"
import subprocess, sys, time
how, lines = sys.argv[1], int(sys.argv[2])
ssh = subprocess.Popen(['/usr/bin/ssh'] + sys.argv[3:], stdout=subprocess.PIPE)
for number, line in enumerate(ssh.stdout):
    sys.stdout.buffer.write(line)
    if how == 'repeat':
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    if number == lines and how == 'end':
        sys.exit(0)
    while number == lines and how == 'stall':
        time.sleep(60)
";

fn ip(words: &str) -> bool {
    let mut command = Command::new("ip");
    let status = command
        .args(words.split_whitespace())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Two machines, `a` and `b`, each in a network namespace with an sshd.
struct Machines {
    net: u8,
    children: Vec<Child>,
}

impl Machines {
    /// Starts both machines; returns `None` if the namespaces cannot be created. `unshare` contains
    /// options of unshare(1) for the time namespace of machine `b`.
    fn start(bench: &Bench, unshare: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = std::process::id().wrapping_mul(7) + NEXT.fetch_add(1, Ordering::Relaxed);
        let net = (number % 200) as u8 + 20;
        let mut machines = Self {
            net,
            children: Vec::new(),
        };
        if !machines.name_is_free() {
            eprintln!("SKIPPED: `ip netns add` is not permitted or not installed");
            return None;
        }
        keys(bench);
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            machines.wire(index);
            let words = if name == "b" { unshare } else { "" };
            machines.sshd(bench, index, words);
        }
        // The upstream's address, which both machines reach through their default route.
        assert!(ip(&format!("address add {}/32 dev lo", machines.target())));
        machines.configure(bench);
        for index in 0..2 {
            let address = machines.address(index);
            bench.wait_for("sshd", || TcpStream::connect((&*address, PORT)).ok());
        }
        Some(machines)
    }

    fn name_is_free(&self) -> bool {
        ip(&format!("netns add {}", self.namespace(0)))
            && ip(&format!("netns add {}", self.namespace(1)))
    }

    fn namespace(&self, index: usize) -> String {
        format!("gbt{}x{index}", self.net)
    }

    /// Returns the address of a machine. The address of the other end of its veth pair differs only
    /// in the last number, which is 1.
    fn address(&self, index: usize) -> String {
        format!("10.{}.{index}.2", self.net)
    }

    fn target(&self) -> String {
        format!("10.{}.9.9", self.net)
    }

    fn wire(&self, index: usize) {
        let (net, namespace) = (self.net, self.namespace(index));
        for words in [
            format!("link add v{namespace} type veth peer name eth0 netns {namespace}"),
            format!("address add 10.{net}.{index}.1/24 dev v{namespace}"),
            format!("link set v{namespace} up"),
            format!("-n {namespace} link set lo up"),
            format!(
                "-n {namespace} address add {}/24 dev eth0",
                self.address(index)
            ),
            format!("-n {namespace} link set eth0 up"),
            format!("-n {namespace} route add default via 10.{net}.{index}.1"),
        ] {
            assert!(ip(&words), "ip {words}");
        }
    }

    fn spawn(&mut self, index: usize, words: &[&str]) -> &mut Child {
        let namespace = self.namespace(index);
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &namespace])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        self.children.push(command.spawn().unwrap());
        self.children.last_mut().unwrap()
    }

    fn sshd(&mut self, bench: &Bench, index: usize, unshare: &str) {
        let at = |name: &str| bench.path(name).display().to_string();
        let (mark, value) = bench.mark();
        let temporary = at(&format!("tmp-{index}"));
        fs::create_dir_all(&temporary).unwrap();
        let file = format!("sshd-{index}.conf");
        bench.write(
            &file,
            &format!(
                "Port {PORT}\nListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
                 UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
                 SetEnv {mark}={value} TMPDIR={temporary} XDG_CACHE_HOME={}\n",
                self.address(index),
                at("host-key"),
                at("user-key.pub"),
                at("cache"),
            ),
        );
        let conf = at(&file);
        let mut words: Vec<&str> = Vec::new();
        if !unshare.is_empty() {
            words.push("unshare");
            words.extend(unshare.split_whitespace());
        }
        words.extend([SSHD, "-D", "-e", "-f", &conf]);
        self.spawn(index, &words);
    }

    /// Writes an ssh configuration, and a wrapper on PATH that uses it instead of the user's.
    fn configure(&self, bench: &Bench) {
        let at = |name: &str| bench.path(name).display().to_string();
        let host = |index: usize, name: &str| {
            format!(
                "Host {name}\nHostName {}\nPort {PORT}\nIdentityFile {}\nIdentitiesOnly yes\n\
                 StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n",
                self.address(index),
                at("user-key")
            )
        };
        bench.write("ssh.conf", &(host(0, "a") + &host(1, "b")));
        wrapper(bench, "/usr/bin/ssh", "");
    }
}

/// Replaces `ssh` with a script that runs `program` with the additional arguments `words`.
fn wrapper(bench: &Bench, program: &str, words: &str) {
    let conf = bench.path("ssh.conf");
    let text = format!(
        "#!/bin/sh\nexec {program} {words} -F {} \"$@\"\n",
        conf.display()
    );
    fs::create_dir_all(bench.path("bin")).unwrap();
    bench.write("bin/ssh", &text);
    fs::set_permissions(bench.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn keys(bench: &Bench) {
    for key in ["host-key", "user-key"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(bench.path(key))
            .status();
        assert!(made.unwrap().success());
    }
    if !Path::new(PRIVILEGE_SEPARATION).exists() {
        // Namespaces require root, so sshd runs as root here.
        let _ = fs::DirBuilder::new()
            .mode(0o755)
            .create(PRIVILEGE_SEPARATION);
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        ip(&format!("address del {}/32 dev lo", self.target()));
        for index in 0..2 {
            ip(&format!("netns del {}", self.namespace(index)));
        }
    }
}

/// Returns the path of a gatebench with a stripped gatebench-agent next to it. Without stripping,
/// the agent's debug information would also be sent to the machines.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let gatebench = Path::new(env!("CARGO_BIN_EXE_gatebench"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agents");
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("gatebench");
        // A hard link instead of a copy, because the program is large. The folder is in the same
        // file system.
        let _ = fs::remove_file(&program);
        fs::hard_link(gatebench, &program).unwrap();
        let stripped = Command::new("strip")
            .arg("-o")
            .arg(folder.join("gatebench-agent"))
            .arg(gatebench.with_file_name("gatebench-agent"))
            .status();
        assert!(stripped.unwrap().success());
        program
    })
}

/// Two machines and an upstream that they can reach.
struct Field {
    bench: Bench,
    machines: Machines,
    upstream: Serving,
}

impl Field {
    fn new() -> Option<Self> {
        Self::with_clock("")
    }

    /// Like [`Field::new`], but machine `b` has a time namespace with these options of unshare(1).
    fn with_clock(unshare: &str) -> Option<Self> {
        let bench = Bench::new();
        let machines = Machines::start(&bench, unshare)?;
        let listen = format!("{}:0", machines.target());
        let upstream = Serving::start(&bench, &["upstream", "ping", "--listen", &listen]);
        Some(Self {
            bench,
            machines,
            upstream,
        })
    }

    fn start(&self, words: &str) -> Session<'_> {
        let path = std::env::var("PATH").unwrap_or_default();
        let (mark, value) = self.bench.mark();
        let mut command = Command::new(program());
        command
            .args(words.split_whitespace())
            .current_dir(self.bench.path(""))
            .env(mark, value)
            .env_remove("NO_COLOR")
            .env(
                "PATH",
                format!("{}:{path}", self.bench.path("bin").display()),
            );
        self.bench.spawn(command)
    }

    fn load(&self, words: &str) -> Session<'_> {
        let url = format!("http://{}/ping", self.upstream.address());
        self.start(&format!("load {words} --json -q {url}"))
    }

    fn received(&self) -> u64 {
        self.upstream.ledger()["requests"].as_u64().unwrap()
    }

    fn assert_nothing_left(&self) {
        self.bench.wait_for("all agents to end", || {
            let mut left = self.bench.processes();
            left.retain(|process| !process.command.iter().any(|word| word == "upstream"));
            left.is_empty().then_some(())
        });
    }
}

fn json(finished: &Finished, code: i32) -> Value {
    finished.assert_code(code);
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn two_agents_send_the_schedule_of_one() {
    let Some(field) = Field::new() else { return };
    let mut received = 0;
    for agents in ["here", "a", "a,b"] {
        let words = format!("--agents {agents} --rate 200 --warm-up 0s -d 2s");
        let results = json(&field.load(&words).wait(), 0);
        for count in ["intended", "sent", "completed"] {
            assert_eq!(results[count], 400, "{agents}: {count}");
        }
        let now = field.received();
        assert_eq!(now - received, 400, "{agents}");
        received = now;
        let each = results["agents"]["each"].as_array().unwrap();
        assert_eq!(each.len(), agents.split(',').count());
        let sum = |of: &str| -> u64 { each.iter().map(|it| it[of].as_u64().unwrap()).sum() };
        assert_eq!((sum("sent"), sum("completed")), (400, 400), "{agents}");
        assert!(results["agents"]["lost"].is_null());
    }
    let programs = fs::read_dir(field.bench.path("cache/gatebench")).unwrap();
    assert_eq!(programs.count(), 1, "the small program was sent once");
    field.assert_nothing_left();
}

#[test]
fn histograms_are_added_and_percentiles_are_not_averaged() {
    let _turn = turn();
    let Some(mut field) = Field::new() else {
        return;
    };
    let target = field.machines.target();
    let port = field.upstream.port.to_string();
    field.bench.write("relay.py", RELAY);
    let relay = field.bench.path("relay.py").display().to_string();
    // Only machine b has the relay at the upstream's address.
    let namespace = field.machines.namespace(1);
    assert!(ip(&format!(
        "-n {namespace} address add {target}/32 dev lo"
    )));
    let via = format!("10.{}.1.1", field.machines.net);
    // The relay forwards to a second upstream at another address.
    let other = Serving::start(
        &field.bench,
        &["upstream", "ping", "--listen", &format!("{via}:{port}")],
    );
    let words = ["python3", &relay, &target, &port, &via];
    let child = field.machines.spawn(1, &words);
    let mut ready = [0; 5];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    let words = "--agents a,b --rate 400 --warm-up 0s -d 5s --cores 0";
    let results = json(&field.load(words).wait(), 0);
    drop(other);
    let time = |of: &Value, at: &str| of["response_time_ns"][at].as_f64().unwrap();
    let each = &results["agents"]["each"];
    let (a, b) = (time(&each[0], "p99"), time(&each[1], "p99"));
    assert!(time(&each[1], "p50") > 20e6, "{results:#}");
    // Half of all requests come from b and are the slower half, so the 99th percentile of all
    // requests is the 98th percentile of b's.
    let all = time(&results, "p99");
    assert!(
        all >= time(&each[1], "p95") && all <= b * 1.001,
        "{results:#}"
    );
    let mean = (a + b) / 2.0;
    assert!(mean < all, "{all} is at most the mean of {a} and {b}");
    assert!(!results.to_string().contains(&format!("{mean}")));
    let limits = results["engine"]["limited_by"].to_string();
    assert!(limits.contains("agents_differ"), "{limits}");
    field.assert_nothing_left();
}

#[test]
fn a_lost_agent_stops_the_others_within_a_second() {
    let Some(field) = Field::new() else { return };
    let session = field.load("--agents a,b --rate 500 --warm-up 0s -d 60s");
    field
        .bench
        .wait_for("the load", || (field.received() > 200).then_some(()));
    let temporary = field.bench.path("tmp-1").display().to_string();
    let ends: Vec<Process> = field
        .bench
        .processes()
        .into_iter()
        .filter(|it| it.command.iter().any(|word| word == "remote-end"))
        .filter(|it| environment(it.pid).contains(&temporary))
        .collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    processes::signal(ends[0].pid, "KILL");
    thread::sleep(Duration::from_secs(1));
    let after = field.received();
    thread::sleep(Duration::from_millis(500));
    assert_eq!(field.received(), after, "the other agent still sends");
    let finished = session.wait_for_end();
    let results = json(&finished, 3);
    finished.assert_says(&[
        "agent b: lost in second",
        "so the other agents were stopped",
    ]);
    assert_eq!(results["interrupted"], true);
    assert_eq!(results["agents"]["lost"]["agent"], "b");
    let completed = results["completed"].as_u64().unwrap();
    assert!(
        completed > 0 && completed <= after,
        "{completed} of {after}"
    );
    field.assert_nothing_left();
}

fn environment(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn agents_whose_clocks_differ_start_together() {
    let _turn = turn();
    for offset in ["7", "-3"] {
        let unshare = format!("--time --monotonic {offset} --fork");
        let Some(field) = Field::with_clock(&unshare) else {
            return;
        };
        let words = "--agents a,b --rate 1000 --warm-up 0s -d 2s --cores 0";
        let results = json(&field.load(words).wait(), 0);
        let agents = &results["agents"];
        let number = |of: &Value, at: &str| of[at].as_f64().unwrap();
        let ahead_ns = number(&agents["each"][1], "clock_ahead_ns");
        let expected = offset.parse::<f64>().unwrap() * 1e9;
        let uncertain_ns = number(&agents["each"][1], "clock_uncertainty_ns");
        // Both clocks are those of one kernel, so the true difference is known.
        assert!((ahead_ns - expected).abs() <= uncertain_ns, "{agents:#}");
        let start = &agents["start"];
        let (spread_ns, uncertainty_ns) =
            (number(start, "spread_ns"), number(start, "uncertainty_ns"));
        assert!(spread_ns <= uncertainty_ns + 2e6, "{start}");
        assert_eq!(results["completed"], 2000);
    }
}

#[test]
fn a_connection_that_repeats_ends_or_stalls_never_shortens_the_record() {
    let Some(field) = Field::new() else { return };
    field.bench.write("carrier.py", CARRIER);
    let carrier = field.bench.path("carrier.py").display().to_string();
    let load = |how: &str, lines: u32| {
        wrapper(&field.bench, "python3", &format!("{carrier} {how} {lines}"));
        let begun = Instant::now();
        let finished = field
            .load("--agents a --rate 200 --warm-up 0s -d 3s")
            .wait_for_end();
        (finished, begun.elapsed())
    };
    let (repeated, _) = load("repeat", 0);
    let results = json(&repeated, 0);
    assert_eq!(
        (&results["sent"], &results["completed"]),
        (&600.into(), &600.into())
    );
    // The greeting and at most 30 messages come before the load, which adds ten messages per
    // second. A fault after 50 messages therefore occurs during the load.
    for how in ["end", "stall"] {
        let (failed, took) = load(how, 50);
        let results = json(&failed, 3);
        failed.assert_says(&["agent a: lost in second"]);
        assert_eq!(results["interrupted"], true, "{how}");
        assert!(took < Duration::from_secs(20), "{how} took {took:?}");
    }
    field.assert_nothing_left();
}

#[test]
fn a_run_from_several_machines_counts_every_request() {
    let Some(field) = Field::new() else { return };
    let target = field.machines.target();
    let words = format!(
        "run suite.yaml --agents a,b --upstream-on b --upstream-address {target} --dir run"
    );
    field.start(&words).wait().assert_measured();
    assert_all_counted(&field.bench, "run");
    let report = field.bench.read("run/report.html");
    assert!(report.contains("Agents"));
    field.assert_nothing_left();
}

#[test]
fn the_hosts_of_an_inventory_run_the_gateway_the_upstream_and_the_load() {
    let Some(field) = Field::new() else { return };
    // The namespaces cannot reach each other. gatebench recognizes a host with an address of this
    // machine as this machine.
    let address = field.machines.address(1);
    let target = field.machines.target();
    let hosts = format!(
        "gateway: {{ssh: b, address: {address}}}\nupstream: {{ssh: b}}\n\
         load: [{{ssh: b}}, {{ssh: this-one, address: {target}}}]\n"
    );
    field.bench.write("hosts.yaml", &hosts);
    let words = "run suite.yaml --hosts hosts.yaml --dir run";
    field.start(words).wait().assert_measured();
    assert_all_counted(&field.bench, "run");
    let manifest: Value = serde_json::from_str(&field.bench.read("run/manifest.json")).unwrap();
    assert_eq!(
        manifest["plan"]["places"],
        serde_json::json!({"agents": ["b", "here"], "upstream": ["b"]})
    );
    let variants = manifest["plan"]["variants"].as_array().unwrap();
    let hosts = variants
        .iter()
        .filter_map(|it| it.pointer("/setup/elsewhere/host/address"));
    // The gateway and the null gateway.
    assert_eq!(Vec::from_iter(hosts), [&*address, &*address]);
    field.assert_nothing_left();
}

/// Asserts that the upstream of the first trial received each request of all agents once.
fn assert_all_counted(bench: &Bench, run: &str) {
    let trials = bench.kept_trials(run);
    let record = bench.read(&format!("{run}/trials/{}/trial.json", trials[0]));
    let record: Value = serde_json::from_str(&record).unwrap();
    for phase in record["phases"].as_array().unwrap() {
        let each = phase["agents"]["each"].as_array().unwrap();
        let sent: u64 = each.iter().map(|it| it["sent"].as_u64().unwrap()).sum();
        assert_eq!(phase["counts"]["sent"], sent, "{phase:#}");
        // There is no warm-up, so the upstream must have received only these requests, each once.
        assert_eq!(phase["ledger"]["unique"], sent, "{phase:#}");
        assert_eq!(phase["ledger"]["repeated"], 0);
        assert_eq!(
            phase["trace"]["traced"], sent,
            "all agents have their own nonces"
        );
    }
    // 200 requests/s for 300 ms.
    assert_eq!(record["phases"][1]["counts"]["intended"], 60);
}
