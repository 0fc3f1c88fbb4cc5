//! Converts the runners of a TestRun to options of `gatebench run`.

use std::collections::BTreeMap;

use gatebench_config::Node;

use super::arguments;
use crate::k6::Overrides;
use crate::keys::Keys;
use crate::log::Log;

/// Keys of `spec` that are meaningless in gatebench, which starts its own agents, keeps all results
/// and cleans up after itself.
const OF_OPERATOR: [&str; 8] = [
    "cleanup",
    "initializer",
    "paused",
    "ports",
    "quiet",
    "starter",
    "testRunId",
    "token",
];

/// Keys of `runner` that do not affect the load.
const OF_POD: [&str; 14] = [
    "metadata",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "securityContext",
    "containerSecurityContext",
    "serviceAccountName",
    "automountServiceAccountToken",
    "livenessProbe",
    "readinessProbe",
    "priorityClassName",
    "schedulerName",
    "initContainers",
    "topologySpreadConstraints",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runner {
    pub(super) parallelism: u64,
    /// Labels and taints of the nodes, as `--agent-node` accepts them.
    nodes: Vec<String>,
    /// The limits, such as `500m`, by resource.
    limits: BTreeMap<String, String>,
    pub(super) overrides: Overrides,
}

impl Runner {
    /// Parses the keys of `spec` other than `script`.
    pub(super) fn read(mut spec: Keys<'_>, log: &mut Log<'_>) -> Self {
        let mut runner = Self {
            parallelism: spec.count("parallelism", log).unwrap_or(1).max(1),
            ..Self::default()
        };
        // Agents always run on separate nodes.
        let _ = spec.flag("separate", log);
        runner.overrides = arguments::read(&mut spec, log);
        if let Some(scuttle) = spec.entry("scuttle") {
            log.simplified(&scuttle.key_span, "scuttle: agents have no sidecar to stop");
        }
        if let Some(mut pod) = spec.keys("runner", log) {
            runner.read_pod(&mut pod, log);
            pod.ignore(&OF_POD);
            for entry in pod.unread() {
                let what = format!("`{}` of `runner`", entry.key);
                log.simplified(&entry.key_span, what);
            }
        }
        spec.ignore(&OF_OPERATOR);
        for entry in spec.unread() {
            log.simplified(&entry.key_span, format!("`{}` of `spec`", entry.key));
        }
        runner
    }

    fn read_pod(&mut self, pod: &mut Keys<'_>, log: &mut Log<'_>) {
        let labels = pod.named_texts("nodeSelector", log);
        self.nodes = labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        for toleration in pod.list("tolerations", log) {
            match taint(toleration) {
                Some(taint) => self.nodes.push(taint),
                None => log.simplified(
                    &toleration.head(),
                    "a toleration without a key or without an effect",
                ),
            }
        }
        if let Some(resources) = pod.node("resources") {
            let limits = resources
                .get("limits")
                .map(Node::entries)
                .unwrap_or_default();
            self.limits = log.texts_of(limits);
        }
        if let Some(affinity) = pod.entry("affinity") {
            let node = affinity.value.get("nodeAffinity").is_some();
            if node {
                let what = "nodeAffinity: select nodes with --agent-node instead";
                log.simplified(&affinity.key_span, what);
            }
        }
    }

    fn options(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        if !self.nodes.is_empty() {
            add("--agent-node", self.nodes.join(","));
        }
        if let Some(cpus) = self.limits.get("cpu").and_then(|it| cpus(it)) {
            add("--agent-cpus", cpus.to_string());
        }
        if let Some(memory) = self.limits.get("memory").and_then(|it| memory(it)) {
            add("--agent-memory", memory);
        }
        words
    }
}

/// Returns the taint that a toleration tolerates: `KEY=VALUE:EFFECT`, or `KEY:EFFECT` if it has no
/// value.
fn taint(toleration: &Node) -> Option<String> {
    let key = toleration.text_of("key")?;
    let effect = toleration.text_of("effect")?;
    let value = toleration.text_of("value").map(|value| format!("={value}"));
    Some(format!("{key}{}:{effect}", value.unwrap_or_default()))
}

/// Parses a quantity of CPUs, such as `2`, or `500m` for 0.5.
fn cpus(quantity: &str) -> Option<f64> {
    match quantity.strip_suffix('m') {
        Some(millis) => millis.parse::<f64>().ok().map(|it| it / 1_000.0),
        None => quantity.parse().ok(),
    }
}

/// Converts a quantity of memory, such as `512Mi`, `500M` or a number of bytes, to a whole number
/// with a unit, as `--agent-memory` requires. The units of `--agent-memory` are powers of 1,024. A
/// fraction of a KiB is rounded up, so that a load generator gets no less memory than its runner.
fn memory(quantity: &str) -> Option<String> {
    const FACTORS: [(&str, f64); 9] = [
        ("Ki", 1_024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("m", 1e-3),
    ];
    const UNITS: [(u64, &str); 3] = [(1 << 20, "Gi"), (1 << 10, "Mi"), (1, "Ki")];
    let with_unit = |(unit, factor): &(&str, f64)| Some((quantity.strip_suffix(unit)?, *factor));
    let (number, factor) = FACTORS
        .iter()
        .find_map(with_unit)
        .unwrap_or((quantity, 1.0));
    let kib = (number.parse::<f64>().ok()? * factor / 1_024.0).ceil();
    let kib = Some(kib).filter(|it| (1.0..=1e12).contains(it))? as u64;
    let whole = UNITS.iter().find(|(size, _)| kib.is_multiple_of(*size));
    whole.map(|(size, unit)| format!("{}{unit}", kib / size))
}

/// Returns the options for all runners: the largest number of agents, with the nodes and limits of
/// the first runner.
pub(super) fn words(runners: &[&Runner]) -> Vec<String> {
    let most = runners.iter().map(|it| it.parallelism).max().unwrap_or(1);
    let mut words = vec!["--agents".to_owned(), most.to_string()];
    words.extend(runners.first().map(|it| it.options()).unwrap_or_default());
    words
}

/// Describes how the TestRuns differ in properties for which a run has only one value.
pub(super) fn differences(runners: &[&Runner]) -> Vec<String> {
    let mut facts = Vec::new();
    let mut numbers: Vec<u64> = runners.iter().map(|it| it.parallelism).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if let [least, .., most] = numbers[..] {
        facts.push(format!(
            "the TestRuns have a parallelism of {least} to {most}: every scenario gets {most} agents"
        ));
    }
    let first = runners.first().map(|it| it.options());
    if runners.iter().any(|it| Some(it.options()) != first) {
        facts.push(
            "the runners have different nodes or limits: those of the first runner are used".into(),
        );
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_unit_that_run_accepts() {
        for (quantity, expected) in [
            ("536870912", Some("512Mi")),
            ("1Gi", Some("1Gi")),
            ("1536Mi", Some("1536Mi")),
            ("0.5Gi", Some("512Mi")),
            ("512M", Some("500000Ki")),
            ("500M", Some("488282Ki")),
            ("1e9", Some("976563Ki")),
            ("0", None),
            ("much", None),
            ("nan", None),
        ] {
            assert_eq!(memory(quantity).as_deref(), expected, "{quantity}");
        }
    }
}
