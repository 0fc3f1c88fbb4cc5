//! Turns error messages of `kubectl` and states of pods into errors with remedies.

use gatebench_model::Namespace;
use serde_json::Value as Json;

use crate::error::RemoteError;
use crate::process::last_lines;

/// Parts of kubectl's messages, each with a remedy whose placeholders [`filled`] replaces. The
/// first match is used.
const REMEDIES: [(&str, &str); 18] = [
    (
        "executable file not found",
        "install the program that the message names; kubectl's configuration uses it as a credential plug-in",
    ),
    (
        "context was not found",
        "choose one of the contexts that `kubectl config get-contexts` lists: --kubernetes CONTEXT/NAMESPACE",
    ),
    (
        "does not exist",
        "choose one of the contexts that `kubectl config get-contexts` lists: --kubernetes CONTEXT/NAMESPACE",
    ),
    (
        "no configuration has been provided",
        "name the cluster's configuration: KUBECONFIG=FILE",
    ),
    (
        "You must be logged in",
        "log in to the cluster again, and make sure that `KUBECTL get pods` works",
    ),
    (
        "Unauthorized",
        "log in to the cluster again, and make sure that `KUBECTL get pods` works",
    ),
    (
        "certificate",
        "make sure that kubectl's configuration belongs to this cluster, and that `KUBECTL get pods` works",
    ),
    (
        "violates PodSecurity",
        "choose another namespace, or have the namespace enforce a less strict level than the one that the message names",
    ),
    (
        "exceeded quota",
        "choose smaller sizes or fewer agents, or ask for a larger quota; `KUBECTL describe quota` shows the quota",
    ),
    (
        "minimum cpu usage per Container",
        "choose sizes that the namespace allows; `KUBECTL describe limitrange` shows them",
    ),
    (
        "is forbidden: maximum",
        "choose sizes that the namespace allows; `KUBECTL describe limitrange` shows them",
    ),
    (
        "cannot ",
        "ask an administrator for the Role that `gatebench kubernetes check NAMESPACE` prints",
    ),
    (
        "Forbidden",
        "ask an administrator for the Role that `gatebench kubernetes check NAMESPACE` prints",
    ),
    (
        "namespaces \"",
        "create the namespace, or choose one that `kubectl get namespaces` lists",
    ),
    (
        "Unable to connect to the server",
        "make sure that the cluster is up and can be reached; `KUBECTL get pods` must succeed",
    ),
    (
        "was refused",
        "make sure that the cluster is up and can be reached; `KUBECTL get pods` must succeed",
    ),
    (
        "connection to the server",
        "make sure that the cluster is up and can be reached; `KUBECTL get pods` must succeed",
    ),
    (
        "NotFound",
        "run `KUBECTL get all` to see what is left, and start the run again",
    ),
];

/// Parts of the scheduler's messages, each with a remedy; the first match is used.
const NODE_REMEDIES: [(&str, &str); 6] = [
    (
        "anti-affinity",
        "use more nodes, fewer agents or fewer upstreams (the gateway, each upstream and each agent need separate nodes), or smaller sizes; `gatebench kubernetes check NAMESPACE` lists the nodes",
    ),
    (
        "Insufficient cpu",
        "choose a smaller size (--gateway-cpus, --agent-cpus), measure one size at a time, or use larger nodes; `gatebench kubernetes check NAMESPACE` lists the nodes",
    ),
    (
        "Insufficient memory",
        "choose a smaller size (--gateway-memory), measure one size at a time, or use larger nodes; `gatebench kubernetes check NAMESPACE` lists the nodes",
    ),
    (
        "untolerated taint",
        "name the taint that the message mentions, as in --ROLE-node KEY=VALUE:NoSchedule, or use other nodes",
    ),
    (
        "node affinity/selector",
        "choose labels that a node has (--ROLE-node KEY=VALUE); `kubectl get nodes --show-labels` lists them",
    ),
    (
        "nodes are available",
        "use other nodes (--ROLE-node); `gatebench kubernetes check NAMESPACE` lists the nodes",
    ),
];

