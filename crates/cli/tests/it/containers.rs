//! Gateways in containers, with a real podman. Each test starts its own podman service, and builds
//! its images from programs and libraries of this machine, so it needs no registry.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, LONG_MEASURE, Session};
use crate::{gateways, processes};

const IMAGE: &str = "localhost/gatebench:test";
const KONG_IMAGE: &str = "localhost/kong:test";

/// A container engine for one test. On drop, the engine is stopped and its containers are removed.
struct Podman {
    home: tempfile::TempDir,
    service: Option<Child>,
}

impl Podman {
    fn start(bench: &Bench) -> Self {
        let mut podman = Self {
            home: tempfile::tempdir().unwrap(),
            service: None,
        };
        podman.import_image();
        let socket = podman.socket();
        let service = podman
            .command(&[
                "system",
                "service",
                "--time=0",
                &format!("unix://{}", socket.display()),
            ])
            .spawn();
        podman.service = Some(service.unwrap());
        bench.wait_for("podman's socket", || UnixStream::connect(&socket).ok());
        podman
    }

    fn socket(&self) -> PathBuf {
        self.home.path().join("socket")
    }

    fn command(&self, words: &[&str]) -> Command {
        let at = |name: &str| self.home.path().join(name).display().to_string();
        let mut command = Command::new("podman");
        command
            .args(["--root", &at("root"), "--runroot", &at("run")])
            // These options also work on a test machine whose kernel or capabilities are
            // restricted.
            .args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"])
            .args(["--events-backend", "file", "--runtime", "runc"])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn says(&self, words: &[&str]) -> String {
        let output = self
            .command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "podman {words:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn import_image(&self) {
        let program = Path::new(env!("CARGO_BIN_EXE_gatebench"));
        let rootfs = self.home.path().join("rootfs");
        fs::create_dir_all(rootfs.join("tmp")).unwrap();
        run(Command::new("strip")
            .arg("-o")
            .arg(rootfs.join("gatebench"))
            .arg(program));
        let listed = Command::new("ldd").arg(program).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        for library in listed
            .split_whitespace()
            .filter(|word| word.starts_with('/'))
        {
            let place = rootfs.join(library.trim_start_matches('/'));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(library, place).unwrap();
        }
        self.import(&rootfs, IMAGE);
    }

    fn import(&self, rootfs: &Path, image: &str) {
        let archive = self.home.path().join("image.tar");
        run(Command::new("tar")
            .arg("-C")
            .arg(rootfs)
            .arg("-cf")
            .arg(&archive)
            .arg("."));
        self.says(&["import", archive.to_str().unwrap(), image]);
    }

    fn containers(&self) -> Vec<String> {
        let listed = self.says(&["ps", "--all", "--quiet"]);
        listed.lines().map(str::to_owned).collect()
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        if let Some(service) = &mut self.service {
            let _ = service.kill();
            let _ = service.wait();
        }
        // Removes containers that a failed test left in the engine.
        let _ = self.command(&["rm", "--all", "--force"]).status();
    }
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// Creates the folder `./boxed`: the reference gateway in an image.
fn boxed(bench: &Bench, image: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateways/reference");
    fs::create_dir_all(bench.path("boxed")).unwrap();
    fs::copy(
        source.join("gateway.json"),
        bench.path("boxed/gateway.json"),
    )
    .unwrap();
    let spec = fs::read_to_string(source.join("gateway.yaml"))
        .unwrap()
        .replace("gateway: reference", "gateway: boxed")
        .replace("names: [gatebench]", "names: [no-such-program]");
    let container = format!("container: {{image: '{image}', program: /gatebench}}\n");
    bench.write("boxed/gateway.yaml", &(spec + &container));
}

fn start<'a>(bench: &'a Bench, podman: &Podman, words: &str) -> Session<'a> {
    let mut command = bench.command();
    command.args(words.split_whitespace()).env(
        "DOCKER_HOST",
        format!("unix://{}", podman.socket().display()),
    );
    bench.spawn(command)
}

#[test]
fn a_gateway_in_a_container_is_measured_and_leaves_nothing() {
    let bench = Bench::for_containers();
    let podman = Podman::start(&bench);
    boxed(&bench, IMAGE);
    bench.suite("./boxed", 1);
    let words = "run suite.yaml --gateway-cpus 0.5 --gateway-memory 256M --dir run";
    start(&bench, &podman, words).wait().assert_measured();
    let trial = bench.kept_trials("run").remove(0);
    let record = bench.read(&format!("run/trials/{trial}/trial.json"));
    let id = podman.says(&["image", "inspect", "--format", "{{.Id}}", IMAGE]);
    for fact in [
        &format!("\"sha256\": \"{id}\""),
        &format!("\"binary\": \"/gatebench of {IMAGE}\""),
        "\"limited_by\": \"its container\"",
        "\"stopped\": \"on SIGTERM",
    ] {
        assert!(record.contains(fact), "{fact} is not in {record}");
    }
    assert!(podman.containers().is_empty());
    commands_of_actions_run_in_the_container(&bench, &podman);
    extras_are_looked_for_in_the_image(&bench, &podman);
    absent_images_are_reported(&bench, &podman);
    images_of_another_version_are_reported(&bench, &podman);
    a_new_folder_for_an_image_is_filled_in_and_proven(&bench, &podman);
}

