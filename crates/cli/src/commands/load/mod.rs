//! `gatebench load URL`: the load engine on its own.

mod contradictions;
mod descriptors;
mod figures;
mod flags;
mod hdr;
mod help;
mod json;
mod judged;
mod live;
mod machine;
mod results;
mod screen;
mod sending;
mod shape;
mod target;
mod validity;
mod values;
mod verdict;

use std::sync::Arc;

use clap::Args;
use gatebench_engine::{ConnectError, Control, DataError, DataSet, EngineError, Group, Outcome};
use gatebench_net::tls::{CertificateFault, SessionError};
use gatebench_runner::outputs::{LoadFeed, Outputs, Seconds};

use self::figures::Figures;
use self::flags::{ConnectionFlags, EngineFlags, OutputFlags, RequestFlags, ShapeFlags, TlsFlags};
use self::hdr::HdrFile;
use self::judged::Judged;
use self::live::{Outlook, Seen, Watch};
use self::results::Results;
use self::shape::Timing;
use self::target::Asked;
use crate::commands::outputs::OutputArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{reports, signals, terminal};

/// Name of the only group.
const GROUP: &str = "all";

/// Send requests to a URL, and report its throughput and latency
#[derive(Debug, Args)]
#[command(after_help = help::EXAMPLES)]
pub struct Load {
    /// The target: [http://]HOST[:PORT][/PATH][?QUERY]; several URLs of one host are sent in turn
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

impl Load {
    /// Runs the load, prints the results and returns the exit code.
    pub fn run(self) -> Result<Exit, Failure> {
        self.refuse_contradictions()?;
        let outputs = sending::settings(&self.outputs)?;
        let mut asked = target::asked(&self.urls, &self.request)?;
        asked.unix_socket = self.connection.unix_socket.is_some();
        let timing = self.shape.timing(&self.connection, self.engine.workers())?;
        let load = self.load(&asked, &timing)?;
        machine::refuse_unusable_cores(&load.cores)?;
        machine::refuse_foreign_sources(&self.connection.sources)?;
        descriptors::allow(&timing.shape)?;
        let outlook = self.outlook(&asked, &timing);
        let outputs = sending::start(&outputs, &load.cores)?;
        let (outcome, seen) = self.conduct(&load, &outlook, &asked, outputs.as_ref())?;
        let results = self.results(&asked, &timing, &outcome, seen, &load.cores);
        self.print(&results)?;
        Ok(verdict::of(&results, self.request.bounds()))
    }