/// The values of `state.waiting.reason` that count as failures, each with a remedy.
const WAITING: [(&str, &str); 7] = [
    (
        "ErrImagePull",
        "correct the name of the image (--IMAGE), or let the nodes pull the image; an image that `gatebench kubernetes image` wrote must be imported on every node",
    ),
    (
        "ImagePullBackOff",
        "correct the name of the image (--IMAGE), or let the nodes pull the image; an image that `gatebench kubernetes image` wrote must be imported on every node",
    ),
    (
        "ErrImageNeverPull",
        "correct the name of the image (--IMAGE); an image that `gatebench kubernetes image` wrote must be imported on every node",
    ),
    (
        "InvalidImageName",
        "correct the name of the image (--IMAGE)",
    ),
    (
        "CreateContainerConfigError",
        "fix the problem that the message names; `KUBECTL get events` shows more",
    ),
    (
        "CreateContainerError",
        "use a Linux image that contains `sh` (--IMAGE); `KUBECTL get events` shows more",
    ),
    (
        "RunContainerError",
        "use a Linux image that contains `sh` (--IMAGE); `KUBECTL get events` shows more",
    ),
];

/// Returns the error for a kubectl that failed with this output on standard error.
pub(super) fn of(namespace: &Namespace, what: &str, stderr: &str) -> RemoteError {
    let lines = stderr.lines().filter(|line| !is_log(line));
    let said = last_lines(&Vec::from_iter(lines).join("\n"));
    let separator = if said.is_empty() { "" } else { ": " };
    let remedy = remedy(&REMEDIES, &said).unwrap_or("make sure that `KUBECTL get pods` works");
    let message = format!("{what}{separator}{said}");
    RemoteError::environment(message, filled(remedy, namespace, ""))
}

/// Reports whether a line, such as `E1127 20:12:43.695556 …`, is from kubectl's own log (klog),
/// which only repeats kubectl's error message.
fn is_log(line: &str) -> bool {
    let mut parts = line.split(' ');
    let first = parts.next().unwrap_or_default();
    let is_number = |text: &str| text.len() == 4 && text.bytes().all(|it| it.is_ascii_digit());
    first.strip_prefix(['E', 'W', 'I']).is_some_and(is_number)
}

pub(super) fn of_no_node(namespace: &Namespace, role: &str, said: &str) -> RemoteError {
    let remedy = remedy(&NODE_REMEDIES, said).unwrap_or("use other nodes (--ROLE-node)");
    let message = format!("no node can run {}: {said}", pod_of(role));
    RemoteError::environment(message, filled(remedy, namespace, role))
}

/// Returns the error for a pod whose container cannot start; none if the container may still start.
pub(super) fn of_waiting(namespace: &Namespace, role: &str, waiting: &Json) -> Option<RemoteError> {
    let text = |key: &str| waiting[key].as_str().unwrap_or_default();
    let (reason, said) = (text("reason"), text("message"));
    let (_, remedy) = WAITING.iter().find(|(known, _)| *known == reason)?;
    let message = format!("{} does not start: {reason}: {said}", pod_of(role));
    Some(RemoteError::environment(
        message,
        filled(remedy, namespace, role),
    ))
}

