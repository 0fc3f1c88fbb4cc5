//! Flame graphs, whose functions may have hostile names.

use std::fs;

use gatebench_model::{Flame, Stacks, Study};
use gatebench_store::ProfileRecord;
use tempfile::TempDir;

use super::site::{Site, links};
use crate::history::common::runs::write_run;

const FOLDED: &str = "\
gateway;main;parse 700000
gateway;main;<script>alert(1)</script> 300000
";

/// Writes a run with the samples of two gateways.
fn profiled() -> TempDir {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("gatebench-runs/profiled");
    let study = Flame {
        samples_per_second: 999,
        stacks: Stacks::Dwarf,
    };
    let file = "steady.folded";
    write_run(
        &dir,
        1,
        |manifest| manifest.plan.study = Study::Profile(study),
        |made| {
            made.open().profile = Some(ProfileRecord {
                file: file.into(),
                sampled_ns: 1_000_000,
            });
        },
    );
    for trial in fs::read_dir(dir.join("trials")).unwrap().flatten() {
        fs::write(trial.path().join(file), FOLDED).unwrap();
    }
    folder
}

#[test]
fn two_clicks_lead_to_a_flame_graph_in_a_sandbox() {
    let folder = profiled();
    let site = Site::start(folder.path(), &[]);
    let path = links(&site.page("/"), "/run/").remove(0);
    let run = site.page(&path);
    assert!(!run.contains("<script>alert"), "{run}");
    let mut graphs = links(&run, "flame-");
    graphs.dedup();
    let expected = [
        "flame-proxy-json-nginx.svg",
        "flame-proxy-json-haproxy.svg",
        "flame-proxy-json-nginx-over-haproxy.svg",
    ];
    assert_eq!(graphs, expected);
    for graph in &graphs {
        let drawn = site.get(&format!("{path}{graph}"));
        assert_eq!(drawn.status, 200, "{graph}: {drawn:?}");
        assert_eq!(drawn.header("content-type"), Some("image/svg+xml"));
        assert!(drawn.body.contains("ns per request"), "{graph}");
        let escaped = "&lt;script&gt;alert(1)";
        assert!(drawn.body.contains(escaped) && !drawn.body.contains("<script>alert"));
        // A sandbox without `allow-same-origin` has no access to the cookie or to other pages.
        let policy = drawn.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(policy.ends_with("; sandbox allow-scripts"), "{policy}");
    }
    assert_eq!(site.get(&format!("{path}flame-other.svg")).status, 404);
}
