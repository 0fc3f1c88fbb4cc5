//! Creates, reads, updates and deletes a route through a gateway's admin interface, and checks that
//! each change takes effect.

mod under_load;

use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_analysis::format::counted;
use gatebench_model::Request;
use gatebench_model::admin::{AdminRounds, AdminVerb};
use gatebench_net::http1::{BodyLength, write_request_head};
use gatebench_store::{AdminRecord, PhaseRecord};
use gatebench_testbed::{AdminRequest, connect_unix};

use crate::abort::Abort;
use crate::context::TrialContext;
use crate::http_probe::wire::Wire;
use crate::http_probe::{exchange, read_answer, render};
use crate::interrupt::Interrupt;
use crate::progress::Step;
use crate::testbed::Testbed;

pub(crate) use under_load::Calling;

/// How long a change may take to act.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long after an answer it is asked again.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// How often an interrupt is looked for while an answer is waited for.
const SLICE: Duration = Duration::from_millis(50);
/// The part of a wrong response that is reported.
const SHOWN_CHARS: usize = 400;

/// Goes through the rounds of the scenario; none if it has none, or if there is no admin interface.
/// The first call without a response or an effect ends them: that is reported, and spoils nothing
/// that was measured before.
pub(crate) fn rounds(
    context: &TrialContext<'_>,
    testbed: &Testbed,
    warnings: &mut Vec<String>,
) -> Result<Option<AdminRecord>, Abort> {
    let asked = context.scenario.admin.as_ref();
    let Some(((rounds, calls), target)) = asked.zip(testbed.admin()).zip(testbed.target()) else {
        return Ok(None);
    };
    context.step(Step::Admin)?;
    let mut record = AdminRecord {
        routes: context.scenario.routes.len() as u64,
        rounds: rounds.rounds,
        ..AdminRecord::default()
    };
    let speaker = Speaker {
        rounds,
        socket: &calls.socket,
        target,
        interrupt: context.interrupt,
    };
    'rounds: for round in 1..=rounds.rounds {
        for (verb, request) in &calls.calls {
            let done = speaker.act(*verb, request, &mut record);
            if context.interrupt.is_raised() {
                return Err(Abort::Interrupted);
            }
            if let Err(why) = done {
                let failure = format!("round {round}, {}: {why}", verb.as_str());
                warnings.push(format!(
                    "the admin interface: {failure}; correct the call under `admin:` in the gateway's folder, or read its log"
                ));
                record.failure = Some(failure);
                break 'rounds;
            }
        }
    }
    Ok(Some(record))
}

/// What the reader must know of a phase with calls that were not answered well, or not made.
pub(crate) fn warnings(record: &PhaseRecord) -> Vec<String> {
    let Some(admin) = &record.admin else {
        return Vec::new();
    };
    let under = format!("the admin interface under '{}'", record.name);
    let failed = admin.failure.as_ref().map(|failure| {
        format!(
            "{under}: {failure}; correct the call under `admin:` in the gateway's folder, or read its log"
        )
    });
    let unmade: u64 = admin.unmade.values().sum();
    let unmade = (unmade > 0).then(|| {
        format!(
            "{under}: {} that {} due could not be made, as those before took until the end of the load, so that its times are \
             too good; call it less often (`under_load_every`)",
            counted(unmade, "call"),
            if unmade == 1 { "was" } else { "were" }
        )
    });
    failed.into_iter().chain(unmade).collect()
}

/// Who speaks to an admin interface, and sees what comes of it.
struct Speaker<'a> {
    rounds: &'a AdminRounds,
    socket: &'a Path,
    target: Wire,
    interrupt: &'a Interrupt,
}

impl Speaker<'_> {
    /// Makes a call and waits until it acts.
    fn act(
        &self,
        verb: AdminVerb,
        request: &AdminRequest,
        record: &mut AdminRecord,
    ) -> Result<(), String> {
        let began = Instant::now();
        call(self.socket, request, self.interrupt)?;
        let took_ns = nanos(began.elapsed());
        record.took_ns.entry(verb).or_default().push(took_ns);
        let AdminRounds {
            route,
            updated_path,
            ..
        } = self.rounds;
        let (path, status) = match verb {
            AdminVerb::Read => return Ok(()),
            AdminVerb::Create => (&route.path, 200),
            AdminVerb::Update => (updated_path, 200),
            AdminVerb::Delete => (updated_path, 404),
        };
        self.until_answered(path, status)?;
        if verb == AdminVerb::Update {
            // Once the new path acts, the old one must not.
            self.until_answered(&route.path, 404)?;
        }
        let effective_ns = nanos(began.elapsed());
        record
            .effective_ns
            .entry(verb)
            .or_default()
            .push(effective_ns);
        Ok(())
    }

    /// Asks below a path, on new connections, until the status is this one.
    fn until_answered(&self, path: &str, status: u16) -> Result<(), String> {
        let path = format!("{}{}", path.trim_end_matches('/'), self.rounds.ask);
        let request = Request::new("GET", &path);
        let bytes = render(&request, &self.target.address.to_string(), None);
        let until = Instant::now() + EFFECT_TIMEOUT;
        loop {
            let answer = exchange(&self.target, &bytes, false, self.interrupt);
            let got = match &answer {
                Ok(answer) if answer.status == status => return Ok(()),
                Ok(answer) => format!("{} came", answer.status),
                Err(error) => error.to_string(),
            };
            if self.interrupt.is_raised() || Instant::now() >= until {
                return Err(format!(
                    "GET {path} is not answered with {status} after {EFFECT_TIMEOUT:?}: {got}"
                ));
            }
            thread::sleep(ASK_EVERY);
        }
    }
}

/// Sends a call on a connection of its own; a status from 200 to 299 is right.
fn call(socket: &Path, request: &AdminRequest, interrupt: &Interrupt) -> Result<(), String> {
    let body = request.body.as_deref().unwrap_or("");
    let length = match &request.body {
        Some(body) => BodyLength::Length(body.len() as u64),
        None => BodyLength::None,
    };
    let mut bytes = Vec::new();
    // A socket of a file has no host; the field is empty then (RFC 9112 section 3.2).
    let fields: [(&str, &[u8]); 2] = [("Host", b""), ("Content-Type", b"application/json")];
    let (method, path) = (&request.method, &request.path);
    write_request_head(&mut bytes, method, path, fields, length);
    bytes.extend_from_slice(body.as_bytes());
    let answer = connect_unix(socket).and_then(|mut stream| {
        stream.set_read_timeout(Some(SLICE))?;
        stream.write_all(&bytes)?;
        read_answer(&mut stream, false, interrupt, || None)
    });
    match answer {
        Ok(answer) if (200..=299).contains(&answer.status) => Ok(()),
        Ok(answer) => {
            let answer = answer.text(SHOWN_CHARS);
            Err(format!("{method} {path} was answered with\n{answer}"))
        }
        Err(error) => Err(format!("{method} {path} was not answered: {error}")),
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