/// The program of the command exists only in the image. The file that it checks is in the working
/// folder, which is mounted in the container.
fn commands_of_actions_run_in_the_container(bench: &Bench, podman: &Podman) {
    let reload = |file: &str, out: &str| {
        boxed(bench, IMAGE);
        let command =
            format!("reload: {{command: [ '{{{{ binary }}}}', gateway, {file}, --check ]}}");
        let spec = bench
            .read("boxed/gateway.yaml")
            .replace("reload: {signal: HUP}", &command);
        assert!(spec.contains(&command), "{spec}");
        bench.write("boxed/gateway.yaml", &spec);
        start(bench, podman, &format!("run suite.yaml --dir {out}")).wait()
    };
    bench.load(
        "- {name: reload, open: {rate_per_second: 100, connections_max: 8}, measure: 2400ms, \
         change: {action: reload, at: 1100ms}}\n",
    );
    reload("gateway.json", "reloaded").assert_measured();
    let trial = bench.kept_trials("reloaded").remove(0);
    let record = bench.read(&format!("reloaded/trials/{trial}/trial.json"));
    assert!(record.contains("\"action\": \"reload\""), "{record}");
    reload("absent.json", "refused")
        .assert_code(1)
        .assert_says(&["gateway absent.json --check: exit status: 2", "absent.json"]);
    assert!(podman.containers().is_empty());
    bench.load(crate::bench::QUICK);
    boxed(bench, IMAGE);
}

/// The first file exists only in the image, the second only on the machine.
fn extras_are_looked_for_in_the_image(bench: &Bench, podman: &Podman) {
    let checked = |path: &str| {
        boxed(bench, IMAGE);
        let mock =
            format!("  mock: {{native: yes, needs: {{path: {path}, install: put it there}}}}\n");
        let spec = bench
            .read("boxed/gateway.yaml")
            .replace("  mock: native\n", &mock);
        bench.write("boxed/gateway.yaml", &spec);
        start(bench, podman, "check gateway ./boxed --scenario mock").wait()
    };
    let there = checked("/gatebench");
    there.assert_code(0).assert_prints(&["✓ mock"]);
    let absent = checked("/bin/sh");
    let said = "mock: not supported: mock (missing: put it there)";
    absent.assert_code(0).assert_prints(&[said]);
    assert!(podman.containers().is_empty());
    boxed(bench, IMAGE);
}

/// The new folder names the image, and the user only fills in details that gatebench cannot know.
fn a_new_folder_for_an_image_is_filled_in_and_proven(bench: &Bench, podman: &Podman) {
    let words = format!("new gateway mine --container {IMAGE}");
    bench.gatebench(&words).assert_code(0);
    let lines = [
        ("  names:", "  names: [no-such-program]"),
        ("  version_args:", "  version_args: [--version]"),
        (
            "  version_pattern:",
            "  version_pattern: 'gatebench (\\S+)'",
        ),
        (
            "start:",
            "start: [\"{{ binary }}\", gateway, \"{{ work }}/mine.conf\"]",
        ),
    ];
    let mut spec = bench
        .read("mine/gateway.yaml")
        .replace("program: /usr/sbin/mine", "program: /gatebench");
    for (start, line) in lines {
        let old = spec.lines().find(|it| it.starts_with(start)).unwrap();
        spec = spec.replace(old, line);
    }
    bench.write("mine/gateway.yaml", &spec);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateways/reference");
    fs::copy(source.join("gateway.json"), bench.path("mine/mine.conf")).unwrap();
    let words = "check gateway ./mine --scenario contract --scenario proxy-json";
    let finished = start(bench, podman, words).wait();
    finished
        .assert_code(0)
        .assert_prints(&["contract", "proxy-json"]);
    assert!(podman.containers().is_empty());
}

#[test]
fn a_container_ends_with_gatebench_or_with_the_next_start() {
    let bench = Bench::for_containers();
    let podman = Podman::start(&bench);
    boxed(&bench, IMAGE);
    bench.suite("./boxed", 1);
    killed(&bench, &podman);
}

fn absent_images_are_reported(bench: &Bench, podman: &Podman) {
    boxed(bench, "localhost/absent:1");
    let finished = start(
        bench,
        podman,
        "run suite.yaml --gateway ./boxed --dir absent",
    )
    .wait();
    finished.assert_code(3).assert_says(&[
        "the container engine has no image localhost/absent:1",
        "podman pull localhost/absent:1",
    ]);
    boxed(bench, IMAGE);
}

