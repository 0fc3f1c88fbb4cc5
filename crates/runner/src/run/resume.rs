//! The settings that a resumed run keeps, and the changes since its start.

use gatebench_net::{Backend, choose};
use gatebench_store::Manifest;
use gatebench_testbed::probe::EnvironmentFacts;

use crate::warning::Warning;

/// Returns the backend for a resumed run: the requested backend, or otherwise the backend that the
/// run began with, if this version of gatebench supports it.
pub(crate) fn backend(wanted: Option<Backend>, manifest: &Manifest) -> Option<Backend> {
    let began_with = [Backend::Uring, Backend::Epoll]
        .into_iter()
        .find(|backend| backend.as_str() == manifest.engine_backend);
    wanted.or(began_with)
}

/// Returns a warning for each difference from the start of the run in the backend, the version of
/// gatebench, or the kernel release.
pub(crate) fn changes(manifest: &Manifest, backend: Option<Backend>) -> Vec<Warning> {
    let kernel = EnvironmentFacts::read().kernel.release;
    let began_with = manifest.environment["kernel"]["release"].as_str();
    let kernel = began_with.zip(kernel.as_deref());
    let version = env!("CARGO_PKG_VERSION");
    let differences = [
        difference(
            "backend",
            &manifest.engine_backend,
            choose(backend).as_str(),
        ),
        difference("gatebench", &manifest.gatebench, version),
        kernel.and_then(|(before, now)| difference("kernel", before, now)),
    ];
    let differences = differences.into_iter().flatten();
    differences
        .map(|what| Warning::InstrumentChanged { what })
        .collect()
}

fn difference(name: &str, before: &str, now: &str) -> Option<String> {
    (before != now).then(|| format!("{name} {now} instead of {before}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        assert_eq!(difference("backend", "epoll", "epoll"), None);
        assert_eq!(
            difference("backend", "io_uring", "epoll").as_deref(),
            Some("backend epoll instead of io_uring")
        );
    }
}
