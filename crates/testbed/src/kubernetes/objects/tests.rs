use std::collections::BTreeSet;

use gatebench_model::NodeChoice;

use super::*;

fn cluster() -> Cluster {
    let settings = |image: &str, node: &str| PodSettings {
        image: image.into(),
        node: node.parse().unwrap_or_else(|_| NodeChoice::default()),
        ..PodSettings::default()
    };
    Cluster {
        namespace: "gb".parse().unwrap(),
        agents: 2,
        upstreams: 1,
        gateway: settings("", "tier=gateway,dedicated=bench:NoSchedule"),
        upstream: settings("agent:1", ""),
        engine: settings("agent:1", ""),
        redis: settings("redis:1", ""),
        seccomp_profile: None,
        schedule_seconds: 20,
        alone_seconds: 600,
    }
}

fn size(cpu_millis: u32, mib: u64) -> Limits {
    Limits {
        cpu_millis: Some(cpu_millis),
        memory_bytes: Some(mib << 20),
    }
}

fn nginx(size: Limits) -> GatewayPod {
    GatewayPod {
        gateway: "nginx".into(),
        version: None,
        image: "nginx:1".into(),
        size,
        is_gatebench: false,
    }
}

fn demand<'a>(cluster: &'a Cluster, gateways: &'a [GatewayPod]) -> Demand<'a> {
    Demand {
        cluster,
        run: "x1",
        title: "a run",
        gateways,
        is_attached: false,
        needs_redis: true,
        may_omit_sizes: false,
        deadline_seconds: 900,
    }
}

#[test]
fn several_upstreams_have_separate_pods_and_nodes() {
    let cluster = Cluster {
        upstreams: 2,
        ..cluster()
    };
    let demand = demand(&cluster, &[]);
    let pods = demand.of_role(Role::Upstream, None);
    let names = Vec::from_iter(pods.iter().map(|it| &it["metadata"]["name"]));
    assert_eq!(names, ["gb-x1-upstream-0", "gb-x1-upstream-1"]);
    assert_eq!(demand.count(Role::Upstream), 2);
    assert!(Role::Upstream.apart_from().contains(&UPSTREAM));
}

#[test]
fn every_object_belongs_to_the_run_and_is_owned_by_its_anchor() {
    let cluster = cluster();
    let gateways = [nginx(Limits::default())];
    let demand = demand(&cluster, &gateways);
    let anchor = Anchor { uid: "u-1".into() };
    let mut owned = vec![demand.network_policy(Some(&anchor))];
    let of = |role: &Role| demand.of_role(*role, Some(&anchor));
    owned.extend(Role::ALL.iter().flat_map(of));
    assert_eq!(owned.len(), 5);
    let mut names = BTreeSet::new();
    for object in &owned {
        let metadata = &object["metadata"];
        let owner = &metadata["ownerReferences"][0];
        assert_eq!(
            (&owner["name"], &owner["uid"]),
            (&json!("gb-x1"), &json!("u-1"))
        );
        assert_eq!(metadata["labels"][RUN], "x1");
        assert_eq!(metadata["namespace"], "gb");
        let kind_and_name = format!("{} {}", object["kind"], metadata["name"]);
        assert!(names.insert(kind_and_name), "{object}");
    }
    // Before the run, the UID of the anchor is not known.
    for object in demand.objects() {
        assert!(object["metadata"]["ownerReferences"].is_null(), "{object}");
    }
}

#[test]
fn pods_satisfy_restricted_and_have_no_token() {
    let cluster = cluster();
    let gateways = [nginx(Limits::default())];
    for object in demand(&cluster, &gateways).objects() {
        let spec = match object["kind"].as_str() {
            Some("Pod") => &object["spec"],
            Some("Job") => &object["spec"]["template"]["spec"],
            _ => continue,
        };
        assert_eq!(spec["automountServiceAccountToken"], false);
        assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
        let profile = &spec["securityContext"]["seccompProfile"];
        assert_eq!(profile["type"], "RuntimeDefault");
        let container = &spec["containers"][0]["securityContext"];
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    }
}

#[test]
fn each_size_is_a_pod_with_equal_requests_and_limits_on_the_same_node() {
    let cluster = cluster();
    let sizes = [size(500, 512), size(4_000, 3_072), size(16_000, 3_072)].map(nginx);
    let pods = demand(&cluster, &sizes).of_role(Role::Gateway, None);
    let names: Vec<&str> = pods
        .iter()
        .filter_map(|it| it["metadata"]["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "gb-x1-gateway-nginx-0-5-cpu-512-mib",
            "gb-x1-gateway-nginx-4-cpu-3-gib",
            "gb-x1-gateway-nginx-16-cpu-3-gib"
        ]
    );
    let expected = ["500m", "4", "16"];
    for (pod, cpu) in pods.iter().zip(expected) {
        let resources = &pod["spec"]["containers"][0]["resources"];
        assert_eq!(resources["requests"], resources["limits"]);
        assert_eq!(resources["limits"]["cpu"], cpu);
        let spec = &pod["spec"];
        assert_eq!(spec["nodeSelector"]["tier"], "gateway");
        assert_eq!(spec["tolerations"][0]["operator"], "Equal");
        assert!(spec["affinity"]["podAffinity"].is_object());
    }
}

#[test]
fn an_engine_has_a_request_and_no_cpu_limit_unless_the_user_sets_one() {
    let mut cluster = cluster();
    let resources = |cluster: &Cluster| {
        let job = demand(cluster, &[]).of_role(Role::Engine, None).remove(0);
        assert_eq!(job["spec"]["completions"], 2);
        job["spec"]["template"]["spec"]["containers"][0]["resources"].clone()
    };
    assert!(resources(&cluster)["limits"].is_null());
    cluster.engine.limits.cpu_millis = Some(100);
    assert_eq!(resources(&cluster)["limits"]["cpu"], "100m");
}

#[test]
fn only_what_the_run_needs_is_created() {
    let cluster = cluster();
    let mut demand = demand(&cluster, &[]);
    assert_eq!(demand.of_role(Role::Redis, None).len(), 1);
    demand.needs_redis = false;
    demand.is_attached = true;
    assert!(demand.of_role(Role::Redis, None).is_empty());
    assert_eq!(demand.count(Role::Gateway), 0);
    assert_eq!(demand.count(Role::Upstream), 1, "for the direct variant");
    assert_eq!(demand.count(Role::Engine), 2);
}
