//! Runs that limit gateways on machines that cannot enforce the limits.

use std::process::Command;

use crate::bench::{Bench, MARK, Session};

fn without_groups<'a>(bench: &'a Bench, words: &str) -> Session<'a> {
    let mut command = Command::new("unshare");
    let inner = bench.command();
    let mark = inner.get_envs().find(|(name, _)| *name == MARK);
    command
        .args(["--map-root-user", "--mount", "sh", "-c"])
        .arg("mount -t tmpfs none /sys/fs/cgroup && exec \"$0\" \"$@\"")
        .arg(inner.get_program())
        .args(words.split_whitespace())
        .current_dir(bench.path(""))
        .envs(mark.and_then(|(name, value)| Some((name, value?))));
    bench.spawn(command)
}

#[test]
fn fractions_of_a_cpu_are_refused_and_whole_cpus_become_cores() {
    let bench = Bench::new();
    let refused = without_groups(&bench, "run suite.yaml --gateway-cpus 0.5 --dir run").wait();
    refused.assert_code(3).assert_says(&[
        "cannot limit reference to 0.5 CPU: \
         there is no usable control group with the cpu controller",
        "→ run gatebench as root",
    ]);
    assert!(!bench.path("run").exists());
    let by_cores = without_groups(&bench, "run suite.yaml --gateway-cpus 1 --dir run").wait();
    by_cores
        .assert_measured()
        .assert_says(&["reference-1cpu is limited to 1 CPU only by its cores"]);
    let manifest = bench.read("run/manifest.json");
    assert!(manifest.contains("limited to 1 CPU only by its cores"));
}

#[test]
fn more_cpus_than_the_machine_has_are_refused() {
    let bench = Bench::new();
    let finished = bench.gatebench("run suite.yaml --gateway-cpus 4000 --dir run");
    finished
        .assert_code(3)
        .assert_says(&["the gateway cannot have 4000 cores", "→ "]);
    bench
        .gatebench("run suite.yaml --gateway-cpus 0 --dir run")
        .assert_code(2)
        .assert_says(&["at least 0.01 CPU"]);
}
