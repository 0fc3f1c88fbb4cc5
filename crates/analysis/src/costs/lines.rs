//! Which scenarios are told beside which plain proxy.

use gatebench_model::{Plan, Policy, Request, Scenario};

use crate::findings::CostRole;

/// A scenario in its place.
pub(super) struct Placed {
    pub(super) scenario: String,
    pub(super) role: CostRole,
    pub(super) policies: Vec<String>,
}

impl Placed {
    fn of(scenario: &Scenario, role: CostRole) -> Self {
        let mut policies: Vec<String> = Vec::new();
        for policy in scenario.routes.iter().flat_map(|route| &route.policies) {
            if !policies.iter().any(|known| known == policy.kind()) {
                policies.push(policy.kind().to_owned());
            }
        }
        // The access log, TLS and HTTP/2 cost something too; parts of policies are told by their policy.
        for need in scenario.needs() {
            let told = need.contains('.') || policies.iter().any(|known| known == need);
            if !told {
                policies.push(need.to_owned());
            }
        }
        Self {
            scenario: scenario.scenario.clone(),
            role,
            policies,
        }
    }

    /// The scenario that sends the same requests without policies.
    pub(super) fn baseline(&self) -> Option<&str> {
        match &self.role {
            CostRole::Policy { baseline } => Some(baseline),
            CostRole::Answers | CostRole::Plain | CostRole::Alone => None,
        }
    }
}

/// The lines of every gateway; none where no policy has a plain proxy beside it.
pub(super) fn of_plan(plan: &Plan) -> Option<Vec<Placed>> {
    let (answering, others): (Vec<&Scenario>, Vec<&Scenario>) =
        plan.scenarios.iter().partition(|it| answers(it));
    let (plain, with): (Vec<&Scenario>, Vec<&Scenario>) =
        others.into_iter().partition(|it| it.needs().is_empty());
    let mut lines: Vec<Placed> = answering
        .into_iter()
        .map(|scenario| Placed::of(scenario, CostRole::Answers))
        .collect();
    let (mut any, mut alone) = (false, Vec::new());
    let baseline = |scenario: &Scenario| beside(scenario, &plain).map(|it| &it.scenario);
    for base in &plain {
        let own = |it: &&&Scenario| baseline(it) == Some(&base.scenario);
        let mut policies = with.iter().filter(own).peekable();
        if policies.peek().is_some() {
            any = true;
            lines.push(Placed::of(base, CostRole::Plain));
        }
        lines.extend(policies.map(|scenario| {
            let baseline = base.scenario.clone();
            Placed::of(scenario, CostRole::Policy { baseline })
        }));
    }
    let lonely = with.iter().filter(|scenario| baseline(scenario).is_none());
    alone.extend(lonely.map(|scenario| Placed::of(scenario, CostRole::Alone)));
    lines.extend(alone);
    any.then_some(lines)
}

/// Whether the gateway answers all requests by itself, without having to be asked for it.
fn answers(scenario: &Scenario) -> bool {
    let mocked = |request: &Request| {
        let route = scenario.route_of(&request.path);
        route.is_some_and(|route| {
            let mut policies = route.policies.iter();
            policies.any(|policy| matches!(policy, Policy::Mock(_)))
        })
    };
    scenario.load_requests().all(mocked)
}

/// The plain scenario that sends the same requests: the one with the fewest routes, the first of those.
fn beside<'a>(scenario: &Scenario, plain: &[&'a Scenario]) -> Option<&'a Scenario> {
    let same = plain.iter().filter(|base| same_work(scenario, base));
    same.min_by_key(|base| base.routes.len()).copied()
}

/// Whether two scenarios have the same requests for the same upstream. Headers may differ: a key or a
/// token is what a policy asks of its callers, and part of what it costs.
fn same_work(a: &Scenario, b: &Scenario) -> bool {
    let work = |scenario: &Scenario| -> Vec<(f64, String, String, Option<Vec<u8>>)> {
        let requests = scenario.load_requests().map(|request| {
            let body = request.body.as_ref().map(|body| body.bytes().to_vec());
            (
                request.weight,
                request.method.clone(),
                request.path.clone(),
                body,
            )
        });
        requests.collect()
    };
    a.upstream == b.upstream && a.groups.len() == b.groups.len() && work(a) == work(b)
}
