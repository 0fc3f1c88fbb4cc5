//! Describes a load as a TestRun, for clusters that have the k6 operator.

use serde_json::{Value as Json, json};

use gatebench_model::{Cluster, Taint};

use super::manifest::{Resources, restricted};
use super::objects::MANAGED;

/// The default image of the k6 operator's runner pods.
pub const K6_IMAGE: &str = "grafana/k6:1.5.0";

const SCRIPT: &str = "scenario.js";

const TREND_STATS: &str = "avg,min,med,max,p(90),p(95),p(99),count";

/// A scenario as a k6 script.
#[derive(Clone, Debug)]
pub struct K6Script<'a> {
    pub scenario: &'a str,
    pub text: &'a str,
    pub image: &'a str,
}

/// Returns the ConfigMap with the script, and the TestRun. The number of runner pods, their nodes
/// and their limits are those of the load generators.
pub fn testrun(cluster: &Cluster, script: &K6Script<'_>) -> [Json; 2] {
    let (managed, by) = MANAGED;
    let name = format!("gb-{}", script.scenario);
    let metadata = json!({
        "name": name,
        "namespace": cluster.namespace.name,
        "labels": { managed: by, "gatebench/scenario": script.scenario },
    });
    let resources = match cluster.engine.limits {
        limits if limits.is_none() => Json::Null,
        limits => json!(Resources::guaranteed(limits)),
    };
    let node = &cluster.engine.node;
    let toleration = |taint: &Taint| {
        let operator = if taint.value.is_some() {
            "Equal"
        } else {
            "Exists"
        };
        let mut toleration =
            json!({ "key": taint.key, "operator": operator, "effect": taint.effect });
        if let Some(value) = &taint.value {
            toleration["value"] = json!(value);
        }
        toleration
    };
    let starter = json!({
        "automountServiceAccountToken": "false",
        "securityContext": {
            "runAsNonRoot": true,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containerSecurityContext": restricted(),
    });
    let mut runner = starter.clone();
    runner["image"] = json!(script.image);
    if !node.labels.is_empty() {
        runner["nodeSelector"] = json!(node.labels);
    }
    if !node.taints.is_empty() {
        runner["tolerations"] = node.taints.iter().map(toleration).collect();
    }
    if !resources.is_null() {
        runner["resources"] = resources;
    }
    let script_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": { SCRIPT: script.text },
    });
    let testrun = json!({
        "apiVersion": "k6.io/v1alpha1",
        "kind": "TestRun",
        "metadata": metadata,
        "spec": {
            "parallelism": cluster.agents,
            "separate": true,
            // The k6 operator before version 1.6 accepts only a string, which it splits at spaces.
            "arguments": format!("--no-usage-report --summary-trend-stats={TREND_STATS}"),
            "script": { "configMap": { "name": name, "file": SCRIPT } },
            "initializer": { "disabled": true },
            "starter": starter,
            "runner": runner,
        },
    });
    [script_map, testrun]
}
