//! The gateways that a cell compares with the reference gateway, and whether each implements a
//! policy natively or by a script. gatebench reads both from their folders.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::cells::{Cell, OURS, Peers};
use crate::programs::Programs;

/// The gateways of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// The names of the gateways, beginning with the reference gateway.
    pub gateways: Vec<String>,
    /// For each scenario, the gateways that implement at least one of its policies by a script.
    scripted: BTreeMap<String, Vec<String>>,
}

impl Chosen {
    pub fn of(cell: &Cell, programs: &Programs) -> Result<Self, String> {
        let named = match cell.peers {
            Peers::Named(names) => Some(names.iter().map(|name| (*name).to_owned()).collect()),
            Peers::WithAPolicy => None,
        };
        let listed = asked(programs, &["list", "gateways", "--json"])?;
        let mut words = vec!["run", "--dry-run", "--json", "--gateway", OURS];
        for scenario in cell.all() {
            words.extend(["--scenario", scenario]);
        }
        Ok(choose(named, &listed, &asked(programs, &words)?))
    }

    #[cfg(test)]
    pub fn named(peers: &[&str]) -> Self {
        let all = std::iter::once(&OURS).chain(peers);
        Self {
            gateways: all.map(|name| (*name).to_owned()).collect(),
            scripted: BTreeMap::new(),
        }
    }

    pub fn is_by_script(&self, scenario: &str, gateway: &str) -> bool {
        let gateways = self.scripted.get(scenario);
        gateways.is_some_and(|all| all.iter().any(|one| one == gateway))
    }
}

/// Returns the reference gateway, followed by the gateways with these names or, if `named` is
/// `None`, by all installed gateways that have a policy of the plan's scenarios.
fn choose(named: Option<Vec<String>>, listed: &Value, plan: &Value) -> Chosen {
    let empty = Vec::new();
    let folders = listed["gateways"].as_array().unwrap_or(&empty);
    let scenarios = plan["scenarios"].as_array().unwrap_or(&empty);
    let means =
        |folder: &Value, policy: &str| folder["policies"][policy].as_str().map(String::from);
    let mut chosen = Chosen {
        gateways: vec![OURS.to_owned()],
        scripted: BTreeMap::new(),
    };
    for folder in folders {
        let name = folder["name"].as_str().unwrap_or_default();
        let mut policies = scenarios.iter().flat_map(policies);
        let is_chosen = match &named {
            Some(names) => names.iter().any(|one| one == name),
            None => folder["found"] == true && policies.any(|it| means(folder, &it).is_some()),
        };
        if name == OURS || !is_chosen {
            continue;
        }
        chosen.gateways.push(name.to_owned());
        for scenario in scenarios {
            if policies_by_script(scenario, |policy| means(folder, policy)) {
                let title = scenario["scenario"].as_str().unwrap_or_default();
                let by_script = chosen.scripted.entry(title.to_owned()).or_default();
                by_script.push(name.to_owned());
            }
        }
    }
    chosen
}

fn policies_by_script(scenario: &Value, means: impl Fn(&str) -> Option<String>) -> bool {
    policies(scenario).any(|policy| means(&policy).is_some_and(|it| it == "script"))
}

/// Returns the names of a scenario's policies, possibly with duplicates.
fn policies(scenario: &Value) -> impl Iterator<Item = String> {
    let routes = scenario["routes"].as_array().into_iter().flatten();
    let policies = routes.flat_map(|route| route["policies"].as_array().into_iter().flatten());
    policies.filter_map(|policy| policy.as_object()?.keys().next().cloned())
}

fn asked(programs: &Programs, words: &[&str]) -> Result<Value, String> {
    let output = Command::new(&programs.gatebench)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("gatebench cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).map_err(|_| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!(
            "gatebench {} printed no JSON: {}",
            words.join(" "),
            errors.trim()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listed() -> Value {
        json!({"gateways": [
            {"name": "a", "found": true, "policies": {"jwt": "native"}},
            {"name": "b", "found": true, "policies": {"jwt": "script", "mock": "native"}},
            {"name": "c", "found": true, "policies": {"mock": "native"}},
            {"name": "d", "found": false, "policies": {"jwt": "native"}},
            {"name": OURS, "found": true, "policies": {"jwt": "native"}},
        ]})
    }

    fn plan() -> Value {
        json!({"scenarios": [
            {"scenario": "plain", "routes": [{"name": "all"}]},
            {"scenario": "tokens", "routes": [{"policies": [{"jwt": {"keys": []}}]}]},
        ]})
    }

    #[test]
    fn installed_gateways_with_the_policy_are_chosen() {
        let chosen = choose(None, &listed(), &plan());
        assert_eq!(chosen.gateways, [OURS, "a", "b"]);
        assert!(chosen.is_by_script("tokens", "b"));
        assert!(!chosen.is_by_script("tokens", "a") && !chosen.is_by_script("plain", "b"));
    }

    #[test]
    fn named_gateways_are_chosen_even_if_they_are_not_installed() {
        let chosen = choose(Some(vec!["d".into()]), &listed(), &plan());
        assert_eq!(chosen.gateways, [OURS, "d"]);
    }
}
