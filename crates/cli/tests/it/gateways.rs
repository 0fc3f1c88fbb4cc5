//! The gateways that gatebench includes, the installation of gateways, and new gateway folders.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::bench::Bench;

/// A load of only a hundred requests, because only the parity cases matter.
pub(crate) const HUNDRED: &str =
    "- {name: few, closed: {connections: 4, requests_max: 100}, measure: 30s}\n";

/// Scenarios with policies and protocols that nginx supports.
const NATIVE: [&str; 5] = [
    "proxy-json",
    "api-key",
    "header-additions",
    "http2-in",
    "tls-upstream",
];
/// [`NATIVE`] with `pipeline` in place of `header-additions`. The scenario `pipeline` combines
/// policies and includes JSON edits in both directions.
const WHOLE: [&str; 5] = [
    "proxy-json",
    "api-key",
    "pipeline",
    "http2-in",
    "tls-upstream",
];

/// Runs only one gateway, so that the tests of different gateways can run at the same time.
#[track_caller]
fn assert_runs_and_passes(gateway: &str, scenarios: &[&str]) {
    let bench = Bench::new();
    bench.load(HUNDRED);
    let named: String = scenarios
        .iter()
        .map(|name| format!("--scenario {name} "))
        .collect();
    let finished = bench.gatebench(&format!(
        "run {named} --load load.yaml --blocks 1 --no-direct --dir run --gateway {gateway}"
    ));
    finished.assert_measured();
    bench.assert_reportable("run", scenarios.len());
    assert!(
        !finished.stdout.contains("not supported"),
        "{}",
        finished.stdout
    );
}

#[test]
fn nginx_runs_and_passes() {
    assert_runs_and_passes("nginx", &NATIVE);
}

#[test]
fn nginx_with_lua_runs_and_passes() {
    assert_runs_and_passes("nginx-lua", &WHOLE);
}

#[test]
fn haproxy_runs_and_passes() {
    assert_runs_and_passes("haproxy", &WHOLE);
}

#[test]
fn envoy_runs_and_passes() {
    assert_runs_and_passes("envoy", &["proxy-json", "pipeline", "http2-in"]);
}

/// Reports whether the program of a gateway is on PATH; if it is not, prints that the test is
/// skipped. Used for gateways that the tests do not install.
pub fn is_on_path(program: &str) -> bool {
    let find = format!("command -v {program}");
    let found = Command::new("sh").args(["-c", &find]).output();
    let is_found = found.is_ok_and(|output| output.status.success());
    if !is_found {
        eprintln!("skipped: {program} is not on PATH");
    }
    is_found
}

#[test]
fn kong_runs_and_passes() {
    if is_on_path("kong") {
        let scenarios = [
            "proxy-json",
            "basic-auth",
            "json-response-edits",
            "http2-in",
        ];
        assert_runs_and_passes("kong", &scenarios);
    }
}

#[test]
fn apisix_runs_and_passes() {
    if is_on_path("apisix") {
        let scenarios = ["proxy-json", "basic-auth", "header-additions", "mock"];
        assert_runs_and_passes("apisix", &scenarios);
    }
}

#[test]
#[ignore = "downloads 100 MB with Maven and needs JDK 21 or later; make test-full"]
fn gravitee_is_installed_and_passes_its_checks() {
    let bench = Bench::new();
    let installed = bench.gatebench("install gravitee");
    if installed.stderr.contains("it needs a JDK") {
        eprintln!("skipped: {}", installed.stderr);
        return;
    }
    installed.assert_code(0);
    let scenarios = [
        "contract",
        "api-key",
        "rate-limit-enforced",
        "rate-limit-100-keys",
        "request-size-limit",
        "header-edits",
        "header-additions",
        "json-response-members",
        "json-response-edits",
        "mock",
        "http2-in",
        "tls-upstream",
    ];
    let named = scenarios.map(|name| format!("--scenario {name}")).join(" ");
    let checked = bench.gatebench(&format!("check gateway gravitee {named}"));
    checked.assert_code(0).assert_prints(&[
        "contract: 15 cases",
        "api-key: 7 cases",
        "json-response-edits: not supported: response_json.items",
        "gravitee passes all",
    ]);
}

