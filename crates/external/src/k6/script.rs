//! Writes a scenario as a k6 script.

use std::time::Duration;

use gatebench_model::group::divide;
use gatebench_model::{Group, Order, Phase, Request, Scenario};

use super::TREND_STATS;
use super::check::{self, JSON_HELPERS};
use super::data;
use super::executor::{Executor, length, note_length, written};
use super::request::{Style, binary_body, texts, uses};
use crate::job::{Limits, Part, Refusal};
use crate::text::js;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The script is for a user: it sets thresholds, the statistics of the summary, and the
    /// expected status codes.
    Keep,
    /// The script is run by gatebench: it counts responses by class and errors by kind.
    Measure,
}

pub(super) struct Script<'a> {
    scenario: &'a Scenario,
    url: String,
    groups: Vec<Group>,
    stages: Vec<Stage>,
    /// The time from the start of the script to the next part.
    after: Duration,
    new_connections: bool,
}

/// A k6 scenario: one group in one part of a phase.
struct Stage {
    name: String,
    group: usize,
    executor: Executor,
    begins: Duration,
    drain: Duration,
    timeout: Duration,
}

impl<'a> Script<'a> {
    pub(super) fn new(scenario: &'a Scenario, url: &str) -> Self {
        Self {
            scenario,
            url: url.trim_end_matches('/').into(),
            groups: scenario.groups(),
            stages: Vec::new(),
            after: Duration::ZERO,
            new_connections: false,
        }
    }

    /// Appends a part of a phase; an empty part adds nothing.
    pub(super) fn add(
        &mut self,
        phase: &Phase,
        part: Part,
        limits: &mut Limits,
    ) -> Result<(), Refusal> {
        let length = length(phase, part);
        if length.is_zero() {
            return Ok(());
        }
        note_length(phase, part, limits);
        let shapes = divide(&phase.shape, &self.groups).map_err(|error| {
            let (name, phase) = (&self.scenario.scenario, &phase.name);
            Refusal::new(
                format!("scenario '{name}' does not fit phase '{phase}': {error}"),
                "correct the scenario or choose another load (--load)",
            )
        })?;
        for (group, shape) in shapes.iter().enumerate() {
            let executor = Executor::of(shape, phase, part, limits)?;
            self.new_connections |= executor.new_connections;
            self.stages.push(Stage {
                name: self.stage_name(phase, part, group),
                group,
                executor,
                begins: self.after,
                drain: phase.drain.0,
                timeout: phase.timeout.0,
            });
        }
        if !self.scenario.data.is_empty() {
            limits.express_once(
                "rows and numbers that each worker takes in turn: in k6, all users of a scenario share one sequence",
            );
        }
        if self.is_weighted() && self.has_partial_sources() {
            limits.express_once(
                "every value in turn from data that only some requests use: k6 draws requests by weight, and those that do not use the data skip its values",
            );
        }
        self.after += length + phase.drain.0;
        Ok(())
    }

    fn stage_name(&self, phase: &Phase, part: Part, group: usize) -> String {
        let group = match &self.groups[..] {
            [_] => String::new(),
            groups => format!("_{}", groups[group].name),
        };
        let part = match part {
            Part::WarmUp => "_warm_up",
            Part::Measure => "",
        };
        format!("{}{group}{part}", phase.name).replace('-', "_")
    }

    pub(super) fn write(&self, purpose: Purpose) -> String {
        let mut text = self.head(purpose);
        text += &self.options(purpose);
        if self.requests().any(check::need_json) {
            text += JSON_HELPERS;
        }
        if self.is_filled() {
            text += &data::definitions(&self.scenario.data, self.has_turns());
        }
        for (index, group) in self.groups.iter().enumerate() {
            text += &self.group(index, group, purpose);
        }
        text += &self.sending(purpose);
        for stage in &self.stages {
            text += &stage.function(self.requests_name(stage.group));
        }
        text
    }

    fn requests(&self) -> impl Iterator<Item = &Request> {
        self.groups.iter().flat_map(|group| &group.requests)
    }

