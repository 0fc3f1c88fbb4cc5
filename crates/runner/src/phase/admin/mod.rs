//! Creates, reads, updates and deletes a route through a gateway's admin interface, and checks that
//! each change takes effect.

mod under_load;

use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::admin::{AdminRounds, AdminVerb};
use gatebench_model::{Length, Request, Scenario};
use gatebench_net::http1::{BodyLength, write_request_head};
use gatebench_report::format::counted;
use gatebench_store::{AdminRecord, PhaseRecord};
use gatebench_testbed::gateway::{AdminCalls, AdminRequest};
use gatebench_testbed::{Interrupt, Running, Wire};

use crate::abort::Abort;
use crate::context::TrialContext;
use crate::http_probe::{read_response, send};
use crate::numbers::nanos;
use crate::progress::Step;

pub(crate) use under_load::Calling;

/// No further round begins after this time.
const ROUNDS_TIME_MAX: Duration = Duration::from_secs(60);
/// Like `ROUNDS_TIME_MAX`, with `--quick`.
const QUICK_ROUNDS_TIME_MAX: Duration = Duration::from_secs(10);
const EFFECT_TIMEOUT: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_millis(1);
/// The interval between checks for an interrupt while waiting for a response.
const SLICE: Duration = Duration::from_millis(50);
/// The maximum number of characters of a wrong response that are reported.
const SHOWN_CHARS: usize = 400;

/// Runs the rounds of the scenario. Returns `None` if the scenario has no rounds, or if there is no
/// admin interface. The first call that fails or does not take effect ends the rounds with a
/// warning, not an error, because earlier measurements are still valid.
pub(crate) fn rounds(
    context: &TrialContext<'_>,
    running: &Running,
    warnings: &mut Vec<String>,
) -> Result<Option<AdminRecord>, Abort> {
    if context.scenario.admin.is_some() {
        context.step(Step::Admin)?;
    }
    let length = context.plan.length.as_ref().map(|it| it.length);
    let time_max = match length {
        Some(Length::Quick) => QUICK_ROUNDS_TIME_MAX,
        _ => ROUNDS_TIME_MAX,
    };
    let record = make_rounds(context.scenario, time_max, running, context.interrupt)?;
    if let Some(failure) = record.as_ref().and_then(|it| it.failure.as_ref()) {
        warnings.push(format!(
            "the admin interface: {failure}; read the gateway's log, and correct the call under `admin:` in the gateway's folder"
        ));
    }
    Ok(record)
}

/// Like [`rounds`], but takes the time after which no further round begins. If a round fails, the
/// record contains the failure.
pub(crate) fn make_rounds(
    scenario: &Scenario,
    time_max: Duration,
    running: &Running,
    interrupt: &Interrupt,
) -> Result<Option<AdminRecord>, Abort> {
    let calls = running.started().and_then(|it| it.admin.as_ref());
    let Some((rounds, calls)) = scenario.admin.as_ref().zip(calls) else {
        return Ok(None);
    };
    let mut record = AdminRecord {
        routes: scenario.routes.len() as u64,
        ..AdminRecord::default()
    };
    let speaker = Speaker {
        rounds,
        calls,
        target: running.target(),
        interrupt,
    };
    let began = Instant::now();
    for round in 1..=rounds.rounds {
        if round > 1 && began.elapsed() >= time_max {
            break;
        }
        record.rounds = round;
        for (verb, request) in &calls.calls {
            let done = speaker.act(*verb, request, &mut record);
            interrupt.check()?;
            if let Err(why) = done {
                record.failure = Some(format!("round {round}, {}: {why}", verb.as_str()));
                return Ok(Some(record));
            }
        }
    }
    Ok(Some(record))
}

