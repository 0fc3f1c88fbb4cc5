//! A configuration of the user's: it must listen where the load goes, and have the upstream behind it.

use gatebench_model::{GatewayInput, Policy};

use super::folder::Folder;
use super::render::RenderedFile;
use crate::error::DriverError;

/// Sees that a configuration of the user's names the ports of this trial.
///
/// # Errors
/// [`DriverError::BadConfig`], which names what the file has to say instead.
pub(crate) fn must_be_wired(
    folder: &Folder,
    files: &[RenderedFile],
    input: &GatewayInput,
) -> Result<(), DriverError> {
    let Some(config) = folder.config() else {
        return Ok(());
    };
    let named = |port: u16| files.iter().any(|file| names(&file.text, port));
    let unwired = |message: &str, place: &str| DriverError::BadConfig {
        path: config.path.clone(),
        message: message.to_owned(),
        remedy: format!(
            "write {{{{ {place}.address }}}}:{{{{ {place}.port }}}} there; each trial uses its own ports"
        ),
    };
    if !input.listeners.iter().any(|listener| named(listener.port)) {
        let message = "the configuration does not listen where the load goes";
        return Err(unwired(message, "listeners[0]"));
    }
    let mut targets = input
        .upstreams
        .iter()
        .flat_map(|upstream| &upstream.targets);
    if is_proxied(input) && !targets.any(|target| named(target.port)) {
        let message = "the configuration does not name the upstream";
        return Err(unwired(message, "upstreams[0].targets[0]"));
    }
    Ok(())
}

/// Whether the port stands in the text as a number of its own.
fn names(text: &str, port: u16) -> bool {
    let port = port.to_string();
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    text.match_indices(&port).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + port.len()..]);
        !digit(before.chars().next_back()) && !digit(after.chars().next())
    })
}

/// Whether some route is not answered by the gateway itself.
fn is_proxied(input: &GatewayInput) -> bool {
    let mocked = |policy: &Policy| policy.kind() == "mock";
    let mut routes = input.routes.iter();
    routes.any(|route| !route.policies.iter().any(mocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_of_its_own() {
        assert!(names("listen 127.0.0.1:4861;", 4861));
        assert!(!names("listen 127.0.0.1:48611;", 4861));
        assert!(!names("listen 14861", 4861) && names("4861", 4861));
    }
}
