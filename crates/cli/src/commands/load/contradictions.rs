//! Refuses flags that contradict each other, before anything is sent.

use std::time::Duration;

use gatebench_model::HumanDuration;
use gatebench_report::format::grouped;

use super::Load;
use crate::failure::Failure;

/// The name of HTTP/2 in ALPN and `--alpn`.
const HTTP2: &str = "h2";

impl Load {
    /// Returns the first contradiction as an error.
    pub(super) fn refuse_contradictions(&self) -> Result<(), Failure> {
        let found = [
            self.thresholds_without_checks(),
            self.http2_only_offered(),
            self.no_timeout(),
            self.warm_up_of_requests(),
            self.stages_beyond_the_end(),
            self.stages_of_handshakes(),
            self.workers_without_connections(),
        ];
        found.into_iter().flatten().next().map_or(Ok(()), Err)
    }

    fn thresholds_without_checks(&self) -> Option<Failure> {
        let about_checks = self.request.bounds().find(|it| it.is_about_checks())?;
        self.request.checks.is_empty().then(|| {
            Failure::words(
                "--threshold",
                format!("{about_checks} refers to checks, but there are none"),
                "add a check, for example --check status=200, or use a threshold on errors",
            )
        })
    }

    /// The server would accept the offer and then receive HTTP/1.1.
    fn http2_only_offered(&self) -> Option<Failure> {
        let offered = self.tls.alpn.iter().any(|protocol| protocol == HTTP2);
        (offered && !self.connection.handshakes).then(|| {
            Failure::words(
                "--alpn",
                "this only offers h2, but the requests would use HTTP/1.1",
                "use --http2, which offers h2 and uses it",
            )
        })
    }

    fn no_timeout(&self) -> Option<Failure> {
        self.shape
            .timeout
            .0
            .is_zero()
            .then(|| Failure::words("--timeout", "the timeout is zero", "write at least 1ms"))
    }

    fn warm_up_of_requests(&self) -> Option<Failure> {
        let warm_up = self.shape.warm_up.filter(|it| !it.0.is_zero())?;
        self.shape.requests.map(|requests| {
            Failure::words(
                "--warm-up",
                format!(
                    "with {warm_up} of warm-up, more than the {} requests of -n would be sent",
                    grouped(requests as f64)
                ),
                "omit it, or use -d instead of -n",
            )
        })
    }

    fn stages_beyond_the_end(&self) -> Option<Failure> {
        let stages: Duration = self.shape.stages.iter().map(|stage| stage.over.0).sum();
        let duration = self.shape.duration.filter(|it| it.0 < stages)?;
        let stages = HumanDuration(stages);
        Some(Failure::words(
            "--duration",
            format!("the stages take {stages}, but the load ends after {duration}"),
            format!("omit -d, or use -d {stages}"),
        ))
    }

    fn stages_of_handshakes(&self) -> Option<Failure> {
        let has_stages = !self.shape.stages.is_empty() && self.shape.rate.is_none();
        (self.connection.handshakes && has_stages).then(|| {
            Failure::words(
                "--stage",
                "with --handshakes, the number of connections cannot change",
                "add --rate, which makes stages connections per second, or omit --stage",
            )
        })
    }

    /// A worker without a connection could not send its part of the load.
    fn workers_without_connections(&self) -> Option<Failure> {
        let workers = self.engine.workers();
        let given = self.shape.connections.filter(|given| *given < workers)?;
        Some(Failure::words(
            "--connections",
            format!("{workers} workers, one on each of --cores, cannot share {given}"),
            format!("use -c {workers} or more, or name fewer cores"),
        ))
    }
}
