//! Checks that a user's configuration names the trial's ports.

use gatebench_model::{GatewayInput, Policy};

use super::folder::Folder;
use super::render::RenderedFile;
use crate::error::DriverError;

/// Checks the rendered files if one of them is the user's configuration. The files must name the
/// port of a listener and, if a route leads to an upstream, the port of a target.
///
/// # Errors
/// [`DriverError::BadFile`], whose remedy contains the missing text.
pub(crate) fn must_be_wired(
    folder: &Folder,
    files: &[RenderedFile],
    input: &GatewayInput,
) -> Result<(), DriverError> {
    let Some(config) = &folder.config else {
        return Ok(());
    };
    let named = |port: u16| files.iter().any(|file| names(&file.text, port));
    let unwired = |message: &str, place: &str| {
        let remedy = format!(
            "write {{{{ {place}.address }}}}:{{{{ {place}.port }}}} as the address; each trial uses different ports"
        );
        DriverError::bad_file(&config.path, message, remedy)
    };
    if !input.listeners.iter().any(|listener| named(listener.port)) {
        let message = "the configuration does not name the port that the load is sent to";
        return Err(unwired(message, "listeners[0]"));
    }
    let mut targets = input
        .upstreams
        .iter()
        .flat_map(|upstream| &upstream.targets);
    if is_proxied(input) && !targets.any(|target| named(target.port)) {
        let message = "the configuration does not name the port of the upstream";
        return Err(unwired(message, "upstreams[0].targets[0]"));
    }
    Ok(())
}

/// Reports whether the text contains the port as a separate number.
fn names(text: &str, port: u16) -> bool {
    let port = port.to_string();
    text.split(|c: char| !c.is_ascii_digit())
        .any(|number| number == port)
}

/// Reports whether the gateway forwards the requests of at least one route.
fn is_proxied(input: &GatewayInput) -> bool {
    let mocked = |policy: &Policy| policy.kind() == "mock";
    let mut routes = input.routes.iter();
    routes.any(|route| !route.policies.iter().any(mocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_not_a_part_of_a_longer_number() {
        assert!(names("listen 127.0.0.1:4861;", 4861));
        assert!(!names("listen 127.0.0.1:48611;", 4861));
        assert!(!names("listen 14861", 4861) && names("4861", 4861));
    }
}