#[test]
fn a_failed_installation_does_not_prevent_others() {
    let bench = Bench::new();
    bench.own_gateway();
    let spec = bench
        .read("mine/gateway.yaml")
        .replace("[/usr/bin/python3, python3]", "[no-such-program]");
    let maven = "{files: [pom.xml], jar: target/mine.jar, version: '1', java: 99}";
    bench.write(
        "mine/gateway.yaml",
        &format!("{spec}install: {{maven: {maven}}}\n"),
    );
    bench.write("mine/pom.xml", "<project/>\n");
    let other = bench
        .read("mine/gateway.yaml")
        .replace("gateway: mine", "gateway: other");
    std::fs::create_dir(bench.path("other")).unwrap();
    bench.write("other/gateway.yaml", &other);
    for file in ["pom.xml", "mine.json", "proxy.py"] {
        bench.write(
            &format!("other/{file}"),
            &bench.read(&format!("mine/{file}")),
        );
    }
    bench
        .gatebench("install ./mine ./other")
        .assert_code(3)
        .assert_says(&[
            "cannot install mine: it needs JDK 99 or later",
            "cannot install other: it needs JDK 99 or later",
            "openjdk-99-jdk-headless",
        ]);
}

/// Writes a gateway whose vendor publishes installation steps for this system. The steps create a
/// program that prints the version `installed`.
fn packaged(bench: &Bench, installed: &str) {
    let release = std::fs::read_to_string("/etc/os-release").unwrap();
    let value = |name: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim_matches('"').to_owned()
    };
    bench.own_gateway();
    let program = bench.path("packaged").display().to_string();
    let spec = bench
        .read("mine/gateway.yaml")
        .replace("[/usr/bin/python3, python3]", &format!("[{program}]"));
    let install = format!(
        "install:\n  vendor:\n    version: 1.2.3\n    page: https://makers.example/install\n    systems:\n    \
         - {{id: solaris, versions: ['10'], commands: [pkg add mine]}}\n    \
         - id: {}\n      versions: ['{}']\n      commands:\n      \
         - printf '\\043!/bin/sh\\necho Python {installed} && true {{{{ version }}}}\\n' > {program}\n      \
         - chmod 755 {program}\n",
        value("ID="),
        value("VERSION_ID="),
    );
    bench.write("mine/gateway.yaml", &format!("{spec}{install}"));
}

#[test]
fn the_steps_of_a_gateways_vendor_are_printed_and_run_with_consent() {
    let bench = Bench::new();
    packaged(&bench, "1.2.3");
    bench
        .gatebench("install ./mine")
        .assert_code(0)
        .assert_prints(&[
            "would install mine 1.2.3 from its vendor, with the vendor's steps for",
            "(https://makers.example/install) (as root)",
            "echo Python 1.2.3 && true 1.2.3",
            "none of these steps was run; `--yes` runs them",
        ]);
    assert!(!bench.path("packaged").exists());
    let taken = bench.gatebench("install ./mine --yes");
    if taken
        .stderr
        .contains("only root may install its vendor's packages")
    {
        taken.assert_code(3);
        return;
    }
    taken
        .assert_code(0)
        .assert_prints(&["My own gateway 1.2.3 is installed"]);
}

#[test]
fn a_version_other_than_that_of_the_steps_is_a_failure() {
    let bench = Bench::new();
    packaged(&bench, "1.2.4");
    let taken = bench.gatebench("install ./mine --yes");
    if taken
        .stderr
        .contains("only root may install its vendor's packages")
    {
        taken.assert_code(3);
        return;
    }
    taken
        .assert_code(3)
        .assert_says(&["version 1.2.4 was installed instead of 1.2.3"]);
}

