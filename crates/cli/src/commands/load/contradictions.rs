//! Refuses flags that contradict each other, before anything is sent.

use std::time::Duration;

use gatebench_model::HumanDuration;
use gatebench_report::format::grouped;

use super::Load;
use crate::failure::Failure;

const HTTP2: &str = "h2";

impl Load {
    /// Returns the first contradiction as an error.
    pub(super) fn refuse_contradictions(&self) -> Result<(), Failure> {
        let (shape, handshakes) = (&self.shape, self.connection.handshakes);
        let about_checks = self.request.bounds().find(|it| it.is_about_checks());
        if let Some(bound) = about_checks.filter(|_| self.request.checks.is_empty()) {
            return Err(Failure::words(
                "--threshold",
                format!("{bound} refers to checks, but there are none"),
                "add a check, for example --check status=200, or use a threshold on errors",
            ));
        }
        // A server that accepts h2 would nevertheless receive HTTP/1.1.
        if !handshakes && self.tls.alpn.iter().any(|protocol| protocol == HTTP2) {
            return Err(Failure::words(
                "--alpn",
                "this offers h2, but the requests would use HTTP/1.1",
                "use --http2, which offers h2 and uses it",
            ));
        }
        if shape.timeout.0.is_zero() {
            let what = "the timeout is zero";
            return Err(Failure::words("--timeout", what, "write at least 1ms"));
        }
        let warm_up = shape.warm_up.filter(|it| !it.0.is_zero());
        if let Some((warm_up, requests)) = warm_up.zip(shape.requests) {
            let what = format!(
                "a warm-up of {warm_up} is impossible: all {} requests of -n are measured",
                grouped(requests as f64)
            );
            let remedy = "omit --warm-up, or use -d instead of -n";
            return Err(Failure::words("--warm-up", what, remedy));
        }
        let stages: Duration = shape.stages.iter().map(|stage| stage.over.0).sum();
        if let Some(duration) = shape.duration.filter(|it| it.0 < stages) {
            let stages = HumanDuration(stages);
            return Err(Failure::words(
                "--duration",
                format!("the stages take {stages}, but the load ends after {duration}"),
                format!("omit -d, or use -d {stages}"),
            ));
        }
        if handshakes && !shape.stages.is_empty() && shape.rate.is_none() {
            return Err(Failure::words(
                "--stage",
                "with --handshakes, the number of connections cannot change",
                "add --rate, so that a stage is a number of connections per second, or omit --stage",
            ));
        }
        // A worker without a connection could not send its part of the load. With --agents, the
        // total number of workers is not known yet.
        let workers = self.engine.workers();
        match shape.connections.filter(|given| *given < workers) {
            None => Ok(()),
            Some(given) => Err(Failure::words(
                "--connections",
                format!("{given} is too few for {workers} workers, one for each core in --cores"),
                format!("use -c {workers} or more, or name fewer cores"),
            )),
        }
    }
}
