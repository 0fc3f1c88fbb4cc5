//! The Lua script for wrk.

use std::path::Path;

use gatebench_model::request::FILLER;
use gatebench_model::{Check, Request};

use crate::job::{Job, Limits, Refusal};
use crate::text::lua;

/// Lua code that prints wrk's figures on one line after wrk's own report. If responses are checked,
/// `failed` and `classes` are globals of each thread.
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

/// Returns a script that runs the user's script and then prints the figures.
pub(super) fn around(own: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let own = lua(own.as_os_str().as_bytes());
    format!(
        "-- Runs the user's script and then prints wrk's figures in a form that gatebench reads.\n\
         dofile({own})\n\
         local own_setup, own_done = setup, done\n\
         {REPORT}\n\
         function setup(thread)\n  threads[#threads + 1] = thread\n  if own_setup then own_setup(thread) end\nend\n\n\
         function done(summary, latency, requests)\n  if own_done then own_done(summary, latency, requests) end\n  \
         report(summary, latency)\nend\n"
    )
}

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

/// Returns the script for one request. wrk renders the request once, so sending it runs no Lua
/// code.
fn alone(request: &Request) -> String {
    let mut lines = format!(
        "\nwrk.method = {}\nwrk.path = {}\n",
        lua(&request.method),
        lua(&request.path)
    );
    for (name, value) in headers(request) {
        lines += &format!("wrk.headers[{}] = {}\n", lua(name), lua(value));
    }
    if let Some(body) = body(request) {
        lines += &format!("wrk.body = {body}\n");
    }
    lines
}

/// Returns the script for several requests, each rendered once. Each thread sends them in turn or
/// draws them by weight.
fn in_turn(requests: &[Request], at_random: bool) -> String {
    let mut lines = String::from("\nlocal texts = {}\n\nfunction init(args)\n");
    for request in requests {
        let headers = headers(request);
        let headers = headers.map(|(name, value)| format!("[{}] = {}", lua(name), lua(value)));
        lines += &format!(
            "  texts[#texts + 1] = wrk.format({}, {}, {{{}}}, {})\n",
            lua(&request.method),
            lua(&request.path),
            headers.collect::<Vec<_>>().join(", "),
            body(request).unwrap_or_else(|| "nil".into())
        );
    }
    lines += "end\n";
    let is_weighted = requests.iter().any(|it| it.weight != requests[0].weight);
    match is_weighted || at_random {
        true => lines + &by_weight(requests),
        false => lines + TURN,
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
    let mut sums = Vec::new();
    for request in requests {
        total += request.weight;
        sums.push(total.to_string());
    }
    format!(
        "\nlocal sums = {{{}}}\nfunction request()\n  local drawn = math.random() * {total}\n  \
         for index, sum in ipairs(sums) do\n    if drawn < sum then return texts[index] end\n  end\n  \
         return texts[#texts]\nend\n",
        sums.join(", ")
    )
}

/// Returns the headers of a request. wrk adds a Host field unless there is one with exactly this
/// name.
fn headers(request: &Request) -> impl Iterator<Item = (&str, &str)> {
    let host = request.host().map(|host| ("Host", host));
    host.into_iter().chain(request.fields())
}

/// Returns the body of a request as a Lua expression. Without a body, wrk sends no Content-Length,
/// so a POST, PUT or PATCH request without a body gets an empty one.
fn body(request: &Request) -> Option<String> {
    let needs_one = ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
    match &request.body {
        Some(body) => Some(match body.filler_bytes() {
            Some(length) => format!("string.rep(\"{FILLER}\", {length})"),
            None => lua(body.bytes()),
        }),
        None => needs_one.then(|| lua("")),
    }
}

/// Returns a Lua function that checks each response, or an empty string if nothing can be checked.
/// Responses can be checked only if all requests have the same checks, because wrk does not report
/// which request a response belongs to.
fn look(requests: &[Request], limits: &mut Limits) -> String {
    let checks = &requests[0].checks;
    if requests.iter().any(|request| request.checks != *checks) {
        limits.express(
            "checks that differ between requests: wrk does not report which request a response belongs to",
        );
        return unseen(limits);
    }
    let (mut names, mut tests) = (Vec::new(), String::new());
    for check in checks {
        let Some(condition) = condition(check) else {
            limits.express(format!("the check '{check}': Lua in wrk cannot read JSON"));
            continue;
        };
        let name = serde_json::Value::from(check.to_string());
        names.push(lua(name.to_string()));
        let index = names.len();
        tests +=
            &format!("  if not ({condition}) then failed[{index}] = failed[{index}] + 1 end\n");
    }
    if names.is_empty() {
        return unseen(limits);
    }
    limits
        .express("checks at no cost: wrk runs them in Lua for each response, which slows wrk down");
    let zeros = vec!["0"; names.len()].join(", ");
    format!(
        "\nlooked_at = true\ncheck_names = {{{}}}\nfailed = {{{zeros}}}\nclasses = {{0, 0, 0, 0, 0}}\n\n\
         local function field(headers, name)\n  for key, value in pairs(headers) do\n    \
         if key:lower() == name then return value end\n  end\nend\n\n\
         function response(status, headers, body)\n  local class = math.floor(status / 100)\n  \
         classes[class] = (classes[class] or 0) + 1\n{tests}end\n",
        names.join(", ")
    )
}

fn unseen(limits: &mut Limits) -> String {
    limits.measure(
        "status classes: without a check, wrk distinguishes only statuses of 400 and above",
    );
    String::new()
}

/// Returns a check as a condition in Lua, or `None` if Lua in wrk cannot express it.
fn condition(check: &Check) -> Option<String> {
    let field = |name: &str| format!("field(headers, {})", lua(name.to_lowercase()));
    Some(match check {
        Check::Status(status) => format!("status == {status}"),
        Check::StatusIn(statuses) => {
            let each = statuses.iter().map(|it| format!("status == {it}"));
            format!("({})", each.collect::<Vec<_>>().join(" or "))
        }
        Check::HeaderAbsent(name) => format!("{} == nil", field(name)),
        Check::Header(header) => format!("{} == {}", field(&header.name), lua(&header.equals)),
        Check::BodyEquals(text) => format!("body == {}", lua(text)),
        Check::BodyBytes(bytes) => format!("#body == {bytes}"),
        Check::BodyContains(text) => format!("body:find({}, 1, true)", lua(text)),
        Check::Json(_) | Check::JsonAbsent(_) => return None,
    })
}