    fn is_filled(&self) -> bool {
        self.requests()
            .any(|request| texts(request).any(data::is_filled))
    }

    /// Reports whether only some requests of a group use a source whose values are taken in turn.
    fn has_partial_sources(&self) -> bool {
        let sources = self.scenario.data.iter();
        let mut in_turn = sources.filter(|(_, source)| data::is_in_turn(source));
        in_turn.any(|(name, _)| {
            let mut groups = self.groups.iter();
            groups.any(|group| {
                let users = group.requests.iter().filter(|it| uses(it, name));
                (1..group.requests.len()).contains(&users.count())
            })
        })
    }

    /// Reports whether the script counts the turns of each source. Otherwise, the number of an
    /// iteration is the turn.
    fn has_turns(&self) -> bool {
        !self.is_weighted() && self.has_partial_sources()
    }

    /// Reports whether requests are drawn by weight: true for all groups if any of them has a
    /// random order or requests with different weights.
    fn is_weighted(&self) -> bool {
        self.groups.iter().any(|group| {
            let first = group.requests.first().map(|request| request.weight);
            let mut requests = group.requests.iter();
            group.order == Order::Random || requests.any(|it| Some(it.weight) != first)
        })
    }

    fn head(&self, purpose: Purpose) -> String {
        let title = self.scenario.title.replace('\n', " ");
        let mut text = format!(
            "// {}: {title}\n// Written by gatebench. Run it with: k6 run -e GATEBENCH_URL={} FILE\n",
            self.scenario.scenario, self.url
        );
        text += "import http from 'k6/http';\n";
        text += match self.stages.iter().any(|it| it.executor.think.is_some()) {
            true => "import { check, sleep } from 'k6';\n",
            false => "import { check } from 'k6';\n",
        };
        text += "import exec from 'k6/execution';\n";
        if self.requests().any(|it| binary_body(it).is_some()) {
            text += "import encoding from 'k6/encoding';\n";
        }
        if purpose == Purpose::Measure {
            text += "import { Counter } from 'k6/metrics';\n";
        }
        text + &format!("\nconst BASE = __ENV.GATEBENCH_URL || {};\n", js(&self.url))
    }

    fn options(&self, purpose: Purpose) -> String {
        let stages: Vec<String> = self.stages.iter().map(Stage::written).collect();
        let stages = stages.concat();
        let mut text = format!("\nexport const options = {{\n  scenarios: {{\n{stages}  }},\n");
        text += "  // Like gatebench, do not follow redirects. Bodies are kept only for checks.\n  maxRedirects: 0,\n  discardResponseBodies: true,\n";
        if self.new_connections {
            text += "  noConnectionReuse: true,\n  noVUConnectionReuse: true,\n";
        }
        if purpose == Purpose::Keep {
            let stats: Vec<String> = TREND_STATS.split(',').map(js).collect();
            text += &format!("  summaryTrendStats: [{}],\n", stats.join(", "));
            text += &self.thresholds();
        }
        text + "};\n"
    }

    /// Returns the thresholds. A threshold that is always met makes k6 report a scenario
    /// separately.
    fn thresholds(&self) -> String {
        let mut lines = String::new();
        if self.requests().any(|request| !request.checks.is_empty()) {
            lines += "    checks: ['rate==1'],\n";
        }
        if self.stages.len() > 1 {
            lines +=
                "    // Thresholds that are always met make k6 report each scenario separately.\n";
            for stage in &self.stages {
                let metric = js(&format!("http_req_duration{{scenario:{}}}", stage.name));
                lines += &format!("    {metric}: ['max>=0'],\n");
            }
        }
        match lines.is_empty() {
            true => lines,
            false => format!("  thresholds: {{\n{lines}  }},\n"),
        }
    }

    fn requests_name(&self, group: usize) -> String {
        match &self.groups[..] {
            [_] => "REQUESTS".into(),
            groups => format!("REQUESTS_{}", groups[group].name.replace('-', "_")).to_uppercase(),
        }
    }

