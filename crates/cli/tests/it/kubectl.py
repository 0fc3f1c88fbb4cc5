#!/usr/bin/env python3
"""A `kubectl` for tests, which responds as a small cluster would.

Objects are files in FAKE_CLUSTER. FAKE_BEHAVIOR selects what goes wrong. `exec` runs the program on
this machine, with a folder in FAKE_POD as the home of the pod.
"""

import json
import os
import signal
import subprocess
import sys
import time

CLUSTER = os.environ["FAKE_CLUSTER"]
BEHAVIOR = os.environ.get("FAKE_BEHAVIOR", "")
REFUSED = (
    "The connection to the server 198.18.0.10:6443 was refused - did you specify the right host or port?"
)
KINDS = {
    "pods": "Pod",
    "jobs": "Job",
    "networkpolicies": "NetworkPolicy",
    "configmaps": "ConfigMap",
    "configmap": "ConfigMap",
}


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)


def path_of(kind, name):
    return os.path.join(CLUSTER, f"{kind} {name}.json")


def stored(kind):
    for entry in sorted(os.listdir(CLUSTER)):
        if entry.startswith(f"{kind} "):
            with open(os.path.join(CLUSTER, entry)) as file:
                yield json.load(file)


def documents(text):
    return [json.loads(part) for part in text.split("\n---\n")]


def review(asked):
    attributes = asked["spec"]["resourceAttributes"]
    is_exec = attributes["subresource"] == "exec"
    asked["status"] = {"allowed": not (BEHAVIOR == "no-exec" and is_exec)}
    return asked


def status_of_pod():
    if BEHAVIOR == "unschedulable":
        said = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available."
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        return {"phase": "Pending", "conditions": [{**condition, "message": said}]}
    if BEHAVIOR == "no-image":
        waiting = {"reason": "ErrImagePull", "message": "pull access denied, repository does not exist"}
        return {"phase": "Pending", "containerStatuses": [{"state": {"waiting": waiting}}]}
    if BEHAVIOR == "slow":
        return {"phase": "Pending", "conditions": []}
    return {"phase": "Running", "podIP": "127.0.0.1"}


def create():
    created = []
    for made in documents(sys.stdin.read()):
        kind = made["kind"]
        if kind == "SelfSubjectAccessReview":
            created.append(review(made))
            continue
        if BEHAVIOR == "forbidden" and kind == "Pod":
            fail(
                'Error from server (Forbidden): pods is forbidden: User "u" cannot create resource "pods" '
                'in API group "" in the namespace "gb"'
            )
        made["metadata"]["uid"] = f"uid-of-{made['metadata']['name']}"
        for pod in pods_of(made) if kind == "Job" else [made] if kind == "Pod" else []:
            if BEHAVIOR != "unschedulable":
                pod["spec"]["nodeName"] = node_of(pod)
            pod["status"] = status_of_pod()
            if kind == "Job":
                store(pod)
        store(made)
        created.append(made)
    print("\n".join(json.dumps(made) for made in created))


def store(made):
    with open(path_of(made["kind"], made["metadata"]["name"]), "w") as file:
        json.dump(made, file)


INDEX = "batch.kubernetes.io/job-completion-index"


def pods_of(job):
    """The pods that the cluster creates for a Job."""
    template = job["spec"]["template"]
    for index in range(job["spec"]["completions"]):
        metadata = {
            "name": f"{job['metadata']['name']}-{index}-abcde",
            "labels": template["metadata"]["labels"],
            "annotations": {INDEX: str(index)},
            "ownerReferences": job["metadata"]["ownerReferences"],
        }
        yield {"kind": "Pod", "metadata": metadata, "spec": dict(template["spec"])}


def node_of(pod):
    role = pod["metadata"]["labels"]["gatebench/role"]
    index = pod["metadata"].get("annotations", {}).get(INDEX, "0")
    return f"node{ {'upstream': 1, 'gateway': 2}.get(role, 3 + int(index)) }"


def has_labels(item, selector):
    labels = item["metadata"].get("labels", {})
    for word in selector.split(","):
        key, _, value = word.partition("=")
        if key not in labels or (value and labels[key] != value):
            return False
    return True


def node(number):
    conditions = [{"type": "Ready", "status": "True"}]
    allocatable = {"cpu": "2", "memory": "8000000Ki"}
    info = {"containerRuntimeVersion": "containerd://1.6.20", "kernelVersion": "6.1", "architecture": "amd64"}
    status = {"allocatable": allocatable, "conditions": conditions, "nodeInfo": info}
    return {"metadata": {"name": f"node{number}", "labels": {}}, "spec": {}, "status": status}