    fn load(&self, asked: &Asked, timing: &Timing) -> Result<gatebench_engine::Load, Failure> {
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
            // Every request either gets a response or times out.
            drain: self.shape.timeout.0,
            cores: self.engine.cores.clone().unwrap_or_default().0,
            backend: self.engine.backend.map(Into::into),
            trace_tag: None,
            spin: machine::has_cores_to_spare(self.engine.workers() as usize),
            seed: self.engine.seed,
        })
    }

    fn data(&self) -> Result<DataSet, Failure> {
        let sources = values::data::sources(&self.request.data_files, self.request.pick.into())?;
        DataSet::new(&sources).map_err(|error| unable_to_fill(&error))
    }

    fn load_in_words(&self, timing: &Timing) -> String {
        let handshakes = self.connection.handshakes;
        format!(
            "{}{}",
            timing.in_words(handshakes),
            self.connection.in_words()
        )
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

    /// Runs the load with a display until its end or a signal.
    fn conduct(
        &self,
        load: &gatebench_engine::Load,
        outlook: &Outlook,
        asked: &Asked,
        outputs: Option<&Outputs>,
    ) -> Result<(Outcome, Seen), Failure> {
        let workers = load.cores.len().max(1);
        let control = Arc::new(Control::new(workers));
        stop_on_signal(&control)?;
        signals::survive_file_size_limit()?;
        let mut file = self
            .output
            .hdr
            .as_deref()
            .map(HdrFile::create)
            .transpose()?;
        let mut log = file.as_mut().map(|file| file.begin(workers)).transpose()?;
        let watch = Watch::new(&control, outlook, &load.cores);
        let (outcome, seen) = sending::during(outputs, || {
            let feed = outputs.map(|it| LoadFeed::alone(it, &asked.host, &load.groups));
            let mut seconds = feed.map(|it| Seconds::new(it, workers));
            let ran = watch.during(self.output.quiet, || {
                gatebench_engine::run(load, &control, |worker, interval| {
                    watch.add(interval);
                    if let Some(log) = &mut log {
                        log.add(interval);
                    }
                    if let Some((seconds, window)) = seconds.as_mut().zip(watch.window_ns()) {
                        seconds.take(worker, interval, window);
                    }
                })
            });
            seconds.into_iter().for_each(Seconds::close);
            ran
        });
        let written = log.map_or(Ok(()), hdr::HdrLog::end);
        let kept = file.map_or(Ok(()), |file| file.finish(written));
        let outcome = outcome.map_err(|error| unable(error, asked))?;
        // A log that could not be written does not make the results worthless.
        kept.unwrap_or_else(|failure| failure.print());
        Ok((outcome, seen))
    }

    fn results<'a>(
        &self,
        asked: &Asked,
        timing: &Timing,
        outcome: &'a Outcome,
        seen: Seen,
        cores: &'a [usize],
    ) -> Results<'a> {
        let figures = Figures::of(outcome);
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
            cautions: validity::cautions(&figures, &seen, &timing.shape),
            figures,
            machine: seen.machine,
        }
    }

    fn print(&self, results: &Results<'_>) -> Result<(), Failure> {
        if self.output.json {
            return terminal::say_data(&format!("{:#}", json::of(results)));
        }
        terminal::say(&screen::of(results, reports::terminal_options()))
    }
}

/// The first signal ends the load and keeps its results; the second one ends the program.
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

/// Returns the description of an error, and its remedy in terms of this command line.
fn remedied(reason: &ConnectError, asked: &Asked) -> (String, String) {
    let remedy = match reason.remedy() {
        Some(remedy) => match flags_against(reason) {
            Some(flags) => format!("{remedy} ({flags})"),
            None => remedy.into(),
        },
        None if asked.unix_socket => "start the target, or check the path of the socket".into(),
        None => {
            let url = format!("{}{}", asked.site.origin(), asked.requests[0].path);
            format!("start the target, or check host and port: curl -v {url}")
        }
    };
    (reason.what(), remedy)
}

/// The flags with which a remedy of TLS is followed.
fn flags_against(reason: &ConnectError) -> Option<&'static str> {
    let ConnectError::Tls(error) = reason else {
        return None;
    };
    match error {
        SessionError::Alert { name } if name == "certificate_required" => {
            Some("--cert FILE --key FILE")
        }
        SessionError::Certificate { fault, .. } => Some(match fault {
            CertificateFault::UnknownIssuer => "--cacert FILE; -k accepts any",
            CertificateFault::OtherName => "--sni NAME; -k accepts any",
            _ => "-k accepts any",
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
    let what = match error {
        DataError::NoColumn {
            source_name,
            column,
            ..
        } if column.is_empty() => format!("'{source_name}' has several columns"),
        error => error.what(),
    };
    Failure::words("request", what, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_from_the_kind_of_a_tls_error() {
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
                Some("--cacert FILE; -k accepts any"),
            ),
            (
                certificate(CertificateFault::OtherName),
                Some("--sni NAME; -k accepts any"),
            ),
            (
                certificate(CertificateFault::Expired),
                Some("-k accepts any"),
            ),
            (ConnectError::Tls(SessionError::NotTls), None),
            (ConnectError::Kernel("no certificate".into()), None),
        ] {
            assert_eq!(flags_against(&error), flags, "{error}");
        }
    }
}
