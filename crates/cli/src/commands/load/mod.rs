//! `gatebench load URL`: the load generator on its own.

mod agents;
mod contradictions;
mod figures;
mod flags;
mod hdr;
mod judged;
mod live;
mod machine;
mod report;
mod results;
mod sending;
mod shape;
mod target;
mod validity;
mod values;

use std::fmt::Display;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use gatebench_agent::Agents;
use gatebench_engine::{
    ConnectError, Control, DataError, DataSet, EngineError, Group, Interval, Merge, Outcome,
};
use gatebench_model::Bound;
use gatebench_net::tls::{CertificateFault, SessionError};
use gatebench_runner::outputs::{LoadFeed, Outputs};

use self::agents::ByAgent;
use self::figures::{Figures, SecondFigures};
use self::flags::{ConnectionFlags, EngineFlags, OutputFlags, RequestFlags, ShapeFlags, TlsFlags};
use self::hdr::HdrFile;
use self::judged::Judged;
use self::live::{Outlook, Seen, Watch};
use self::report::{LoadReport, json};
use self::results::Results;
use self::shape::Timing;
use self::target::Asked;
use crate::commands::outputs::OutputArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::reports::{Format, ReportFile};
use crate::{signals, terminal};

const GROUP: &str = "all";

const EXAMPLES: &str = "\
Examples:
  gatebench load http://127.0.0.1:8080/ping                      50 connections for 10 s
  gatebench load -c 64 -d 30s http://127.0.0.1:8080/ping         how high is the throughput?
  gatebench load --rate 2000 --report load.html URL              write a report as an HTML page
  gatebench load --rate 100 --ramp-to 5000 -d 60s URL            where is the knee?
  gatebench load -n 100 -c 4 --check status=200 URL              does it work at all?
  gatebench load -X PUT -H 'Content-Type: application/json' --body @order.json URL
  gatebench load --check json:/ok=true --threshold 'p99<10ms' --threshold 'checks>99.9%' URL
  gatebench load --cores 0,1 -c 256 --json --hdr load.hlog URL   two workers, results as JSON
  gatebench load -k --handshakes https://127.0.0.1:8443/         TLS handshakes per second
  gatebench load http://a.test/x http://a.test/y --resolve a.test:80:127.0.0.1
  gatebench load --agents me@a,me@b --rate 200000 -d 60s http://10.0.0.7:8080/ping
                                                                 from two hosts, over ssh

Several URLs of one host are requested in turn, and each is reported separately.

Exit code:
  0    success, even if responses were errors: use --check and --threshold to reject them
  1    a threshold was missed or, if no threshold refers to checks, a response failed a --check
  3    the target could not be reached, a file could not be created, or an agent was lost
  4    no response arrived
  130  interrupted; the results so far are printed

docs/guide/COMING-FROM.md translates the options of wrk, oha, k6, ab, hey, vegeta and h2load.";

/// Send requests to a URL, and report its throughput and latency
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Load {
    /// The target: [http://|https://]HOST[:PORT][/PATH][?QUERY]; several URLs of one host are
    /// requested in turn
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    shape: ShapeFlags,
    #[command(flatten)]
    request: RequestFlags,
    #[command(flatten)]
    connection: ConnectionFlags,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    engine: EngineFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    outputs: OutputArgs,
}

struct Conducted {
    outcome: Outcome,
    agents: Option<ByAgent>,
    seen: Seen,
    seconds: Vec<SecondFigures>,
}

/// The agents that send a load, if this process does not send it itself, and the outputs that
/// receive the figures of each second.
#[derive(Clone, Copy)]
struct Sender<'a> {
    agents: Option<&'a Agents>,
    outputs: Option<&'a Outputs>,
}