#[test]
fn a_system_that_the_vendor_does_not_name_gets_a_clear_error() {
    let bench = Bench::new();
    packaged(&bench, "1.2.3");
    let spec = bench.read("mine/gateway.yaml");
    let known = spec.split("    - id: ").next().unwrap();
    bench.write("mine/gateway.yaml", known);
    bench
        .gatebench("install ./mine --yes")
        .assert_code(3)
        .assert_says(&[
            "cannot install mine: gateway.yaml has no installation steps for",
            "gateway.yaml has steps for solaris 10; for other ways to install it, see https://makers.example/install",
        ]);
}

/// Scenarios that a plain proxy must pass.
const PLAIN: &str =
    "--scenario contract --scenario proxy-json --scenario routes-100 --scenario upstreams-50";

#[test]
fn a_new_gateway_is_a_plain_proxy_that_works() {
    for like in ["nginx", "haproxy"] {
        let bench = Bench::new();
        bench
            .gatebench(&format!("new gateway mine --like {like}"))
            .assert_code(0)
            .assert_prints(&["mine/gateway.yaml", "mine/mine.conf", like]);
        bench
            .gatebench(&format!("check gateway ./mine {PLAIN}"))
            .assert_code(0)
            .assert_prints(&["contract: 15 cases", "mine passes all 4 scenarios"]);
        let lines = |file: &str| bench.read(file).lines().count();
        assert!(lines("mine/gateway.yaml") + lines("mine/mine.conf") <= 60);
        bench
            .gatebench("new gateway mine")
            .assert_code(2)
            .assert_says(&["mine: already exists", "another name"]);
    }
}

