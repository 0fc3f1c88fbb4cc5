//! Finds the conditions under which the measured frontend leads to a backend with servers.

use std::collections::BTreeMap;

use super::bind::Binds;
use super::parse::{Line, Section};
use crate::wire::Word;
use crate::wire::scenario::Hint;

/// The host and path that a condition requires of a request.
#[derive(Clone, Debug, Default)]
struct Demand {
    host: Option<String>,
    path: Option<String>,
}

impl Demand {
    fn is_empty(&self) -> bool {
        self.host.is_none() && self.path.is_none()
    }
}

/// Returns a [`Hint`] for each route that leads to servers and whose condition is understood.
pub(super) fn hints(sections: &[Section], binds: &Binds) -> Vec<Hint> {
    let leads = |line: &&Line| {
        let mut backends = sections.iter().filter(|it| it.kind() == "backend");
        backends.any(|it| it.name() == line.word(1) && has_server(it))
    };
    let mut hints = Vec::new();
    for section in sections.iter().filter(|it| binds.is_measured(it)) {
        if has_server(section) {
            hints.push(Hint::prefix(None, "/"));
        }
        let conditions = conditions(section);
        let demands = section.named("use_backend").filter(leads);
        hints.extend(
            demands
                .filter_map(|line| demand(line, &conditions))
                .map(|demand| {
                    let path = demand.path.as_deref().unwrap_or("/");
                    Hint::prefix(demand.host, path)
                }),
        );
        let default = section.named("default_backend").filter(leads);
        hints.extend(default.map(|_| Hint::prefix(None, "/")));
    }
    hints
}

fn has_server(section: &Section) -> bool {
    let mut words = ["server", "server-template"].into_iter();
    words.any(|word| section.named(word).next().is_some())
}

fn conditions(section: &Section) -> BTreeMap<&str, Demand> {
    let mut all: BTreeMap<&str, Demand> = BTreeMap::new();
    for line in section.named("acl") {
        let entry = all.entry(line.word(1)).or_default();
        // Several lines with the same name are alternatives, so the first line that is understood
        // suffices.
        if entry.is_empty() {
            *entry = of_words(line.from(2));
        }
    }
    all
}

/// Returns the host or path that a test such as `path_beg -i /api` requires of a request.
fn of_words(words: &[Word]) -> Demand {
    let mut demand = Demand::default();
    let mut words = words.iter().map(|word| word.text.as_str());
    let is_value = |it: &&str| !it.starts_with('-') && !matches!(*it, "m" | "beg" | "str");
    let (Some(fetch), Some(value)) = (words.next(), words.find(is_value)) else {
        return demand;
    };
    let kind = fetch.split([',', '(']).next().unwrap_or(fetch);
    if fetch.contains("host") || kind.starts_with("req.hdr_host") {
        demand.host = match kind {
            "hdr_end" | "hdr_dom" => Some(format!("a.{}", value.trim_start_matches('.'))),
            "hdr" | "hdr_beg" | "req.hdr" => Some(value.to_owned()),
            _ => None,
        };
    } else if matches!(kind, "path" | "path_beg" | "path_dir" | "url_beg" | "url") {
        demand.path = Some(value.to_owned()).filter(|it| it.starts_with('/'));
    }
    demand
}

/// Returns the host and path that a line's condition requires of a request, or `None` if they are
/// unknown.
fn demand(line: &Line, conditions: &BTreeMap<&str, Demand>) -> Option<Demand> {
    let mut demand = Demand::default();
    let words = line.from(2);
    match words.first().map(|word| word.text.as_str()) {
        None => return Some(demand),
        Some("if") => {}
        Some(_) => return None,
    }
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let found = match word.text.as_str() {
            "{" => {
                let rest = &words[at + 1..];
                let end = rest.iter().position(|it| it.text == "}");
                let end = end.unwrap_or(rest.len());
                at += end + 1;
                of_words(&rest[..end])
            }
            // Either side of `or` suffices.
            "or" | "||" => break,
            name if name.starts_with('!') => Demand::default(),
            name => conditions.get(name).cloned()?,
        };
        demand.host = demand.host.or(found.host);
        demand.path = demand.path.or(found.path);
        at += 1;
    }
    (!demand.is_empty()).then_some(demand)
}