pub(crate) fn warnings(record: &PhaseRecord) -> Vec<String> {
    let Some(admin) = &record.admin else {
        return Vec::new();
    };
    let under = format!("the admin interface in phase '{}'", record.name);
    let failed = admin.failure.as_ref().map(|failure| {
        format!(
            "{under}: {failure}; read the gateway's log, and correct the call under `admin:` in the gateway's folder"
        )
    });
    let unmade: u64 = admin.unmade.values().sum();
    let unmade = (unmade > 0).then(|| {
        format!(
            "{under}: {} that {} due could not be made, because earlier calls lasted until the end of the load, \
             so the measured times are too short; use a longer interval (`under_load_every`)",
            counted(unmade, "call"),
            if unmade == 1 { "was" } else { "were" }
        )
    });
    failed.into_iter().chain(unmade).collect()
}

struct Speaker<'a> {
    rounds: &'a AdminRounds,
    calls: &'a AdminCalls,
    target: &'a Wire,
    interrupt: &'a Interrupt,
}

impl Speaker<'_> {
    /// Makes a call and, unless it only reads the route, waits until it takes effect.
    fn act(
        &self,
        verb: AdminVerb,
        request: &AdminRequest,
        record: &mut AdminRecord,
    ) -> Result<(), String> {
        let began = Instant::now();
        call(self.calls, request, self.interrupt)?;
        let took_ns = nanos(began.elapsed());
        record.took_ns.entry(verb).or_default().push(took_ns);
        let (route, updated_path) = (&self.rounds.route, &self.rounds.updated_path);
        let (path, status) = match verb {
            AdminVerb::Read => return Ok(()),
            AdminVerb::Create => (&route.path, 200),
            AdminVerb::Update => (updated_path, 200),
            AdminVerb::Delete => (updated_path, 404),
        };
        self.until_status(path, status)?;
        if verb == AdminVerb::Update {
            self.until_status(&route.path, 404)?;
        }
        let effective = record.effective_ns.entry(verb).or_default();
        effective.push(nanos(began.elapsed()));
        Ok(())
    }

    /// Sends requests below a path, on new connections, until the response has this status, but not
    /// longer than [`EFFECT_TIMEOUT`].
    fn until_status(&self, path: &str, status: u16) -> Result<(), String> {
        let path = format!("{}{}", path.trim_end_matches('/'), self.rounds.ask);
        let request = Request::new("GET", &path);
        let until = Instant::now() + EFFECT_TIMEOUT;
        loop {
            let response = send(self.target, &request, None, self.interrupt);
            let got = match &response {
                Ok(response) if response.status == status => return Ok(()),
                Ok(response) => format!("the response had status {}", response.status),
                Err(error) => error.to_string(),
            };
            if self.interrupt.is_raised() || Instant::now() >= until {
                return Err(format!(
                    "GET {path} did not return {status} within {EFFECT_TIMEOUT:?}: {got}"
                ));
            }
            thread::sleep(ASK_EVERY);
        }
    }
}

/// Sends a call on a new connection; a status from 200 to 299 is a success.
fn call(calls: &AdminCalls, request: &AdminRequest, interrupt: &Interrupt) -> Result<(), String> {
    let body = request.body.as_deref().unwrap_or("");
    let length = match request.body {
        Some(_) => BodyLength::Length(body.len() as u64),
        None => BodyLength::None,
    };
    let mut bytes = Vec::new();
    // A Unix socket has no host name, but nginx refuses an empty `Host` field, and Caddy accepts
    // this host.
    let fields: [(&str, &[u8]); 2] = [
        ("Host", b"127.0.0.1"),
        ("Content-Type", b"application/json"),
    ];
    let (method, path) = (&request.method, &request.path);
    write_request_head(&mut bytes, method, path, fields, length);
    bytes.extend_from_slice(body.as_bytes());
    let response = calls.connect().and_then(|mut stream| {
        stream.set_read_timeout(Some(SLICE))?;
        stream.write_all(&bytes)?;
        read_response(&mut stream, false, interrupt, || None)
    });
    match response {
        Ok(response) if (200..=299).contains(&response.status) => Ok(()),
        Ok(response) => {
            let response = response.text(SHOWN_CHARS);
            Err(format!("{method} {path} returned\n{response}"))
        }
        Err(error) => Err(format!("{method} {path} got no response: {error}")),
    }
}