def get(words):
    kind = words[1]
    if kind == "namespace":
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        print(json.dumps({"metadata": {"name": words[2], "labels": labels}}))
    elif kind == "nodes":
        print(json.dumps({"items": [node(number) for number in (1, 2, 3)]}))
    else:
        selector = next(word.partition("=")[2] for word in words if word.startswith("--selector="))
        items = [item for item in stored(KINDS[kind]) if has_labels(item, selector)]
        print(json.dumps({"items": items}))


def remove(kind, name):
    if os.path.exists(path_of(kind, name)):
        os.remove(path_of(kind, name))
    if kind == "Pod":
        end_processes(os.path.join(os.environ["FAKE_POD"], name))


def end_processes(pod):
    """Kills the processes of a pod, as the cluster would."""
    mark = f"TMPDIR={pod}".encode()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    os.kill(int(process), signal.SIGKILL)
        except OSError:
            pass  # The process has ended, or it belongs to another user.


def delete(words):
    names = [word for word in words[1:] if not word.startswith("--")]
    if "/" not in names[0]:
        names = [f"{names[0]}/{name}" for name in names[1:]]
    for word in names:
        kind, name = word.split("/")
        remove(KINDS[kind], name)
        # The cluster also deletes the objects that this object owns.
        for entry in sorted(os.listdir(CLUSTER)):
            if not entry.endswith(".json"):
                continue
            with open(os.path.join(CLUSTER, entry)) as file:
                item = json.load(file)
            owners = item["metadata"].get("ownerReferences", [])
            if any(owner["name"] == name for owner in owners):
                remove(item["kind"], item["metadata"]["name"])


def execute(words):
    if BEHAVIOR == "exec-ends":
        # As in kubernetes#124571: the stream ends early, with exit code 0.
        sys.exit(0)
    shared = os.environ["FAKE_POD"]
    pod = os.path.join(shared, words[words.index("--container") - 1])
    os.makedirs(pod, exist_ok=True)
    node = next(node_of(it) for it in stored("Pod") if it["metadata"]["name"] == os.path.basename(pod))
    # All pods share a cache, so the program is sent only once.
    extra = {"POD_IP": "127.0.0.1", "NODE_NAME": node, "XDG_CACHE_HOME": shared, "TMPDIR": pod, "HOME": pod}
    command = words[words.index("--") + 1 :]
    environment = {**os.environ, **extra}
    if not BEHAVIOR.startswith("line-"):
        sys.exit(subprocess.call(command, env=environment))
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    carry(child, is_first=not os.path.exists(os.path.join(CLUSTER, "carried")))
    child.kill()
    sys.exit(0)


def carry(child, is_first):
    """Copies the output of a program, with the fault that FAKE_BEHAVIOR names."""
    for line in child.stdout:
        is_line = line.startswith(b"L ")
        if is_line and is_first and BEHAVIOR in ("line-cut", "line-stall"):
            open(os.path.join(CLUSTER, "carried"), "w").close()
            # Sends half of a line, and then either stalls or ends with exit code 0.
            sys.stdout.buffer.write(line[: len(line) // 2])
            sys.stdout.flush()
            if BEHAVIOR == "line-stall":
                time.sleep(120)
            return
        sys.stdout.buffer.write(line * 2 if is_line and BEHAVIOR == "line-repeat" else line)
        sys.stdout.flush()


def main():
    words = sys.argv[1:]
    with open(os.path.join(CLUSTER, "requests.log"), "a") as log:
        log.write(" ".join(words).splitlines()[0] + "\n")
    if BEHAVIOR == "unreachable":
        fail(REFUSED)
    while words[0].startswith("--"):
        words = words[1:] if "=" in words[0] else words[2:]
    verb = words[0]
    if verb == "version":
        versions = {"clientVersion": ("v1.34.1", "34"), "serverVersion": ("v1.34.4", "34")}
        print(json.dumps({key: {"gitVersion": it[0], "minor": it[1]} for key, it in versions.items()}))
    elif verb == "create":
        create()
    elif verb == "get":
        get(words)
    elif verb == "delete":
        delete(words)
    elif verb == "exec":
        execute(words)
    else:
        fail(f"error: unknown command {verb}")


main()
