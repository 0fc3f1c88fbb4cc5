//! The container that this program runs in.

use std::env;
use std::path::Path;

/// The file that an engine creates in its containers, and the name of the engine.
const MARKS: [(&str, &str); 2] = [("/run/.containerenv", "Podman"), ("/.dockerenv", "Docker")];

/// Returns the engine of the container that this program runs in; none outside of one, and in
/// containers without a mark.
pub fn enclosing_container() -> Option<&'static str> {
    if env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("Kubernetes");
    }
    let found = MARKS.iter().find(|(mark, _)| Path::new(mark).exists());
    found.map(|(_, engine)| *engine)
}