impl Load {
    pub fn run(self) -> Result<Exit, Failure> {
        self.refuse_contradictions()?;
        let outputs = sending::settings(&self.outputs)?;
        let mut asked = target::asked(&self.urls, &self.request)?;
        asked.unix_socket = self.connection.unix_socket.is_some();
        let agents = agents::connect(&self.engine.agents)?;
        let cores = self.engine.cores.clone().unwrap_or_default().0;
        let workers = match &agents {
            None => self.engine.workers(),
            Some(agents) => agents::workers(agents, &cores),
        };
        let timing = self.shape.timing(&self.connection, workers)?;
        let load = self.load(&asked, &timing, cores)?;
        if agents.is_none() {
            machine::refuse_unusable_cores(&load.cores)?;
            machine::refuse_foreign_sources(&self.connection.sources)?;
            machine::allow_connections(&timing.shape)?;
        }
        let outlook = self.outlook(&asked, &timing);
        let outputs = sending::start(&outputs, &load.cores)?;
        self.create_reports()?;
        let sender = Sender {
            agents: agents.as_ref(),
            outputs: outputs.as_ref(),
        };
        let conducted = self.conduct(&load, &outlook, &asked, sender);
        let conducted = conducted.inspect_err(|_| self.remove_empty_reports())?;
        let results = self.results(&asked, &timing, &conducted, &load.cores);
        self.write(&results);
        terminal::unless_closed(self.print(&results))?;
        let failed = conducted.agents.as_ref().and_then(|it| it.failure());
        failed.map_or(Ok(results.exit()), Err)
    }

    fn load(
        &self,
        asked: &Asked,
        timing: &Timing,
        cores: Vec<usize>,
    ) -> Result<gatebench_engine::Load, Failure> {
        let group = Group {
            name: GROUP.into(),
            target: target::target(asked, &self.connection, &self.tls)?,
            requests: asked.requests.clone(),
            order: gatebench_model::Order::InTurn,
            shape: timing.shape.clone(),
            timeout: self.shape.timeout.0,
        };
        Ok(gatebench_engine::Load {
            groups: vec![group],
            data: Arc::new(self.data()?),
            warm_up: timing.warm_up,
            measure: timing.measure,
            // The wait for the last responses is as long as the timeout, so every sent request gets
            // a response or times out.
            drain: self.shape.timeout.0,
            // Each agent decides for its own machine whether its workers poll.
            spin: !self.engine.agents.is_empty() || machine::has_cores_to_spare(cores.len().max(1)),
            cores,
            backend: self.engine.backend,
            trace_tag: None,
            shares_clock: true,
            part: None,
            seed: self.engine.seed,
        })
    }

    fn data(&self) -> Result<DataSet, Failure> {
        let sources = values::data::sources(&self.request.data_files, self.request.pick)?;
        DataSet::new(&sources).map_err(|error| unable_to_fill(&error))
    }

    fn load_in_words(&self, timing: &Timing) -> String {
        timing.in_words(self.connection.handshakes) + &self.connection.in_words()
    }

    fn outlook(&self, asked: &Asked, timing: &Timing) -> Outlook {
        Outlook {
            words: format!("{}\n{}", asked.in_words(), self.load_in_words(timing)),
            warm_up: timing.warm_up,
            measure: timing.measure,
            requests: timing.requests(),
            is_said_again: !self.output.json,
        }
    }

