//! Kubernetes with a fake `kubectl`, which responds as a small cluster would: it keeps the objects
//! as files, marks pods as running, and runs the programs of `exec` on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::bench::{Bench, Session};
use crate::remote::stripped;

const KUBECTL: &str = include_str!("kubectl.py");

/// Starts gatebench with the `kubectl` of these tests. `behavior` selects what goes wrong.
fn start<'a>(bench: &'a Bench, behavior: &str, words: &str) -> Session<'a> {
    for folder in ["bin", "cluster", "pod"] {
        fs::create_dir_all(bench.path(folder)).unwrap();
    }
    bench.write("bin/kubectl", KUBECTL);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(bench.path("bin/kubectl"), executable).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let (mark, value) = bench.mark();
    let mut command = Command::new(stripped(bench));
    command
        .args(words.split_whitespace())
        .current_dir(bench.path(""))
        .env(mark, value)
        .env_remove("NO_COLOR")
        .env("PATH", format!("{}:{path}", bench.path("bin").display()))
        .env("FAKE_CLUSTER", bench.path("cluster"))
        .env("FAKE_POD", bench.path("pod"))
        .env("FAKE_BEHAVIOR", behavior);
    bench.spawn(command)
}

/// Returns the cluster's objects, as `KIND NAME.json`.
fn objects(bench: &Bench) -> Vec<String> {
    let entries = fs::read_dir(bench.path("cluster")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut objects: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    objects.sort();
    objects
}

fn requests(bench: &Bench) -> String {
    bench.read("cluster/requests.log")
}

#[test]
fn a_check_reports_rights_nodes_and_the_role() {
    let bench = Bench::new();
    let good = start(&bench, "", "kubernetes check gb").wait();
    good.assert_code(0).assert_prints(&[
        "v1.34.4, kubectl v1.34.1",
        "it enforces 'restricted'",
        "rights are granted",
        "3 ready, 3 without taints",
        "runs in gb can start",
    ]);
    let refused = start(&bench, "no-exec", "kubernetes check gb").wait();
    refused.assert_code(3).assert_prints(&[
        "create pods/exec is not allowed",
        "kind: Role",
        "kubectl -n gb create rolebinding gatebench",
        "runs in gb cannot start",
    ]);
    let asked = requests(&bench);
    let role = start(&bench, "", "kubernetes check prod/gb --role").wait();
    role.assert_code(0)
        .assert_prints(&["kind: Role", "pods/ephemeralcontainers"]);
    assert_eq!(requests(&bench), asked, "the Role needs no cluster");
    start(&bench, "", "kubernetes check prod/gb").wait();
    assert!(requests(&bench).contains("--context prod --namespace gb"));
    assert!(objects(&bench).is_empty(), "{:?}", objects(&bench));
}

#[test]
fn a_pod_runs_gatebench_and_nothing_is_left() {
    let bench = Bench::new();
    let checked = start(&bench, "", "kubernetes check gb --image agent:1").wait();
    checked
        .assert_code(0)
        .assert_prints(&["gatebench ran on node1", "event loop"]);
    assert!(objects(&bench).is_empty(), "{:?}", objects(&bench));
    let sent = fs::read_dir(bench.path("pod/gatebench")).unwrap();
    assert_eq!(sent.count(), 1, "the program was sent once");
    bench.wait_for("all processes to end", || {
        bench.processes().is_empty().then_some(())
    });
}

#[test]
fn a_run_in_pods_reports_their_nodes_and_leaves_nothing() {
    let bench = Bench::new();
    let words = "run proxy-json --gateway reference --kubernetes gb --agents 2 --smoke --dir out";
    let ran = start(&bench, "", words).wait();
    ran.assert_code(0).assert_prints(&[
        "works",
        "gateway-reference on node2",
        "upstream on node1",
        "engine-0 on node3; engine-1 on node4",
    ]);
    assert!(objects(&bench).is_empty(), "{:?}", objects(&bench));
    let manifest: Json = serde_json::from_str(&bench.read("out/manifest.json")).unwrap();
    let pods = manifest["environment"]["pods"].as_array().unwrap();
    // The fifth pod is the null gateway, which shows the cost of another hop in the network.
    assert_eq!(pods.len(), 5, "{pods:?}");
    let asked = requests(&bench);
    let again = start(&bench, "", "run --resume out --dry-run").wait();
    again
        .assert_code(0)
        .assert_prints(&["kind: Job", "completions: 2"]);
    assert_eq!(requests(&bench), asked, "a dry run needs no cluster");
    bench.wait_for("all processes to end", || {
        bench.processes().is_empty().then_some(())
    });
}

#[test]
fn a_run_is_complete_although_connections_are_cut_or_repeat_lines() {
    for behavior in ["line-cut", "line-repeat"] {
        let bench = Bench::new();
        let words = "run proxy-json --gateway reference --kubernetes gb --agents 2 --no-direct \
                     --load smoke --blocks 1 --dir out";
        let ran = start(&bench, behavior, words).wait();
        ran.assert_code(0);
        assert!(objects(&bench).is_empty(), "{:?}", objects(&bench));
        let trial = bench.read("out/trials/0001-proxy-json-reference-b1/trial.json");
        let trial: Json = serde_json::from_str(&trial).unwrap();
        let agents = trial["phases"][0]["agents"]["each"].as_array().unwrap();
        let sent = agents.iter().map(|agent| agent["sent"].as_u64().unwrap());
        // Together, the two load generators send all requests of the profile.
        assert_eq!(sent.sum::<u64>(), 100, "{agents:?}");
    }
}

#[test]
fn only_the_built_in_load_generator_runs_in_pods() {
    let bench = Bench::new();
    let refused = bench.gatebench("run proxy-json --kubernetes gb --engine k6");
    refused.assert_code(2).assert_says(&[
        "only the built-in load generator runs in pods",
        "--engine k6 --testrun",
    ]);
}

#[test]
fn a_connection_that_is_cut_or_repeats_lines_is_resumed() {
    for behavior in ["line-cut", "line-repeat"] {
        let bench = Bench::new();
        let checked = start(&bench, behavior, "kubernetes check gb --image agent:1").wait();
        checked
            .assert_code(0)
            .assert_prints(&["gatebench ran on node1", "event loop"]);
        assert!(objects(&bench).is_empty(), "{:?}", objects(&bench));
        let log = requests(&bench);
        let connections = log.lines().filter(|line| line.contains(" exec ")).count();
        assert_eq!(connections > 1, behavior == "line-cut", "{log}");
        bench.wait_for("all processes to end", || {
            bench.processes().is_empty().then_some(())
        });
    }
}

#[test]
#[ignore = "waits for 30 s of silence: make test-full"]
fn a_connection_that_stalls_is_resumed() {
    let bench = Bench::new();
    let checked = start(&bench, "line-stall", "kubernetes check gb --image agent:1").wait();
    checked
        .assert_code(0)
        .assert_prints(&["gatebench ran on node1", "event loop"]);
    assert!(objects(&bench).is_empty(), "{:?}", objects(&bench));
}

#[test]
fn what_the_cluster_refuses_is_reported_with_a_remedy() {
    for (behavior, said) in [
        (
            "unschedulable",
            [
                "0/3 nodes are available: 3 Insufficient cpu",
                "→ choose a smaller size",
            ],
        ),
        (
            "no-image",
            [
                "ErrImagePull: pull access denied",
                "→ correct the name of the image (--image)",
            ],
        ),
        (
            "forbidden",
            [
                "cannot create resource \"pods\"",
                "gatebench kubernetes check gb",
            ],
        ),
        (
            "unreachable",
            ["was refused", "make sure that the cluster is up"],
        ),
        (
            "exec-ends",
            ["gatebench cannot be run on", "(in the pod gb-"],
        ),
    ] {
        let bench = Bench::new();
        let failed = start(&bench, behavior, "kubernetes check gb --image agent:1").wait();
        failed.assert_code(3).assert_says(&said);
        let left = objects(&bench);
        assert!(left.is_empty(), "{behavior}: {left:?}");
    }
}

#[test]
fn a_killed_gatebench_leaves_nothing_and_clean_finds_the_rest() {
    let bench = Bench::new();
    let session = start(&bench, "slow", "kubernetes check gb --image agent:1");
    bench.wait_for("the pod", || {
        let is_pod = |name: &String| name.starts_with("Pod ");
        objects(&bench).iter().any(is_pod).then_some(())
    });
    session.signal("KILL");
    drop(session);
    bench.wait_for("the objects to be deleted", || {
        objects(&bench).is_empty().then_some(())
    });

    bench.write("cluster/ConfigMap gb-x1.json", &left("ConfigMap", "gb-x1"));
    bench.write(
        "cluster/Pod gb-x1-upstream.json",
        &left("Pod", "gb-x1-upstream"),
    );
    bench.write(
        "cluster/ConfigMap other.json",
        r#"{"kind": "ConfigMap", "metadata": {"name": "other"}}"#,
    );
    let cleaned = start(&bench, "", "kubernetes clean gb").wait();
    cleaned
        .assert_code(0)
        .assert_prints(&["deleted pods/gb-x1-upstream", "deleted configmaps/gb-x1"]);
    assert_eq!(objects(&bench), ["ConfigMap other.json"]);
    let again = start(&bench, "", "kubernetes clean gb").wait();
    again
        .assert_code(0)
        .assert_prints(&["found nothing to delete in gb"]);
}

fn left(kind: &str, name: &str) -> String {
    let labels = r#"{"app.kubernetes.io/managed-by": "gatebench", "gatebench/run": "x1"}"#;
    format!(r#"{{"kind": "{kind}", "metadata": {{"name": "{name}", "labels": {labels}}}}}"#)
}

#[test]
fn a_dry_run_prints_the_objects() {
    let bench = Bench::new();
    let words = "run gravitee --gateway kong --kubernetes prod/gb --agents 3 --dry-run \
                 --gateway-cpus 0.5,4,16 --gateway-memory 512Mi,3Gi,3Gi \
                 --gateway-node tier=gateway,dedicated=bench:NoSchedule --agent-node tier=k6-runner";
    let printed = bench.gatebench(words);
    printed.assert_code(0).assert_prints(&[
        "kind: Job",
        "completions: 3",
        "name: gb-dry-run-gateway-kong-0-5-cpu-512-mib",
        "limits: {cpu: 500m, memory: '512Mi'}",
        "name: gb-dry-run-gateway-kong-16-cpu-3-gib",
        "nodeSelector: {tier: gateway}",
        "gb-dry-run-redis",
        "kind: NetworkPolicy",
    ]);
    let refused = bench.gatebench("run proxy-json --gateway nginx --kubernetes gb --dry-run");
    refused
        .assert_code(2)
        .assert_says(&["gateway nginx has no image", "kubernetes image nginx"]);
    let attached = "run --attach http://127.0.0.1:1 --attach-pod kong/app=kong \
                    --scenario proxy-json --dry-run";
    let added = "is added to the pod of namespace kong that matches app=kong";
    for words in [attached.to_owned(), format!("{attached} --kubernetes gb")] {
        let printed = bench.gatebench(&words);
        let line = printed.assert_code(0).stdout.replace("\n         ", " ");
        assert!(line.contains(added), "{line}");
    }
}

#[test]
fn an_image_contains_a_program_with_its_libraries() {
    let bench = Bench::new();
    let made = bench.gatebench("kubernetes image agent --file agent.tar --name localhost/agent:1");
    made.assert_code(0)
        .assert_prints(&["agent.tar: localhost/agent:1", "images import agent.tar"]);
    let root = bench.path("root");
    fs::create_dir(&root).unwrap();
    unpack(&bench.path("agent.tar"), &root);
    let manifest: Json = serde_json::from_str(&bench.read("root/manifest.json")).unwrap();
    assert_eq!(manifest[0]["RepoTags"][0], "localhost/agent:1");
    let config = manifest[0]["Config"].as_str().unwrap();
    let config: Json = serde_json::from_str(&bench.read(&format!("root/{config}"))).unwrap();
    // gatebench in the image uses the path of this machine's data folder.
    let environment = config["config"]["Env"].to_string();
    assert!(environment.contains("XDG_DATA_HOME=/"), "{environment}");
    let layer = Command::new("sha256sum")
        .arg(root.join("layer.tar"))
        .output()
        .unwrap();
    let digest = String::from_utf8(layer.stdout).unwrap();
    let digest = digest.split_whitespace().next().unwrap();
    assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{digest}"));
    let layer = bench.path("layer");
    fs::create_dir(&layer).unwrap();
    unpack(&root.join("layer.tar"), &layer);
    // The files are complete: a program runs with nothing else in its root.
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "chroot"]).arg(&layer);
    command.args(["/bin/sh", "-c", "echo 12345 | wc -c"]);
    let ran = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "6", "{ran:?}");
}

