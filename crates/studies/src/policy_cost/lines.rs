//! The scenarios in the table of costs, each with its plain proxy.

use gatebench_model::{Plan, Policy, Request, Scenario};
use gatebench_report::format::distinct;

use super::facts::{CostLine, CostRole};
use crate::common::facts::RowStatus;

/// The line of a scenario before it is measured.
fn line(scenario: &Scenario, role: CostRole) -> CostLine {
    let policies = scenario.routes.iter().flat_map(|route| &route.policies);
    let mut policies = distinct(policies.map(|policy| policy.kind().to_owned()));
    // Needs such as the access log, TLS and HTTP/2 are not policies, but have a cost. A need whose
    // name contains a dot belongs to a policy that is already in the list.
    for need in scenario.needs() {
        let is_named = need.contains('.') || policies.iter().any(|known| known == need);
        if !is_named {
            policies.push(need.to_owned());
        }
    }
    CostLine {
        scenario: scenario.scenario.clone(),
        role,
        policies,
        status: RowStatus::Missing,
        figures: Vec::new(),
    }
}

/// The lines, which are the same for every gateway; `None` if no policy has a plain proxy.
pub(super) fn of_plan(plan: &Plan) -> Option<Vec<CostLine>> {
    let (mocked, others): (Vec<&Scenario>, Vec<&Scenario>) =
        plan.scenarios.iter().partition(|it| is_mocked(it));
    let (plain, with): (Vec<&Scenario>, Vec<&Scenario>) =
        others.into_iter().partition(|it| it.needs().is_empty());
    let mocked = mocked.into_iter();
    let mocked = mocked.map(|scenario| line(scenario, CostRole::Responses));
    let mut lines: Vec<CostLine> = mocked.collect();
    let mut any = false;
    let baseline = |scenario: &Scenario| plain_proxy(scenario, &plain).map(|it| &it.scenario);
    for base in &plain {
        let own = |it: &&&Scenario| baseline(it) == Some(&base.scenario);
        let mut policies = with.iter().filter(own).peekable();
        if policies.peek().is_some() {
            any = true;
            lines.push(line(base, CostRole::Plain));
        }
        lines.extend(policies.map(|scenario| {
            let baseline = base.scenario.clone();
            line(scenario, CostRole::Policy { baseline })
        }));
    }
    let alone = with.iter().filter(|scenario| baseline(scenario).is_none());
    lines.extend(alone.map(|scenario| line(scenario, CostRole::Alone)));
    any.then_some(lines)
}

/// Reports whether the policies make the gateway serve all requests itself.
fn is_mocked(scenario: &Scenario) -> bool {
    let mocked = |request: &Request| {
        let route = scenario.route_of(&request.path).into_iter();
        let mut policies = route.flat_map(|route| &route.policies);
        policies.any(|policy| matches!(policy, Policy::Mock(_)))
    };
    scenario.load_requests().all(mocked)
}

/// The plain scenario with the same requests: among several, the first of those with the fewest
/// routes.
fn plain_proxy<'a>(scenario: &Scenario, plain: &[&'a Scenario]) -> Option<&'a Scenario> {
    let same = plain.iter().filter(|base| same_work(scenario, base));
    same.min_by_key(|base| base.routes.len()).copied()
}

/// Reports whether two scenarios send the same requests to the same upstream. Headers may differ,
/// because a policy may require a key or a token, which is part of its cost.
fn same_work(a: &Scenario, b: &Scenario) -> bool {
    fn work(it: &Request) -> (f64, &str, &str, Option<&[u8]>) {
        let body = it.body.as_ref().map(|body| body.bytes());
        (it.weight, &it.method, &it.path, body)
    }
    let same = a.load_requests().map(work).eq(b.load_requests().map(work));
    same && a.upstream == b.upstream && a.groups.len() == b.groups.len()
}