    fn group(&self, index: usize, group: &Group, purpose: Purpose) -> String {
        let style = Style {
            sources: &self.scenario.data,
            filled: self.is_filled(),
            weighted: self.is_weighted(),
            has_turns: self.has_turns(),
            purpose,
        };
        let how = match style.weighted {
            true => "drawn by weight",
            false => "sent in turn",
        };
        let comment = match &self.groups[..] {
            [_] => format!("The requests, {how}."),
            _ => format!("The requests of {}, {how}.", group.name),
        };
        let name = self.requests_name(index);
        let requests = 0..group.requests.len();
        let requests: String = requests
            .map(|index| style.written(&group.requests, index))
            .collect();
        format!("\n// {comment}\nconst {name} = [\n{requests}];\n")
    }

    fn sending(&self, purpose: Purpose) -> String {
        let mut text = String::new();
        if purpose == Purpose::Measure {
            text += COUNTERS;
        }
        text += match self.is_weighted() {
            true => BY_WEIGHT,
            false => IN_TURN,
        };
        text += "\nfunction send(requests, timeout) {\n  const request = next(requests);\n";
        let row = match self.is_filled() {
            true => {
                text += match self.has_turns() {
                    true => "  const row = rows(requests, request);\n",
                    false => "  const row = rows();\n",
                };
                "(row)"
            }
            false => "",
        };
        text += &format!(
            "  const params = Object.assign({{ headers: request.headers{row}, timeout }}, request.params);\n  \
             const response = http.request(request.method, BASE + request.path{row}, request.body{row}, params);\n"
        );
        if purpose == Purpose::Measure {
            text += "  count(response);\n";
        }
        text + "  check(response, request.checks);\n}\n"
    }
}

impl Stage {
    /// Returns the stage's entry in `options.scenarios`.
    fn written(&self) -> String {
        let mut settings = self.executor.settings.clone();
        if !self.begins.is_zero() {
            settings.push(("startTime", written(self.begins)));
        }
        settings.push(("gracefulStop", written(self.drain)));
        settings.push(("exec", js(&format!("run_{}", self.name))));
        let lines = settings.iter();
        let lines: String = lines
            .map(|(key, it)| format!("      {key}: {it},\n"))
            .collect();
        format!("    {}: {{\n{lines}    }},\n", js(&self.name))
    }

    /// Returns the function that the stage's users run.
    fn function(&self, requests: String) -> String {
        let think = self.executor.think.as_ref();
        let think = think.map_or(String::new(), |it| format!("  sleep({it});\n"));
        let (name, timeout) = (&self.name, written(self.timeout));
        format!("\nexport function run_{name}() {{\n  send({requests}, {timeout});\n{think}}}\n")
    }
}

const IN_TURN: &str = "
function next(requests) {
  return requests[exec.scenario.iterationInTest % requests.length];
}
";

const BY_WEIGHT: &str = "
function next(requests) {
  let drawn = Math.random() * requests.reduce((sum, request) => sum + request.weight, 0);
  for (const request of requests) {
    drawn -= request.weight;
    if (drawn < 0) return request;
  }
  return requests[requests.length - 1];
}
";

/// Counters for the classes of responses and the kinds of errors, which k6 does not print. The
/// script declares every status as expected, so k6 separates the times of responses from those of
/// failed requests.
const COUNTERS: &str = "
http.setResponseCallback(http.expectedStatuses({ min: 100, max: 599 }));

const COUNTERS = {};
for (const kind of ['1xx', '2xx', '3xx', '4xx', '5xx', 'connect', 'reset', 'timeout', 'other']) {
  COUNTERS[kind] = new Counter('gatebench_' + kind);
}

function count(response) {
  COUNTERS[response.status > 0 ? Math.floor(response.status / 100) + 'xx' : error(response.error_code)].add(1);
}

function error(code) {
  if (code === 1050) return 'timeout';
  if (code === 1220) return 'reset';
  return code >= 1100 && code < 1220 ? 'connect' : 'other';
}
";