fn unpack(archive: &Path, folder: &Path) {
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(folder);
    assert!(tar.status().unwrap().success());
}

#[test]
fn testruns_become_the_plan_of_the_published_document() {
    let bench = Bench::new();
    let testruns = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testruns");
    let mut files: Vec<String> = fs::read_dir(testruns)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    files.sort();
    let words = format!(
        "kubernetes from-testrun {} --suite gravitee --dir ours",
        files.join(" ")
    );
    let read = bench.gatebench(&words);
    read.assert_code(0).assert_prints(&[
        "TestRuns: 6",
        "the TestRuns have a parallelism of 4 to 8",
        "--agents 8 --agent-node tier=k6-runner,dedicated=k6:NoSchedule --agent-cpus 2 --agent-memory 1Gi",
    ]);
    let ours = plan(&bench, "run ./ours --gateway reference --dry-run --json");
    let published =
        "run gravitee --gateway reference --load gravitee-0-5-cpu --blocks 1 --dry-run --json";
    let published = plan(&bench, published);
    assert_eq!(ours["scenarios"], published["scenarios"]);
    let phases = &published["load"]["phases"];
    for (scenario, load) in ours["scenario_loads"].as_object().unwrap() {
        assert_eq!(load["phases"], *phases, "{scenario}");
    }
    assert_eq!(ours["scenario_loads"].as_object().unwrap().len(), 6);
}