fn remedy(known: &[(&str, &'static str)], said: &str) -> Option<&'static str> {
    let found = known.iter().find(|(words, _)| said.contains(words));
    found.map(|(_, remedy)| *remedy)
}

/// Returns a noun phrase for a pod of a role, for use in error messages. The role `container` is
/// the container that gatebench adds to a user's pod.
pub(super) fn pod_of(role: &str) -> String {
    match role {
        "redis" => "the pod of Redis".into(),
        "engine" => "the pod of an agent".into(),
        "container" => "the added container".into(),
        role => format!("the pod of the {role}"),
    }
}

pub(super) fn pods_of(role: &str) -> String {
    match role {
        "redis" => "the pods of Redis".into(),
        "engine" => "the pods of the agents".into(),
        role => format!("the pods of the {role}"),
    }
}

/// Replaces `KUBECTL` with kubectl, its context and its namespace, `ROLE` with the role's name in
/// options, and `IMAGE` with the option for the role's image. `NAMESPACE`, except in
/// `CONTEXT/NAMESPACE`, becomes the namespace as the user wrote it.
fn filled(remedy: &str, namespace: &Namespace, role: &str) -> String {
    // `--upstream-node` also selects the node of Redis.
    let (role, image) = match role {
        "gateway" => ("gateway", "image"),
        "redis" => ("upstream", "redis-image"),
        "engine" => ("agent", "agent-image"),
        role => (role, "agent-image"),
    };
    let context = namespace.context.as_ref();
    let context = context.map(|it| format!(" --context {it}"));
    let kubectl = format!(
        "kubectl{} -n {}",
        context.unwrap_or_default(),
        namespace.name
    );
    remedy
        .replace("CONTEXT/NAMESPACE", "CONTEXT/\u{0}")
        .replace("NAMESPACE", &namespace.to_string())
        .replace('\u{0}', "NAMESPACE")
        .replace("KUBECTL", &kubectl)
        .replace("ROLE", role)
        .replace("IMAGE", image)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn namespace() -> Namespace {
        "prod/gb".parse().unwrap()
    }

    #[test]
    fn a_missing_right_and_a_missing_context_have_different_remedies() {
        let remedy = |said| of(&namespace(), "cannot create pods", said).remedy;
        let refused = "Error from server (Forbidden): pods is forbidden: User \"u\" cannot create \
                       resource \"pods\" in API group \"\" in the namespace \"gb\"";
        assert!(remedy(refused).contains("`gatebench kubernetes check prod/gb`"));
        let logged = format!("E1127 20:12:43.6 1 memcache.go:381] \"Unhandled\"\n{refused}");
        assert!(
            !of(&namespace(), "cannot", &logged)
                .message
                .contains("memcache")
        );
        let context = "error: context \"x\" does not exist";
        assert!(remedy(context).ends_with("--kubernetes CONTEXT/NAMESPACE"));
        let down = "The connection to the server 10.0.0.1:6443 was refused - did you specify ...";
        assert!(remedy(down).contains("`kubectl --context prod -n gb get pods`"));
        assert_eq!(
            remedy(""),
            "make sure that `kubectl --context prod -n gb get pods` works"
        );
    }

    #[test]
    fn the_words_of_the_scheduler_select_the_remedy() {
        let said = "0/3 nodes are available: 3 Insufficient cpu. preemption: ...";
        let error = of_no_node(&namespace(), "gateway", said);
        assert!(error.message.ends_with(said), "{}", error.message);
        assert!(error.remedy.starts_with("choose a smaller size"));
        let taint = "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.";
        let error = of_no_node(&namespace(), "engine", taint);
        assert!(error.remedy.contains("--agent-node KEY=VALUE:NoSchedule"));
        let error = of_no_node(&namespace(), "redis", taint);
        assert!(
            error
                .remedy
                .contains("--upstream-node KEY=VALUE:NoSchedule")
        );
    }

    #[test]
    fn a_container_that_is_being_created_may_still_start() {
        let creating = json!({ "reason": "ContainerCreating", "message": "why" });
        assert!(of_waiting(&namespace(), "upstream", &creating).is_none());
        let waiting = json!({ "reason": "ErrImagePull", "message": "why" });
        let error = of_waiting(&namespace(), "upstream", &waiting).unwrap();
        assert_eq!(
            error.message,
            "the pod of the upstream does not start: ErrImagePull: why"
        );
        assert!(error.remedy.contains("--agent-image"), "{}", error.remedy);
        let added = of_waiting(&namespace(), "container", &waiting).unwrap();
        let message = "the added container does not start: ErrImagePull: why";
        assert_eq!(added.message, message);
    }
}
