//! Replaces the addresses that HAProxy listens on. One of them is measured, and the others become
//! Unix sockets of the trial.

use super::parse::{Keyword, Line, Section};
use crate::wire::edits::Edits;
use crate::wire::{CERTIFICATE, LISTENER, OTHER_PORT, PORT};

/// Keywords of `bind` that need TLS.
const TLS: [Keyword; 9] = [
    ("ssl", 0),
    ("alpn", 1),
    ("npn", 1),
    ("ciphers", 1),
    ("ciphersuites", 1),
    ("curves", 1),
    ("strict-sni", 0),
    ("ssl-min-ver", 1),
    ("ssl-max-ver", 1),
];

/// Keywords for TLS that refer to the user's files, and `verify`, which requires such a file.
const CERTIFICATES: [Keyword; 7] = [
    ("crt", 1),
    ("crt-list", 1),
    ("ca-file", 1),
    ("ca-verify-file", 1),
    ("ca-sign-file", 1),
    ("crl-file", 1),
    ("verify", 1),
];

/// Keywords of `bind` that do not apply to the trial's port.
const OTHER: [Keyword; 7] = [
    ("accept-proxy", 0),
    ("interface", 1),
    ("namespace", 1),
    ("process", 1),
    ("thread", 1),
    ("v4v6", 0),
    ("v6only", 0),
];

/// The `bind` line whose address is measured, if there is one.
#[derive(Default)]
pub(super) struct Binds {
    /// The positions of the first bytes of the section and of the `bind` line.
    measured: Option<(usize, usize)>,
    pub(super) has_tls: bool,
}

impl Binds {
    /// Chooses an address of the HTTP frontend with the most routes: preferably one with TLS if the
    /// frontend redirects to TLS, and otherwise one without.
    pub(super) fn of(sections: &[Section]) -> Self {
        let is_tcp = |section: &Section| section.named("mode").any(|it| it.word(1) == "tcp");
        let mut defaults = sections.iter().filter(|it| it.kind() == "defaults");
        let default_is_tcp = defaults.any(is_tcp);
        let is_open = |it: &&Section| matches!(it.kind(), "frontend" | "listen");
        let words = [
            "use_backend",
            "default_backend",
            "server",
            "server-template",
        ];
        let mut candidates = Vec::new();
        for section in sections.iter().filter(is_open) {
            let routes: usize = words.iter().map(|it| section.named(it).count()).sum();
            let redirect = ["redirect", "scheme", "https"];
            let redirects = |line: &Line| redirect.iter().all(|word| line.has(word));
            let redirects = section.lines.iter().any(redirects);
            let is_http = match section.named("mode").next() {
                Some(_) => !is_tcp(section),
                None => !default_is_tcp,
            };
            for bind in section.named("bind") {
                let has_tls = bind.has("ssl");
                let measured = Some((section.head.span.start, bind.span.start));
                let rank = (is_http, routes, has_tls == redirects);
                candidates.push((rank, Self { measured, has_tls }));
            }
        }
        // On a tie, choose the first one.
        let best = candidates.into_iter().rev().max_by_key(|it| it.0);
        best.map(|it| it.1).unwrap_or_default()
    }

    /// Reports whether requests of the load reach the section.
    pub(super) fn is_measured(&self, section: &Section) -> bool {
        self.measured
            .is_some_and(|(start, _)| start == section.head.span.start)
    }

    pub(super) fn edit(&self, section: &Section, edits: &mut Edits<'_>) {
        for bind in section.named("bind") {
            let Some(address) = bind.words.get(1) else {
                continue;
            };
            let is_measured = self
                .measured
                .is_some_and(|(_, line)| line == bind.span.start);
            let (new, why) = match is_measured {
                true => (LISTENER.to_owned(), PORT),
                false => (
                    format!("unix@{{{{ cwd }}}}/other-{}.sock", bind.span.start),
                    OTHER_PORT,
                ),
            };
            edits.replace(&address.span, new, why);
            self.words(bind, edits);
        }
    }

    fn words(&self, bind: &Line, edits: &mut Edits<'_>) {
        let all = [TLS.as_slice(), &CERTIFICATES, &OTHER].concat();
        for (keyword, span) in bind.keywords(2, &all) {
            let is_certificate = CERTIFICATES.contains(&keyword);
            match keyword.0 {
                _ if OTHER.contains(&keyword) => edits.remove(&span, PORT),
                "crt" | "crt-list" if self.has_tls => {
                    edits.replace(&span, "crt {{ listeners[0].tls.certificate }}", CERTIFICATE);
                }
                _ if is_certificate || !self.has_tls => edits.remove(&span, CERTIFICATE),
                _ => {}
            }
        }
    }
}