fn plan(bench: &Bench, words: &str) -> Json {
    let finished = bench.gatebench(words);
    finished.assert_code(0);
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn printed_testruns_are_read_back() {
    let bench = Bench::new();
    let words = "run gravitee --attach http://gateway:82 --engine k6 --testrun --kubernetes k6 \
                 --agents 4 --agent-node tier=k6-runner --load gravitee-0-5-cpu";
    let printed = bench.gatebench(words);
    printed
        .assert_code(0)
        .assert_prints(&["kind: TestRun", "parallelism: 4", "separate: true"]);
    bench.write("ours.yaml", &printed.stdout);
    let read = bench.gatebench("kubernetes from-testrun ours.yaml --suite gravitee");
    read.assert_code(0)
        .assert_prints(&["TestRuns: 6", "--agents 4 --agent-node tier=k6-runner"]);
    let ours = plan(&bench, "run ./ours --gateway reference --dry-run --json");
    assert_eq!(ours["scenarios"].as_array().unwrap().len(), 6);
}

#[test]
fn a_testrun_that_cannot_be_read_is_reported_with_its_line() {
    let bench = Bench::new();
    let wrong = "apiVersion: k6.io/v1alpha1\nkind: TestRun\nmetadata: {name: a}\nspec:\n  parallelism: x\n  \
                 script: {configMap: {name: a, file: a.js}}\n---\napiVersion: k6.io/v1alpha1\nkind: PrivateLoadZone\n";
    bench.write("wrong.yaml", wrong);
    let read = bench.gatebench("kubernetes from-testrun wrong.yaml");
    read.assert_code(2).assert_says(&[
        "the script a.js was not found",
        "put the script next to this file",
        "a PrivateLoadZone belongs to Grafana Cloud",
    ]);
}
