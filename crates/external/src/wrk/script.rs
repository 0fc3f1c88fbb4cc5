//! The Lua script for wrk.

use std::path::Path;

use gatebench_model::request::FILLER;
use gatebench_model::{Check, Request};

use crate::job::{Job, Limits, Refusal};
use crate::text::lua;

/// Prints wrk's figures on one line after its report. If responses are checked, `failed` and
/// `classes` are globals of each thread.
const REPORT: &str = r#"
local threads = {}

local function sum(name, index)
  local total = 0
  for _, thread in ipairs(threads) do
    local counts = thread:get(name)
    total = total + (counts and counts[index] or 0)
  end
  return total
end

local function report(summary, latency)
  local out = {}
  local function put(format, ...) out[#out + 1] = string.format(format, ...) end
  put('{"requests":%d,"duration_us":%d,"bytes":%d', summary.requests, summary.duration, summary.bytes)
  put(',"min_us":%.3f,"mean_us":%.3f,"max_us":%.3f', latency.min, latency.mean, latency.max)
  put(',"percentiles_us":{')
  for index, percentile in ipairs({"50", "90", "95", "99", "99.9"}) do
    put('%s"%s":%.3f', index > 1 and "," or "", percentile, latency:percentile(tonumber(percentile)))
  end
  put('},"errors":{')
  for index, kind in ipairs({"connect", "read", "write", "timeout"}) do
    put('%s"%s":%d', index > 1 and "," or "", kind, summary.errors[kind])
  end
  put('},"status_400_and_above":%d', summary.errors.status)
  put(',"classes":[')
  for class = 1, looked_at and 5 or 0 do
    put('%s%d', class > 1 and "," or "", sum("classes", class))
  end
  put('],"checks_failed":{')
  for index, name in ipairs(check_names or {}) do
    put('%s%s:%d', index > 1 and "," or "", name, sum("failed", index))
  end
  put('}}')
  io.write("GATEBENCH ", table.concat(out), "\n")
end
"#;

/// A script that runs the user's script and then prints the figures.
pub(super) fn around(own: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let own = lua(own.as_os_str().as_bytes());
    format!(
        "-- Runs the script and prints what wrk measured in a form that gatebench reads.\n\
         dofile({own})\n\
         local own_setup, own_done = setup, done\n\
         {REPORT}\n\
         function setup(thread)\n  threads[#threads + 1] = thread\n  if own_setup then own_setup(thread) end\nend\n\n\
         function done(summary, latency, requests)\n  if own_done then own_done(summary, latency, requests) end\n  \
         report(summary, latency)\nend\n"
    )
}

/// The scenario as a script.
pub(super) fn of(job: &Job<'_>, limits: &mut Limits) -> Result<String, Refusal> {
    let requests = job.plain_requests("wrk")?;
    let title = &job.scenario.title.replace('\n', " ");
    let mut script = format!(
        "-- {}: {title}\n-- Written by gatebench for wrk.\n",
        job.scenario.scenario
    );
    match &requests[..] {
        [only] => script += &alone(only),
        several => script += &in_turn(several, job.at_random()),
    }
    script += &look(&requests, limits);
    script += REPORT;
    script += "\nfunction setup(thread)\n  threads[#threads + 1] = thread\nend\n\n\
               function done(summary, latency, requests)\n  report(summary, latency)\nend\n";
    Ok(script)
}

/// One request, which wrk renders once, so that no Lua code runs per request.
fn alone(request: &Request) -> String {
    let mut lines = format!(
        "\nwrk.method = {}\nwrk.path = {}\n",
        lua(request.method.as_bytes()),
        lua(request.path.as_bytes())
    );
    for (name, value) in &request.headers {
        let (name, value) = (lua(name.as_bytes()), lua(value.as_bytes()));
        lines += &format!("wrk.headers[{name}] = {value}\n");
    }
    if let Some(body) = body(request) {
        lines += &format!("wrk.body = {body}\n");
    }
    lines
}

/// Several requests, each rendered once; each thread sends them in turn, or draws them by their
/// weights.
fn in_turn(requests: &[Request], at_random: bool) -> String {
    let mut lines = String::from("\nlocal texts = {}\n\nfunction init(args)\n");
    for request in requests {
        let headers: Vec<String> = request
            .headers
            .iter()
            .map(|(name, value)| format!("[{}] = {}", lua(name.as_bytes()), lua(value.as_bytes())))
            .collect();
        lines += &format!(
            "  texts[#texts + 1] = wrk.format({}, {}, {{{}}}, {})\n",
            lua(request.method.as_bytes()),
            lua(request.path.as_bytes()),
            headers.join(", "),
            body(request).unwrap_or_else(|| "nil".into())
        );
    }
    lines += "end\n";
    let weighted = requests
        .iter()
        .any(|request| request.weight != requests[0].weight);
    lines
        + &if weighted || at_random {
            by_weight(requests)
        } else {
            TURN.into()
        }
}

const TURN: &str = "
local turn = 0
function request()
  turn = turn % #texts + 1
  return texts[turn]
end
";

fn by_weight(requests: &[Request]) -> String {
    let mut total = 0.0;
    let sums: Vec<String> = requests
        .iter()
        .map(|request| {
            total += request.weight;
            total.to_string()
        })
        .collect();
    format!(
        "\nlocal sums = {{{}}}\nfunction request()\n  local drawn = math.random() * {total}\n  \
         for index, sum in ipairs(sums) do\n    if drawn < sum then return texts[index] end\n  end\n  \
         return texts[#texts]\nend\n",
        sums.join(", ")
    )
}

/// Returns the body. wrk sends no Content-Length without one, so a method that requires a body gets
/// an empty one.
fn body(request: &Request) -> Option<String> {
    let needs_one = ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
    match &request.body {
        Some(body) => Some(match body.filler_bytes() {
            Some(length) => format!("string.rep(\"{FILLER}\", {length})"),
            None => lua(body.bytes()),
        }),
        None if needs_one => Some(lua(b"")),
        None => None,
    }
}

/// Checks each response if there is a check. wrk does not report to which request a response
/// belongs, so only checks that all requests share are possible.
fn look(requests: &[Request], limits: &mut Limits) -> String {
    let checks = &requests[0].checks;
    if requests.iter().any(|request| request.checks != *checks) {
        limits.express(
            "checks: they differ between requests, and wrk does not pass the request of a response to a script",
        );
        return unseen(limits);
    }
    let (conditions, names): (Vec<String>, Vec<String>) = checks
        .iter()
        .filter_map(|check| Some((condition(check)?, check.to_string())))
        .unzip();
    for check in checks.iter().filter(|check| condition(check).is_none()) {
        limits.express(format!("the check '{check}': Lua in wrk cannot read JSON"));
    }
    if conditions.is_empty() {
        return unseen(limits);
    }
    limits.express("checks without a cost: they run in Lua for each response, which slows wrk");
    let names: Vec<String> = names
        .iter()
        .map(|name| {
            lua(serde_json::Value::from(name.as_str())
                .to_string()
                .as_bytes())
        })
        .collect();
    let zeros = vec!["0"; conditions.len()].join(", ");
    let tests: Vec<String> = (1..)
        .zip(&conditions)
        .map(|(index, condition)| {
            format!("  if not ({condition}) then failed[{index}] = failed[{index}] + 1 end\n")
        })
        .collect();
    format!(
        "\nlooked_at = true\ncheck_names = {{{}}}\nfailed = {{{zeros}}}\nclasses = {{0, 0, 0, 0, 0}}\n\n\
         local function field(headers, name)\n  for key, value in pairs(headers) do\n    \
         if key:lower() == name then return value end\n  end\nend\n\n\
         function response(status, headers, body)\n  local class = math.floor(status / 100)\n  \
         classes[class] = (classes[class] or 0) + 1\n{}end\n",
        names.join(", "),
        tests.concat()
    )
}

fn unseen(limits: &mut Limits) -> String {
    limits.measure("status classes: without a check, wrk only counts responses of 400 and above");
    String::new()
}

/// A check as a condition in Lua; none if Lua in wrk cannot express it.
fn condition(check: &Check) -> Option<String> {
    match check {
        Check::Status(status) => Some(format!("status == {status}")),
        Check::StatusIn(statuses) => {
            let each: Vec<_> = statuses
                .iter()
                .map(|it| format!("status == {it}"))
                .collect();
            Some(format!("({})", each.join(" or ")))
        }
        Check::HeaderAbsent(name) => {
            let name = lua(name.to_lowercase().as_bytes());
            Some(format!("field(headers, {name}) == nil"))
        }
        Check::Header(header) => {
            let name = lua(header.name.to_lowercase().as_bytes());
            Some(format!(
                "field(headers, {name}) == {}",
                lua(header.equals.as_bytes())
            ))
        }
        Check::BodyEquals(text) => Some(format!("body == {}", lua(text.as_bytes()))),
        Check::BodyBytes(bytes) => Some(format!("#body == {bytes}")),
        Check::BodyContains(text) => Some(format!("body:find({}, 1, true)", lua(text.as_bytes()))),
        Check::Json(_) | Check::JsonAbsent(_) => None,
    }
}
