//! Lists the rights that gatebench uses in a namespace, as a Role, and checks which of them the
//! user has.

use gatebench_model::Namespace;
use serde_json::{Value as Json, json};

use super::kubectl::Kubectl;
use super::objects::MANAGED;
use crate::error::DriverError;

/// The rights to one kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    group: &'static str,
    /// The kind of object, `KIND` or `KIND/SUBRESOURCE`.
    resource: &'static str,
    verbs: &'static [&'static str],
    /// The consequence if the rights are missing; empty if no run is then possible.
    without: &'static str,
}

const NEEDED: &str = "";

/// The rights that gatebench uses in a namespace; none concerns Secrets. If the user may also list
/// the nodes, which belong to no namespace, reports describe them.
const RULES: [Rule; 7] = [
    Rule {
        group: "",
        resource: "pods",
        verbs: &["create", "get", "list", "watch", "delete"],
        without: NEEDED,
    },
    Rule {
        group: "",
        resource: "pods/exec",
        // From Kubernetes 1.35 on, `create` is required where `get` was enough before.
        verbs: &["create", "get"],
        without: NEEDED,
    },
    Rule {
        group: "batch",
        resource: "jobs",
        verbs: &["create", "get", "list", "watch", "delete"],
        without: NEEDED,
    },
    Rule {
        group: "",
        resource: "configmaps",
        verbs: &["create", "get", "delete"],
        without: NEEDED,
    },
    Rule {
        group: "",
        resource: "configmaps",
        verbs: &["list"],
        without: "`gatebench kubernetes clean` overlooks a run that left only its ConfigMap",
    },
    Rule {
        group: "networking.k8s.io",
        resource: "networkpolicies",
        verbs: &["create", "list", "delete"],
        without: "the pods of a run can open connections to any address",
    },
    Rule {
        group: "",
        resource: "pods/ephemeralcontainers",
        verbs: &["get", "patch"],
        without: "runs with --attach-pod are not possible",
    },
];

/// A right, and whether the user has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// The verb and the kind of object, such as `create pods/exec`.
    pub name: String,
    pub is_granted: bool,
    /// The consequence if the right is missing; empty if no run is then possible.
    pub without: &'static str,
}

pub(super) fn of(kubectl: &Kubectl) -> Result<Vec<Right>, DriverError> {
    let all: Vec<(Rule, &str)> = RULES
        .iter()
        .flat_map(|rule| rule.verbs.iter().map(move |verb| (*rule, *verb)))
        .collect();
    let namespace = kubectl.namespace();
    let reviews = all.iter().map(|(rule, verb)| review(rule, verb, namespace));
    // The API server responds to a review, but stores nothing.
    let reviews = kubectl.create("reviews of your rights", &Vec::from_iter(reviews))?;
    let right = |((rule, verb), review): (&(Rule, &str), &Json)| Right {
        name: format!("{verb} {}", rule.resource),
        is_granted: review["status"]["allowed"] == true,
        without: rule.without,
    };
    Ok(all.iter().zip(&reviews).map(right).collect())
}

fn review(rule: &Rule, verb: &str, namespace: &Namespace) -> Json {
    let (resource, sub) = rule.resource.split_once('/').unwrap_or((rule.resource, ""));
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "namespace": namespace.name,
            "verb": verb,
            "group": rule.group,
            "resource": resource,
            "subresource": sub,
        }},
    })
}

/// Returns a Role that grants all rights that gatebench uses in a namespace.
pub fn role(namespace: &Namespace) -> Json {
    let (managed, by) = MANAGED;
    let rule = |rule: &Rule| {
        json!({
            "apiGroups": [rule.group],
            "resources": [rule.resource],
            "verbs": rule.verbs,
        })
    };
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {
            "name": "gatebench",
            "namespace": namespace.name,
            "labels": { managed: by },
        },
        "rules": RULES.iter().map(rule).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_has_no_right_outside_the_run() {
        let role = role(&"gb".parse().unwrap());
        let text = role.to_string();
        assert_eq!(role["metadata"]["namespace"], "gb");
        for absent in ["secrets", "nodes", "*", "update", "deletecollection"] {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
        let review = review(&RULES[1], "create", &"gb".parse().unwrap());
        let asked = &review["spec"]["resourceAttributes"];
        assert_eq!(
            (&asked["resource"], &asked["subresource"]),
            (&json!("pods"), &json!("exec"))
        );
    }
}
