//! The addresses on which HAProxy listens: one of them is measured, the others become Unix sockets
//! of the trial.

use super::parse::{Line, Section};
use crate::wire::LISTENER;
use crate::wire::edits::Edits;

const PORT: &str = "each trial has its own port";
const OTHER_PORT: &str =
    "only one port is measured; the others are sockets in the folder of the trial";
const CERTIFICATE: &str = "each trial has its own certificate";

/// Keywords of `bind` that need TLS, with the number of arguments of each.
const TLS: [(&str, usize); 16] = [
    ("ssl", 0),
    ("crt", 1),
    ("crt-list", 1),
    ("ca-file", 1),
    ("ca-verify-file", 1),
    ("ca-sign-file", 1),
    ("crl-file", 1),
    ("verify", 1),
    ("alpn", 1),
    ("npn", 1),
    ("ciphers", 1),
    ("ciphersuites", 1),
    ("curves", 1),
    ("strict-sni", 0),
    ("ssl-min-ver", 1),
    ("ssl-max-ver", 1),
];

/// Keywords for files that only the user has; with TLS, the certificate is replaced instead.
const CERTIFICATES: [&str; 7] = [
    "crt",
    "crt-list",
    "ca-file",
    "ca-verify-file",
    "ca-sign-file",
    "crl-file",
    "verify",
];

/// Keywords that cannot be used with the trial's port, with the number of arguments of each.
const OTHER: [(&str, usize); 7] = [
    ("accept-proxy", 0),
    ("interface", 1),
    ("namespace", 1),
    ("process", 1),
    ("thread", 1),
    ("v4v6", 0),
    ("v6only", 0),
];

/// The place of the address that is measured.
pub(super) struct Binds {
    /// The positions of the section's line and of the `bind` line, by their first bytes.
    measured: Option<(usize, usize)>,
    pub(super) has_tls: bool,
}

/// An address, and how well it suits a measurement.
struct Candidate {
    section: usize,
    line: usize,
    has_tls: bool,
    routes: usize,
    is_http: bool,
}

fn has_word(line: &Line, word: &str) -> bool {
    line.words.iter().any(|it| it.text == word)
}

impl Binds {
    /// Chooses the address of the frontend with the most routes. If it redirects to TLS, chooses an
    /// address with TLS.
    pub(super) fn of(sections: &[Section]) -> Self {
        let is_tcp = |section: &Section| section.named("mode").any(|it| it.word(1) == "tcp");
        let default_is_tcp = sections
            .iter()
            .any(|it| it.kind() == "defaults" && is_tcp(it));
        let mut best: Option<Candidate> = None;
        for section in sections
            .iter()
            .filter(|it| matches!(it.kind(), "frontend" | "listen"))
        {
            let routes = [
                "use_backend",
                "default_backend",
                "server",
                "server-template",
            ];
            let routes = routes.iter().map(|word| section.named(word).count()).sum();
            let redirects = section.lines.iter().any(|line| {
                has_word(line, "redirect") && has_word(line, "scheme") && has_word(line, "https")
            });
            let has_mode = section.named("mode").next().is_some();
            let is_http = if has_mode {
                !is_tcp(section)
            } else {
                !default_is_tcp
            };
            for bind in section.named("bind") {
                let candidate = Candidate {
                    section: section.head.span.start,
                    line: bind.span.start,
                    has_tls: has_word(bind, "ssl"),
                    routes,
                    is_http,
                };
                let rank = |it: &Candidate| (it.is_http, it.routes, it.has_tls == redirects);
                if best
                    .as_ref()
                    .is_none_or(|best| rank(&candidate) > rank(best))
                {
                    best = Some(candidate);
                }
            }
        }
        Self {
            has_tls: best.as_ref().is_some_and(|it| it.has_tls),
            measured: best.map(|it| (it.section, it.line)),
        }
    }

    /// Reports whether requests of the load reach the section.
    pub(super) fn is_measured(&self, section: &Section) -> bool {
        self.measured
            .is_some_and(|(start, _)| start == section.head.span.start)
    }

    /// Replaces the addresses of a section.
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
        let words = bind.from(2);
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            let of_tls = TLS.iter().find(|(name, _)| *name == text);
            let other = OTHER.iter().find(|(name, _)| *name == text);
            let Some((_, count)) = of_tls.or(other) else {
                at += 1;
                continue;
            };
            let last = words.get(at + count).unwrap_or(word);
            let span = word.span.start..last.span.end;
            if other.is_some() {
                edits.remove(&span, PORT);
            } else if !self.has_tls {
                edits.remove(&span, CERTIFICATE);
            } else if text == "crt" || text == "crt-list" {
                edits.replace(&span, "crt {{ listeners[0].tls.certificate }}", CERTIFICATE);
            } else if CERTIFICATES.contains(&text) {
                edits.remove(&span, CERTIFICATE);
            }
            at += count + 1;
        }
    }
}