fn images_of_another_version_are_reported(bench: &Bench, podman: &Podman) {
    let spec = bench.read("boxed/gateway.yaml");
    let later = spec.replace("binary:", "binary:\n  version_min: \"99\"");
    bench.write("boxed/gateway.yaml", &later);
    start(
        bench,
        podman,
        "run suite.yaml --gateway ./boxed --dir later",
    )
    .wait()
    .assert_code(3)
    .assert_says(&[
        &format!("/gatebench of {IMAGE} is version"),
        "the gateway folder boxed requires at least 99",
        "name an image of a matching version: boxed@IMAGE:TAG",
    ]);
    bench.write("boxed/gateway.yaml", &spec);
}

/// A container ends when gatebench ends. If the supervisor of the container is killed too, the next
/// start of gatebench removes the container.
fn killed(bench: &Bench, podman: &Podman) {
    bench.load(LONG_MEASURE);
    let session = start(bench, podman, "run suite.yaml --dir killed");
    session.until_load();
    session.signal("KILL");
    bench.wait_for("the container to be gone", || {
        podman.containers().is_empty().then_some(())
    });
    drop(session);
    // Wait, because a process of this run could be mistaken for a process of the next run.
    bench.wait_for("the processes of gatebench to be gone", || {
        bench.processes().is_empty().then_some(())
    });
    let session = start(bench, podman, "run suite.yaml --dir left");
    session.until_load();
    let holds_it = |process: &processes::Process| {
        let mut words = process.command.iter();
        words.any(|word| word.contains("\"container\":{"))
    };
    let supervisor = bench.wait_for("the container's supervisor", || {
        bench.processes().into_iter().find(holds_it)
    });
    // A stopped process cannot clean up in place of the supervisor.
    session.signal("STOP");
    processes::signal(supervisor.pid, "KILL");
    session.signal("KILL");
    drop(session);
    let left = podman.containers();
    assert_eq!(left.len(), 1, "{left:?}");
    bench.load(crate::bench::QUICK);
    start(bench, podman, "run suite.yaml --dir next")
        .wait()
        .assert_measured();
    assert!(podman.containers().is_empty());
}

/// Builds the file system of an image from the Kong on PATH, with the files where the vendor's
/// image has them. OpenResty's scripts need Perl, and those of the gateway folder need a shell.
const KONG_ROOT: &str = r#"
set -e
prefix=$(dirname "$(dirname "$(readlink -f "$(command -v kong)")")")
root=$1 libraries=/usr/lib/x86_64-linux-gnu
mkdir -p "$root/usr/local" "$root/usr/share" "$root/usr/bin" "$root/bin" "$root/tmp" "$root/etc"
cp -a "$prefix/." "$root/usr/local/"
if [ -d /usr/local/kong ]; then cp -a /usr/local/kong "$root/usr/local/"; fi
mkdir "$root/usr/include"
if [ -d /usr/include/google ]; then cp -a /usr/include/google "$root/usr/include/"; fi
for program in /bin/sh /usr/bin/env /usr/bin/perl; do cp -L "$program" "$root$program"; done
mkdir -p "$root$libraries"
cp -a "$libraries/perl" "$libraries/perl-base" "$root$libraries/"
cp -aL /usr/share/perl "$root/usr/share/"
grep -E '^(root|nobody):' /etc/passwd > "$root/etc/passwd"
grep -E '^(root|nogroup|nobody):' /etc/group > "$root/etc/group"
find "$prefix" -name '*.so' -o -path '*/sbin/nginx' | xargs ldd /bin/sh /usr/bin/env /usr/bin/perl 2>&1 |
    grep -o '/[^ :]*\.so[^ :]*' | grep -v "^$prefix" | sort -u | while read -r library; do
    [ -f "$library" ] || continue
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
"#;

#[test]
fn kong_passes_in_an_image() {
    if !gateways::is_on_path("kong") {
        return;
    }
    let bench = Bench::for_containers();
    let podman = Podman::start(&bench);
    let rootfs = podman.home.path().join("kong");
    fs::create_dir_all(&rootfs).unwrap();
    run(Command::new("sh")
        .args(["-c", KONG_ROOT, "sh"])
        .arg(&rootfs));
    podman.import(&rootfs, KONG_IMAGE);
    let words = format!(
        "check gateway kong@{KONG_IMAGE} --scenario proxy-json --scenario basic-auth --scenario http2-in"
    );
    let finished = start(&bench, &podman, &words).wait();
    finished
        .assert_code(0)
        .assert_prints(&["proxy-json", "basic-auth", "http2-in"]);
    assert!(podman.containers().is_empty());
}
