//! Translates jobs for h2load, which sends closed loads whose requests differ only in their paths.

mod output;

use gatebench_model::Request;

use crate::job::{Job, Limits, ONLY_OURS, Order, OrderFile, Refusal};

pub(crate) use output::parse;

const BODY_FILE: &str = "body";

pub(crate) fn translate(job: &Job<'_>) -> Result<Order, Refusal> {
    let closed = job.plain_closed("h2load")?;
    if job.script.is_some() {
        return Err(Refusal::new(
            "h2load does not support scripts",
            "omit --script, or use --engine wrk or k6",
        ));
    }
    let requests = job.plain_requests("h2load")?;
    let first = one_kind(job, &requests)?;
    let threads = job.threads_for(closed.connections);
    let mut arguments: Vec<String> = vec![
        "--h1".into(),
        format!("--threads={threads}"),
        format!("--clients={}", closed.connections),
        format!("--duration={}ms", job.length().as_millis()),
    ];
    // h2load writes its own Host field, with the value of this pseudo-header.
    let host = first.host().map(|host| (":authority", host));
    let headers = host.into_iter().chain(first.fields());
    arguments.extend(headers.map(|(name, value)| format!("--header={name}: {value}")));
    let mut files = Vec::new();
    if let Some(body) = &first.body {
        arguments.push(format!("--data={BODY_FILE}"));
        files.push(OrderFile {
            name: BODY_FILE,
            bytes: body.bytes().to_vec(),
        });
    }
    let paths = requests.iter().map(|request| &request.path);
    arguments.extend(paths.map(|path| format!("{}{path}", job.url)));
    Ok(Order {
        arguments,
        files,
        environment: job.environment(),
        takes: job.length(),
        limits: limits(job, &requests, threads),
    })
}

/// Returns the first request, which represents all: h2load accepts only one method, body and set of
/// headers. Refuses requests that differ in more than their paths, and a method, weights or an
/// order that h2load does not support.
fn one_kind<'r>(job: &Job<'_>, requests: &'r [Request]) -> Result<&'r Request, Refusal> {
    let remedy = "use --engine wrk or k6, or the built-in load generator";
    let refused = |what: &str| job.refused_scenario("h2load", what, remedy);
    let first = requests
        .first()
        .ok_or_else(|| refused("run without requests"))?;
    let kind = |it: &'r Request| (&it.method, &it.headers, &it.body);
    if requests.iter().any(|it| kind(it) != kind(first)) {
        return Err(refused(
            "send requests that differ in more than their paths",
        ));
    }
    if requests.iter().any(|it| it.weight != first.weight) {
        return Err(refused("send requests according to their weights"));
    }
    if requests.len() > 1 && job.at_random() {
        return Err(refused("send requests in random order"));
    }
    match (first.method.as_str(), first.body.is_some()) {
        ("GET", false) | ("POST", true) => Ok(first),
        (method, true) => Err(refused(&format!("send {method} with a body"))),
        (method, false) => Err(refused(&format!("send {method} without a body"))),
    }
}

fn limits(job: &Job<'_>, requests: &[Request], threads: u32) -> Limits {
    let mut limits = Limits::default();
    if (threads as usize) < job.threads {
        let wanted = job.threads;
        limits.express(format!(
            "{wanted} threads: h2load runs at most one per connection, so it runs {threads}"
        ));
    }
    for check in requests.iter().flat_map(|request| &request.checks) {
        limits.express_once(&format!(
            "the check '{check}': h2load cannot check responses"
        ));
    }
    limits.express("the request timeout: h2load supports only connection timeouts");
    limits.express("the wait for the last responses: h2load drops requests in flight at the end");
    limits.measure("percentiles of the response time");
    limits.measure(ONLY_OURS);
    limits.measure("bytes sent, and refused connections");
    limits
}