    fn conduct(
        &self,
        load: &gatebench_engine::Load,
        outlook: &Outlook,
        asked: &Asked,
        sender: Sender<'_>,
    ) -> Result<Conducted, Failure> {
        let Sender { agents, outputs } = sender;
        let workers = agents.map_or(load.cores.len().max(1), Agents::count);
        let control = Arc::new(Control::new(workers));
        stop_on_signal(&control)?;
        signals::survive_file_size_limit()?;
        let hdr = self.output.hdr.as_deref();
        let mut file = hdr.map(HdrFile::create).transpose()?;
        let mut log = file.as_mut().map(HdrFile::begin).transpose()?;
        let mut merge = Merge::new(workers);
        let watch = Watch::new(&control, outlook, &load.cores);
        let (outcome, seen) = sending::during(outputs, || {
            let feed = outputs.map(|it| LoadFeed::alone(it, &asked.host, &load.groups));
            let mut take = |second: &Interval| {
                watch.take(second);
                if let Some(log) = &mut log {
                    log.write(second);
                }
                if let Some((feed, window_ns)) = feed.as_ref().zip(watch.window_ns()) {
                    feed.take(window_ns, second);
                }
            };
            let ran = watch.during(self.output.quiet, || {
                let sink = |worker: usize, interval: &Interval| {
                    merge.take(worker, interval).iter().for_each(&mut take);
                    merge.overdue().iter().for_each(&mut take);
                };
                match agents {
                    None => gatebench_engine::run(load, &control, sink)
                        .map(|outcome| (outcome, None))
                        .map_err(|error| unable(error, asked)),
                    Some(agents) => agents::run(agents, load, &control, sink)
                        .map(|(outcome, by_agent)| (outcome, Some(by_agent))),
                }
            });
            merge.rest().iter().for_each(take);
            feed.iter().for_each(LoadFeed::close);
            ran
        });
        let seconds = watch.into_seconds();
        let written = log.map_or(Ok(()), hdr::HdrLog::end);
        let kept = file.map_or(Ok(()), |file| file.finish(written));
        let (outcome, agents) = outcome?;
        let seen = match &agents {
            None => seen,
            Some(agents) => agents.seen(seen),
        };
        // The results are valid even if the log could not be written.
        kept.unwrap_or_else(|failure| failure.print());
        Ok(Conducted {
            outcome,
            agents,
            seen,
            seconds,
        })
    }

