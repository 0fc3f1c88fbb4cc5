//! Tests the limits of a gateway, which control groups enforce.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::common::{Bench, launcher};
use gatebench_model::{Limits, Variant};
use gatebench_runner::{Interrupt, Library, Prepared, Progress, RunnerError, Selection, prepare};
use gatebench_testbed::gateway::Catalogue;
use gatebench_testbed::probe::control_groups;

/// A twentieth of a CPU. Without the limit, a busy process gets more CPU time, even on a busy
/// machine.
const TIGHT: Limits = Limits {
    cpu_millis: Some(50),
    memory_bytes: Some(256 << 20),
};

fn sized(bench: &Bench, sizes: Vec<Limits>) -> Result<Prepared, RunnerError> {
    // The shell that starts the gateway also runs a busy loop, which is in the same control group.
    let gateway = bench.gateway("sized", |file, text| match file {
        "gateway.yaml" => text.replace(
            "start: [ \"{{ binary }}\", gateway, \"{{ work }}/gateway.json\" ]",
            "start: [ sh, -c, 'while :; do :; done & exec \"$0\" gateway \"$1\"', \"{{ binary }}\", \"{{ work }}/gateway.json\" ]",
        ),
        _ => text,
    });
    let selection = Selection {
        words: vec!["proxy-json".into()],
        gateways: vec![gateway],
        load: Some(bench.path("load.yaml").display().to_string()),
        blocks: Some(1),
        no_direct: true,
        sizes,
        ..Selection::default()
    };
    prepare(
        &selection,
        &Library::default(),
        &Catalogue::default(),
        &launcher(),
    )
}

/// Returns the control groups that gatebench has left behind.
fn left() -> Vec<PathBuf> {
    let own = std::process::id();
    let homes = ["cpu", "memory"]
        .into_iter()
        .flat_map(|controller| control_groups(own, controller));
    let entries = homes
        .filter_map(|group| fs::read_dir(group.folder).ok())
        .flatten();
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            let owner = name
                .strip_prefix("gatebench-")
                .map(|rest| rest.trim_start_matches("try-"));
            let pid = owner.and_then(|owner| owner.split('-').next());
            pid.and_then(|pid| pid.parse::<u32>().ok())
                .is_some_and(|pid| pid == own || !PathBuf::from(format!("/proc/{pid}")).exists())
        })
        .collect()
}

#[test]
fn a_busy_gateway_is_held_to_its_limit_and_the_record_shows_it() {
    let bench = Bench::warmed_up();
    let prepared = match sized(&bench, vec![TIGHT]) {
        Ok(prepared) => prepared,
        // If no group can be created, a fraction of a CPU is refused with a reason and a remedy.
        Err(error) => {
            let text = format!("{error}; {}", error.remedy());
            assert!(
                text.contains("cannot limit ") && text.contains(" to 0.05 CPU and 256 MiB: "),
                "{text}"
            );
            assert!(text.contains("run gatebench as root"), "{text}");
            return;
        }
    };
    let leftover = leftover();
    let label = prepared.plan.variants[0].label().to_owned();
    assert_eq!(label, "sized-0.05cpu-256mib");
    let summary = bench
        .run(prepared, &Interrupt::new(), &|_: Progress| {})
        .unwrap();
    assert_eq!((summary.completed, summary.failed), (1, 0));
    let stored = bench.stored();
    let trial = &stored.trials()[0];
    let facts = trial.record.gateway.as_ref().unwrap();
    assert_eq!(facts.limits, TIGHT);
    assert!(facts.limited_by.as_ref().unwrap().starts_with("cgroup v"));
    let phases = &trial.record.phases;
    let throttled: u64 = phases
        .iter()
        .filter_map(|phase| phase.usage["gateway"].throttling)
        .map(|throttling| throttling.throttled_periods)
        .sum();
    assert!(throttled > 0, "{phases:?}");
    assert!(
        phases
            .iter()
            .all(|phase| !phase.usage.contains_key("upstream")
                || phase.usage["upstream"].throttling.is_none())
    );
    assert!(!leftover.exists());
    assert_eq!(left(), Vec::<PathBuf>::new());
}

/// Creates a control group like the one that remains when its supervisor is killed together with
/// gatebench.
fn leftover() -> PathBuf {
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    let name = format!("gatebench-{}-1-{namespace}-{}", gone.id(), boot.trim());
    let groups = control_groups(std::process::id(), "cpu");
    let made = groups.iter().find_map(|group| {
        let folder = group.folder.join(&name);
        fs::create_dir(&folder).ok().map(|()| folder)
    });
    made.unwrap()
}

#[test]
fn each_size_is_a_variant_with_as_many_cores_as_it_can_use() {
    let bench = Bench::new();
    let size = |cpu_millis| Limits {
        cpu_millis: Some(cpu_millis),
        memory_bytes: None,
    };
    let Ok(prepared) = sized(&bench, vec![size(500), size(1_000)]) else {
        return;
    };
    let plan = &prepared.plan;
    let labels: Vec<&str> = plan.variants.iter().map(Variant::label).collect();
    assert_eq!(labels, ["sized-0.5cpu", "sized-1cpu"]);
    for variant in &plan.variants {
        let cores = variant.setup().unwrap().gateway_cores(&plan.placement);
        assert_eq!(cores.len(), 1, "{variant:?}");
    }
    let many = sized(&bench, vec![size(4_096_000)])
        .err()
        .unwrap()
        .to_string();
    assert!(
        many.contains("the gateway cannot have 4096 cores"),
        "{many}"
    );
    assert_eq!(left(), Vec::<PathBuf>::new());
}
