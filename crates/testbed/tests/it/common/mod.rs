//! Helpers for the tests: a small origin, a small client, and the start of a gateway.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::Scenario;
use gatebench_testbed::gateway::{
    Catalogue, Folder, FoundGateway, GatewayStart, Limiter, LocalGateway, Wiring,
};
use gatebench_testbed::{DriverError, Launcher};
use rustix::process::{Pid, Signal, kill_process};

pub const PATIENCE: Duration = Duration::from_secs(15);

pub fn launcher() -> Launcher {
    Launcher {
        program: PathBuf::from(env!("CARGO_BIN_EXE_gatebench-supervise")),
        prefix_args: Vec::new(),
    }
}

pub fn scenario(yaml: &str) -> Scenario {
    gatebench_config::parse("test.yaml", yaml)
        .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false, 100)))
}

/// Returns a scenario that forwards everything.
pub fn plain() -> Scenario {
    scenario(
        "scenario: plain\ntitle: plain\nupstream: httpbin\n\
         routes: [{name: all, path: /}]\nrequests: [{path: /anything}]\n",
    )
}

/// The maximum number of routes, upstreams or consumers of a scenario. The tests assume that a
/// folder that renders this many correctly also renders thousands.
const MANY: usize = 20;

/// Returns every scenario of the repository, with long lists shortened.
pub fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    add_scenarios(Path::new("../../scenarios"), &mut scenarios);
    for scenario in &mut scenarios {
        scenario.routes.truncate(MANY);
        scenario.consumers.truncate(MANY);
        scenario.upstreams = scenario.upstreams.min(MANY as u32);
    }
    scenarios
}

fn add_scenarios(folder: &Path, scenarios: &mut Vec<Scenario>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_scenarios(&path, scenarios);
        } else if path.extension().is_some_and(|it| it == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            if text.lines().any(|line| line.starts_with("scenario:")) {
                scenarios.extend(gatebench_config::read_all::<Scenario>(&path).unwrap());
            }
        }
    }
}

/// Returns the inputs for rendering a gateway in front of these targets, without starting it.
pub fn wiring(targets: &[SocketAddr]) -> Wiring<'_> {
    Wiring {
        binary: Path::new("/gateway"),
        version: "1.0",
        work: Path::new("/w"),
        listen: "127.0.0.1:1".parse().unwrap(),
        targets,
        more_upstreams: &[],
        keepalive: 64,
        cores: &[0],
        access_log: false,
        metrics: None,
        profile: None,
        control_plane: None,
        database: None,
        weights: 0,
    }
}

/// Starts an origin that echoes each request, and counts accepted connections.
pub fn origin() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&accepted);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counter.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || serve(stream));
        }
    });
    (address, accepted)
}

fn serve(stream: TcpStream) {
    let port = stream.local_addr().unwrap().port();
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length: usize =
            header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut response = head.into_bytes();
        response.extend(body);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\ngatebench-times: 12:34\r\nOrigin-Port: {port}\r\n\
             Content-Type: text/plain\r\n\r\n",
            response.len()
        );
        if reader
            .get_mut()
            .write_all(&[head.as_bytes(), &response].concat())
            .is_err()
        {
            return;
        }
    }
}

pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

pub fn ask(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream
        .write_all(format!("{request}\r\n").as_bytes())
        .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response {
        status,
        head: head.into(),
        body: body.into(),
    }
}

pub fn start(
    folder: &Folder,
    scenario: &Scenario,
    work: &Path,
    ports: &[u16],
) -> Result<LocalGateway, DriverError> {
    start_before(origin().0, folder, scenario, work, ports, false)
}

pub fn start_before(
    origin: SocketAddr,
    folder: &Folder,
    scenario: &Scenario,
    work: &Path,
    ports: &[u16],
    access_log: bool,
) -> Result<LocalGateway, DriverError> {
    start_before_all(&[origin], folder, scenario, work, ports, access_log)
}

/// Starts a gateway in front of several origins, which are the targets of its upstream.
pub fn start_before_all(
    targets: &[SocketAddr],
    folder: &Folder,
    scenario: &Scenario,
    work: &Path,
    ports: &[u16],
    access_log: bool,
) -> Result<LocalGateway, DriverError> {
    let launcher = launcher();
    let gateway = FoundGateway {
        folder: folder.clone(),
        binary: folder.find_binary(&launcher)?,
        limiter: Limiter::Unlimited,
    };
    let mut scenario = scenario.clone();
    scenario.access_log = access_log;
    GatewayStart {
        gateway: &gateway,
        scenario: &scenario,
        work,
        cores: &[0],
        control_plane_cores: &[0],
        listen: targets[0].ip(),
        targets,
        more_upstreams: &[],
        database: None,
        connections: 0,
        profile: None,
        ports,
        launcher: &launcher,
    }
    .start(None)
}

pub fn folder(name: &str) -> Folder {
    Catalogue::default()
        .resolve(name)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a folder like one that a user writes, with this shell script as its gateway.
///
/// The gateway has a minute to become ready, unless `more` sets another timeout, because Python
/// starts slowly on a busy machine.
pub fn script_folder(at: &Path, script: &str, more: &str) -> Folder {
    std::fs::create_dir_all(at).unwrap();
    let program = at.join("gateway.sh");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    let ready = if more.contains("ready:") {
        ""
    } else {
        "ready: {timeout: 60s}\n"
    };
    let yaml = format!(
        "gateway: mine\ncontract: 1\ntitle: Mine\n\
         binary: {{names: [/bin/sh], version_args: [-c, 'echo mine 1.2'], version_pattern: 'mine (\\S+)'}}\n\
         start: ['{{{{ binary }}}}', '{}', '{{{{ listeners[0].port }}}}']\n{ready}{more}\n",
        program.display()
    );
    std::fs::write(at.join("gateway.yaml"), yaml).unwrap();
    Catalogue::default()
        .resolve(at.to_str().unwrap())
        .unwrap_or_else(|error| panic!("{error}"))
}

pub fn below(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(path).unwrap_or_default();
    let children: Vec<u32> = children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect();
    let deeper: Vec<u32> = children.iter().flat_map(|&child| below(child)).collect();
    [children, deeper].concat()
}

/// Reports whether a process runs. A zombie is treated as ended.
pub fn exists(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}

/// Waits until a condition is true, and fails after [`PATIENCE`].
pub fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

pub fn kill(pid: u32) {
    send(pid, Signal::KILL);
}

pub fn terminate(pid: u32) {
    send(pid, Signal::TERM);
}

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

pub fn parent(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    rest.split(' ').nth(1).unwrap().parse().unwrap()
}
