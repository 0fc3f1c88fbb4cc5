//! Identifies a gateway by its version and the digests of its program and folder.

use std::path::Path;

use gatebench_store::{FileDigest, GatewayIdentity};
use gatebench_testbed::gateway::FoundGateway;

pub(crate) fn of(gateway: &FoundGateway) -> GatewayIdentity {
    let spec = &gateway.folder.spec;
    let files = gateway.folder.texts();
    let files = files.map(|(file, text)| FileDigest::of(file, text.as_bytes()));
    let config = gateway.folder.own_config().map(own_config);
    let host = gateway.binary.host.as_deref().map(elsewhere);
    let further = config.into_iter().chain(host);
    GatewayIdentity {
        title: spec.title.clone(),
        version: gateway.binary.version.clone(),
        binary: gateway.binary.place(),
        sha256: gateway.binary.sha256.clone(),
        folder: files.collect(),
        notes: spec.notes.iter().cloned().chain(further).collect(),
    }
}

fn own_config(path: &Path) -> String {
    format!(
        "The gateway was configured by {}, not by its folder; the parity cases test whether it does what the scenario requires.",
        path.display()
    )
}

fn elsewhere(host: &str) -> String {
    format!(
        "The gateway ran on {host}, so the network is between it and both the load generator and the upstream; the \
         direct variant does not use that network. Other work on {host} during the run is unknown."
    )
}

pub(crate) fn of_attached(url: &str) -> GatewayIdentity {
    GatewayIdentity {
        title: format!("the gateway at {url}"),
        version: "unknown".into(),
        notes: vec!["gatebench neither started nor configured the gateway.".into()],
        ..GatewayIdentity::default()
    }
}

/// Describes the first difference; `None` if nothing differs.
pub(crate) fn change(before: &GatewayIdentity, now: &GatewayIdentity) -> Option<String> {
    if before.version != now.version {
        return Some(format!(
            "version {} instead of {}",
            now.version, before.version
        ));
    }
    if before.sha256 != now.sha256 {
        return Some("its program file has changed".into());
    }
    let (now, before) = (&now.folder, &before.folder);
    let changed = now.iter().find(|file| !before.contains(file));
    let file = changed.or_else(|| before.iter().find(|file| !now.contains(file)));
    file.map(|file| format!("{} in its folder differs", file.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named() {
        let before = GatewayIdentity {
            folder: vec![
                FileDigest::of("gateway.yaml", b"a"),
                FileDigest::of("x.conf", b"x"),
            ],
            sha256: "1".into(),
            ..of_attached("http://127.0.0.1:1")
        };
        let changed = |change_it: fn(&mut GatewayIdentity)| {
            let mut now = before.clone();
            change_it(&mut now);
            change(&before, &now)
        };
        assert_eq!(changed(|_| {}), None);
        assert_eq!(
            changed(|now| now.version = "2".into()).as_deref(),
            Some("version 2 instead of unknown")
        );
        assert_eq!(
            changed(|now| now.sha256 = "2".into()).as_deref(),
            Some("its program file has changed")
        );
        let other = changed(|now| now.folder[1] = FileDigest::of("x.conf", b"y"));
        assert_eq!(other.as_deref(), Some("x.conf in its folder differs"));
        assert_eq!(changed(|now| drop(now.folder.pop())), other);
    }
}