    fn results<'a>(
        &self,
        asked: &Asked,
        timing: &Timing,
        conducted: &'a Conducted,
        cores: &'a [usize],
    ) -> Results<'a> {
        let Conducted { seen, seconds, .. } = conducted;
        let figures = Figures::of(&conducted.outcome);
        Results {
            target: asked.in_words(),
            load: self.load_in_words(timing),
            protocol: self.connection.protocol(),
            open: timing.is_open(),
            cores,
            judged: self
                .request
                .bounds()
                .map(|bound| Judged::of(bound, &figures, timing.is_open()))
                .collect(),
            judges_checks: self.request.bounds().any(Bound::is_about_checks),
            cautions: validity::cautions(&figures, seen, &timing.shape, conducted.agents.as_ref()),
            agents: conducted.agents.as_ref(),
            figures,
            machine: seen.machine.clone(),
            seconds,
        }
    }

    fn print(&self, results: &Results<'_>) -> Result<(), Failure> {
        if self.output.json {
            return terminal::say_data(json_of(results).trim_end());
        }
        let text = Format::Terminal.render(&LoadReport(results), String::new);
        terminal::say(text.trim_end())
    }

    /// Creates the report files before the load begins, so that an error is reported early.
    fn create_reports(&self) -> Result<(), Failure> {
        for ReportFile { path, .. } in &self.output.reports {
            let opened = File::options().append(true).create(true).open(path);
            opened.map_err(|error| unwritable("--report", path, error))?;
        }
        Ok(())
    }

    fn remove_empty_reports(&self) {
        for ReportFile { path, .. } in &self.output.reports {
            if fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() == 0) {
                // If the file cannot be removed, it stays empty and does no harm.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// An error is only printed, because the results are valid even if a report cannot be written.
    fn write(&self, results: &Results<'_>) {
        for ReportFile { path, format } in &self.output.reports {
            let text = format.to_file(&LoadReport(results), || json_of(results));
            if let Err(error) = fs::write(path, text) {
                unwritable("--report", path, error).print();
            }
        }
    }
}

fn unwritable(flag: &str, path: &Path, error: impl Display) -> Failure {
    Failure::said(
        Exit::Environment,
        format!("{flag} {}", path.display()),
        format!("cannot write the file: {error}"),
        "name a file in a writable directory, on a disk with free space",
    )
}

fn json_of(results: &Results<'_>) -> String {
    format!("{:#}\n", json::of(results))
}

/// Makes the first signal end the load, whose results are then printed, and the second signal end
/// the program.
fn stop_on_signal(control: &Arc<Control>) -> Result<(), Failure> {
    let control = Arc::clone(control);
    signals::on_signal(move || {
        if control.stopped() {
            terminal::complain("interrupted twice: stopped immediately, without results");
            std::process::exit(Exit::Interrupted.code().into());
        }
        control.stop();
    })
}

fn unable(error: EngineError, asked: &Asked) -> Failure {
    let origin = asked.site.origin();
    match error {
        EngineError::Unreachable { address, reason } => {
            let (what, remedy) = remedied(&reason, asked);
            let what = format!("cannot connect to {address}: {what}");
            Failure::said(Exit::Environment, format!("target {origin}"), what, remedy)
        }
        EngineError::Data(error) => unable_to_fill(&error),
        EngineError::Environment(error) => {
            let remedy = "try --backend epoll; `gatebench doctor` shows what this machine lacks";
            let what = format!("cannot run here: {error}");
            Failure::said(Exit::Environment, "load generator", what, remedy)
        }
    }
}

/// Returns the description of an error and its remedy, with the flags of this command that apply.
fn remedied(reason: &ConnectError, asked: &Asked) -> (String, String) {
    let remedy = match (reason.remedy(), flags_against(reason)) {
        (Some(remedy), Some(flags)) => format!("{remedy} ({flags})"),
        (Some(remedy), None) => remedy.into(),
        _ if asked.unix_socket => "start the target, or check the path of the socket".into(),
        _ => {
            let url = format!("{}{}", asked.site.origin(), asked.requests[0].path);
            format!("start the target, or check host and port: curl -v {url}")
        }
    };
    (reason.what(), remedy)
}

fn flags_against(reason: &ConnectError) -> Option<&'static str> {
    let ConnectError::Tls(error) = reason else {
        return None;
    };
    match error {
        SessionError::Alert { name } if name == "certificate_required" => {
            Some("--cert FILE --key FILE")
        }
        SessionError::Certificate { fault, .. } => Some(match fault {
            CertificateFault::UnknownIssuer => "--cacert FILE; -k accepts any certificate",
            CertificateFault::OtherName => "--sni NAME; -k accepts any certificate",
            _ => "-k accepts any certificate",
        }),
        _ => None,
    }
}

fn unable_to_fill(error: &DataError) -> Failure {
    let remedy = match error {
        DataError::NoSource { name } => format!(
            "define it with --data-file {name}.csv, or write {{{{ \"{{{{\" }}}} for literal braces"
        ),
        DataError::NoColumn { .. } | DataError::Template(_) => error.remedy(),
        _ => "correct the file, or the name in the braces".into(),
    };
    Failure::words("request", error.what(), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tls_error_has_its_flags() {
        let alert = |name: &str| ConnectError::Tls(SessionError::Alert { name: name.into() });
        let certificate = |fault| {
            let reason = "it expired; the alert of the authority is a certificate".into();
            ConnectError::Tls(SessionError::Certificate { fault, reason })
        };
        for (error, flags) in [
            (
                alert("certificate_required"),
                Some("--cert FILE --key FILE"),
            ),
            (alert("bad_certificate"), None),
            (
                certificate(CertificateFault::UnknownIssuer),
                Some("--cacert FILE; -k accepts any certificate"),
            ),
            (
                certificate(CertificateFault::OtherName),
                Some("--sni NAME; -k accepts any certificate"),
            ),
            (
                certificate(CertificateFault::Expired),
                Some("-k accepts any certificate"),
            ),
            (ConnectError::Tls(SessionError::NotTls), None),
            (ConnectError::Kernel("no certificate".into()), None),
        ] {
            assert_eq!(flags_against(&error), flags, "{error}");
        }
    }
}