#[test]
fn the_list_shows_installed_gateways_and_how_to_install_others() {
    let bench = Bench::new();
    let listed = bench
        .gatebench("list gateways --json")
        .assert_code(0)
        .stdout
        .clone();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let gateway = |name: &str| {
        let all = listed["gateways"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap().clone()
    };
    let nginx = gateway("nginx");
    assert_eq!(
        (&nginx["found"], &nginx["policies"]["api_key"]),
        (&true.into(), &"native".into())
    );
    assert!(
        nginx["version"].is_string() && nginx["binary"].is_string(),
        "{nginx}"
    );
    assert_eq!(gateway("nginx-lua")["policies"]["api_key"], "script");
    let lines = bench
        .gatebench("list gateways")
        .assert_code(0)
        .stdout
        .clone();
    assert!(
        lines.contains("✓ nginx ") && lines.contains("api_key (script)"),
        "{lines}"
    );
}

#[test]
fn an_installation_is_described_before_it_starts() {
    let bench = Bench::new();
    bench.own_gateway();
    let spec = bench
        .read("mine/gateway.yaml")
        .replace("[/usr/bin/python3, python3]", "[no-such-program]");
    let sha256 = "0123456789abcdef".repeat(4);
    let install = format!(
        "install:\n  apt: [mine-one, mine-two]\n  \
         pypi: {{package: mine-server, version: 1.2.3, sha256: [{sha256}], program: bin/mine}}\n"
    );
    bench.write("mine/gateway.yaml", &format!("{spec}{install}"));
    bench
        .gatebench("install ./mine nginx --dry-run")
        .assert_code(0)
        .assert_prints(&[
            "nginx",
            " is installed",
            "would install Debian packages mine-one, mine-two (as root)",
            "apt-get install --yes --no-install-recommends mine-one mine-two",
            "mine-server 1.2.3 from PyPI",
            &format!("mine-server==1.2.3 --hash=sha256:{sha256}"),
            "--require-hashes",
            "/bin/no-such-program",
        ]);
    bench.write(
        "mine/gateway.yaml",
        &format!("{spec}install: {{other: ask its makers}}\n"),
    );
    bench
        .gatebench("install ./mine")
        .assert_code(3)
        .assert_says(&[
            "cannot install mine: it is in no package registry",
            "→ ask its makers",
        ]);
}

/// A Python script that writes a wheel with one program, which prints its version.
const WHEEL: &str = "\
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + '/mine_server-1.2.3-py3-none-any.whl', 'w') as wheel:
    program = zipfile.ZipInfo('mine_server/mine')
    program.external_attr = 0o100755 << 16
    wheel.writestr(program, '#!/bin/sh\\necho mine 1.2.3\\n')
    info = 'mine_server-1.2.3.dist-info/'
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: mine-server\\nVersion: 1.2.3\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
";

#[test]
fn only_the_pinned_bytes_of_a_package_are_installed() {
    let bench = Bench::new();
    bench.own_gateway();
    let wheels = bench.path("wheels");
    std::fs::create_dir(&wheels).unwrap();
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(Command::new("python3").args(["-c", WHEEL]).arg(&wheels));
    let wheel = wheels.join("mine_server-1.2.3-py3-none-any.whl");
    let said = run(Command::new("sha256sum").arg(wheel));
    let sha256 = said.split(' ').next().unwrap().to_owned();
    let spec = bench
        .read("mine/gateway.yaml")
        .replace("[/usr/bin/python3, python3]", "[mine]")
        .replace("'Python (\\S+)'", "'mine (\\S+)'");
    let install = |sha256: &str| {
        let package = "package: mine-server, version: 1.2.3, program: mine_server/mine";
        let pypi = format!("install: {{pypi: {{{package}, sha256: [\"{sha256}\"]}}}}\n");
        bench.write("mine/gateway.yaml", &format!("{spec}{pypi}"));
        let mut command = bench.command();
        command
            .args(["install", "./mine"])
            .env("XDG_DATA_HOME", bench.path("data"))
            .env("PIP_NO_INDEX", "1")
            .env("PIP_FIND_LINKS", &wheels);
        bench.spawn(command).wait()
    };
    install(&"0".repeat(64))
        .assert_code(3)
        .assert_says(&["cannot install mine: python3 failed", &sha256]);
    assert!(!bench.path("data/gatebench/bin/mine").exists());
    install(&sha256)
        .assert_code(0)
        .assert_prints(&["1.2.3 is installed"]);
    assert!(bench.path("data/gatebench/bin/mine").exists());
}

/// A replacement for `mvn` that writes an archive and a library below the folder of the `pom.xml`
/// given by `--file`.
const MAVEN: &str = "\
#!/bin/sh
while [ \"$1\" != --file ]; do shift; done
cd \"$(dirname \"$2\")\" && mkdir -p target/lib && echo library > target/lib/a.jar && echo > target/mine.jar
";

/// The line that sha256sum prints for that library, and the digest of this line.
const LIBRARY: &str =
    "b5e0dfe3c2b269568c488e74fdc56495a5729538ebc6ef36488c85a7d7a1730e  target/lib/a.jar\n";
const LIBRARIES: &str = "54bdd1e34a6387d74af5e517a8d4f3d9d3004adffdbdf5beb3a96972ba59c589";

#[test]
fn a_java_program_is_installed_only_with_its_pinned_libraries() {
    let bench = Bench::new();
    bench.own_gateway();
    bench.write("mine/pom.xml", "<project/>\n");
    std::fs::create_dir(bench.path("bin")).unwrap();
    bench.write("bin/mvn", MAVEN);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bench.path("bin/mvn"), executable).unwrap();
    let spec = bench
        .read("mine/gateway.yaml")
        .replace("[/usr/bin/python3, python3]", "[mine]")
        .replace("'Python (\\S+)'", "'mine (\\S+)'");
    let path = std::env::var("PATH").unwrap();
    let install = |pins: &str, more: &[&str]| {
        let maven = format!("files: [pom.xml], jar: target/mine.jar, version: 1.2.3{pins}");
        let install = format!("install: {{maven: {{{maven}}}}}\n");
        bench.write("mine/gateway.yaml", &format!("{spec}{install}"));
        let mut command = bench.command();
        command
            .args(["install", "./mine"])
            .args(more)
            .env("XDG_DATA_HOME", bench.path("data"))
            .env("PATH", format!("{}:{path}", bench.path("bin").display()));
        bench.spawn(command).wait()
    };
    let home = "data/gatebench/gateways/mine-1.2.3";
    let is_linked = || bench.path("data/gatebench/bin/mine").exists();
    install("", &["--dry-run"])
        .assert_code(0)
        .assert_prints(&["not pinned by hash", "-Dgateway.version=1.2.3"]);
    let digest = format!("libraries_sha256: {LIBRARIES}");
    install(", libraries: [target/lib]", &[])
        .assert_code(3)
        .assert_says(&["cannot install mine: gateway.yaml names libraries", &digest]);
    assert!(!is_linked());
    let pins = |digest: &str| format!(", libraries: [target/lib], libraries_sha256: \"{digest}\"");
    let other = "0".repeat(64);
    install(&pins(&other), &[]).assert_code(3).assert_says(&[
        "cannot install mine: the libraries",
        &format!("recorded SHA-256: {other}"),
        &format!("computed SHA-256: {LIBRARIES}"),
        "mine-1.2.3/libraries.sha256",
        &digest,
    ]);
    assert!(!is_linked() && !bench.path(home).join("mine").exists());
    assert_eq!(bench.read(&format!("{home}/libraries.sha256")), LIBRARY);
    install(&pins(LIBRARIES), &[])
        .assert_code(0)
        .assert_prints(&["libraries pinned by SHA-256", "1.2.3 is installed"]);
    assert!(is_linked());
}

#[test]
fn another_version_and_another_program_are_refused() {
    let bench = Bench::new();
    bench.own_gateway();
    let spec = bench.read("mine/gateway.yaml");
    let older = spec.replace(
        "'Python (\\S+)'",
        "'Python (\\S+)'\n  version_min: '3.0'\n  version_below: '3.1'",
    );
    bench.write("mine/gateway.yaml", &older);
    bench
        .gatebench("check gateway ./mine")
        .assert_code(3)
        .assert_says(&[
            "python3",
            "is version 3.",
            "the gateway folder mine requires at least 3.0 and below 3.1",
        ]);
    bench.write(
        "mine/gateway.yaml",
        &spec.replace("'Python (\\S+)'", "'Envoy (\\S+)'"),
    );
    bench
        .gatebench("check gateway ./mine")
        .assert_code(1)
        .assert_says(&[
            "did not print its version: version_pattern 'Envoy (\\S+)' does not match its output: Python 3.",
        ]);
    bench.write(
        "mine/gateway.yaml",
        &spec.replace("policies:", "  # no\npolicies:").replace(
            "  version_pattern",
            "  needs: [/no/such/module.so]\n  version_pattern",
        ),
    );
    bench
        .gatebench("check gateway ./mine")
        .assert_code(3)
        .assert_says(&["gateway mine is not installed: /no/such/module.so was not found"]);
}

#[test]
fn a_gateway_that_does_not_stop_fails_the_check() {
    let bench = Bench::new();
    bench.own_gateway();
    let spec = bench.read("mine/gateway.yaml");
    bench.write(
        "mine/gateway.yaml",
        &format!("{spec}stop: {{timeout: 100ms}}\n"),
    );
    let proxy = bench.read("mine/proxy.py").replace(
        "CONFIG = json",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nCONFIG = json",
    );
    bench.write("mine/proxy.py", &proxy);
    bench
        .gatebench("check gateway ./mine --scenario proxy-json")
        .assert_code(1)
        .assert_prints(&[
            "did not end on SIGTERM within 100ms and was killed",
            "mine fails 1 of 1 scenario",
        ]);
}

/// To update the page: `gatebench list gateways --markdown > docs/guide/GATEWAYS.md`.
#[test]
fn the_page_of_gateways_matches_the_folders() {
    let bench = Bench::new();
    let page = bench
        .gatebench("list gateways --markdown")
        .assert_code(0)
        .stdout
        .clone();
    let committed = include_str!("../../../../docs/guide/GATEWAYS.md");
    assert!(
        page == committed,
        "docs/guide/GATEWAYS.md is out of date; run: gatebench list gateways --markdown > docs/guide/GATEWAYS.md"
    );
}
