//! Replaces the addresses that nginx listens on. One of them is measured, and the others become
//! Unix sockets of the trial.

use std::collections::{BTreeMap, BTreeSet};

use super::parse::Directive;
use crate::wire::edits::Edits;
use crate::wire::{LISTENER, OTHER_PORT, PORT, Word};

const QUIC: &str = "the load generator does not use QUIC";
const SAME_PORT: &str = "another `listen` of this server uses the port";

/// Parameters of `listen` that do not apply to the trial's port.
const DROPPED: [&str; 4] = ["proxy_protocol", "ipv6only=on", "ipv6only=off", "bind"];

/// The ports of all servers. One of the ports is measured.
pub(super) struct Listeners {
    measured: String,
    pub(super) has_tls: bool,
    /// Sorted as text. The position of a port is part of its socket's name.
    ports: Vec<String>,
}

/// Facts about all servers on a port.
#[derive(Default)]
struct Port {
    /// The number of the servers' routes that lead to upstreams.
    routes: usize,
    /// True if any of the servers uses TLS on this port.
    has_tls: bool,
}

/// The ports of the server that is being edited.
#[derive(Default)]
pub(super) struct ServerPorts {
    /// The ports that have an address with TLS.
    secure: BTreeSet<String>,
    /// The ports whose line has been edited.
    used: BTreeSet<String>,
}

impl Listeners {
    /// Chooses the port whose servers have the most routes to upstreams.
    pub(super) fn of(whole: &[Directive]) -> Self {
        let mut ports: BTreeMap<String, Port> = BTreeMap::new();
        for server in in_http(whole, "server") {
            let routes = passes(server);
            for (port, has_tls) in listens(server) {
                let entry = ports.entry(port).or_default();
                entry.routes += routes;
                entry.has_tls |= has_tls;
            }
        }
        // On a tie, prefer a port without TLS, because that changes less of the file.
        let rank = |port: &str, it: &Port| (it.routes, !it.has_tls, port == "80");
        let best = ports.iter().max_by_key(|all| rank(all.0, all.1));
        let (measured, has_tls) = match best {
            Some((port, it)) => (port.clone(), it.has_tls),
            None => ("80".to_owned(), false),
        };
        Self {
            measured,
            has_tls,
            ports: ports.into_keys().collect(),
        }
    }

    /// Reports whether requests of the load reach the server.
    pub(super) fn is_measured(&self, server: &Directive) -> bool {
        let mut all = listens(server).into_iter();
        all.any(|(port, _)| port == self.measured)
    }

    /// Returns the ports of a server, which [`Self::edit`] needs to edit the server's `listen`
    /// lines. `listens` contains these lines, including those in included files. If there are none,
    /// adds a line.
    pub(super) fn begin(
        &self,
        server: &Directive,
        listens: &[&Directive],
        edits: &mut Edits<'_>,
    ) -> ServerPorts {
        if listens.is_empty()
            && let Some(first) = server.children().first()
        {
            // A server without `listen` uses port 80.
            let new = match self.measured == "80" {
                true => LISTENER.to_owned(),
                false => self.socket("80"),
            };
            edits.insert(first.span.start, format!("listen {new}; "), PORT);
        }
        let secure = listens
            .iter()
            .filter(|it| it.has_arg("ssl") && !it.has_arg("quic"))
            .filter_map(|it| it.args().first().map(|address| port_of(&address.text)));
        ServerPorts {
            secure: secure.collect(),
            used: BTreeSet::new(),
        }
    }

    pub(super) fn edit(&self, listen: &Directive, ports: &mut ServerPorts, edits: &mut Edits<'_>) {
        let Some(address) = listen.args().first() else {
            return;
        };
        let port = port_of(&address.text);
        if listen.has_arg("quic") {
            edits.remove(&listen.span, QUIC);
            return;
        }
        // If any address of a port uses TLS, one with TLS is kept.
        let is_plain = ports.secure.contains(&port) && !listen.has_arg("ssl");
        if is_plain || !ports.used.insert(port.clone()) {
            edits.remove(&listen.span, SAME_PORT);
            return;
        }
        let (new, why) = match port == self.measured {
            true => (LISTENER.to_owned(), PORT),
            false => (self.socket(&port), OTHER_PORT),
        };
        edits.replace(&address.span, new, why);
        for word in self.dropped(listen) {
            edits.remove(&word.span, why);
        }
    }

    fn dropped<'d>(&self, listen: &'d Directive) -> impl Iterator<Item = &'d Word> {
        let has_tls = self.has_tls;
        let is_dropped = move |word: &&Word| {
            DROPPED.contains(&word.text.as_str()) || (word.text == "ssl" && !has_tls)
        };
        listen.args()[1..].iter().filter(is_dropped)
    }

    fn socket(&self, port: &str) -> String {
        let number = self.ports.iter().position(|it| it == port).unwrap_or(0) + 1;
        format!("unix:{{{{ cwd }}}}/other-{number}.sock")
    }
}

/// Returns all directives with this name in the `http` block, and those at the top level of a file
/// that belongs inside an `http` block.
pub(super) fn in_http<'d>(
    whole: &'d [Directive],
    name: &'d str,
) -> impl Iterator<Item = &'d Directive> {
    let top = whole.iter().filter(move |it| it.name() == name);
    let http = whole.iter().filter(|it| it.name() == "http");
    top.chain(http.flat_map(move |http| http.named(name)))
}

/// Returns the ports of a server. The value of a port is true if any of its addresses uses TLS.
fn listens(server: &Directive) -> BTreeMap<String, bool> {
    // `ssl on` is the older way to enable TLS.
    let always = server.named("ssl").any(|it| it.arg(0) == "on");
    let mut all = BTreeMap::new();
    for listen in server.named("listen").filter(|it| !it.has_arg("quic")) {
        if let Some(address) = listen.args().first() {
            *all.entry(port_of(&address.text)).or_default() |= always || listen.has_arg("ssl");
        }
    }
    if server.named("listen").next().is_none() {
        all.insert("80".to_owned(), always);
    }
    all
}

/// Returns the port of an address, which is 80 if the address names none, or the whole address of a
/// Unix socket.
fn port_of(address: &str) -> String {
    if address.starts_with("unix:") {
        return address.to_owned();
    }
    let port = address.rsplit(':').next().unwrap_or(address);
    match port.chars().all(|c| c.is_ascii_digit()) && !port.is_empty() {
        true => port.to_owned(),
        false => "80".to_owned(),
    }
}

/// Counts the routes of a block that lead to an upstream.
fn passes(block: &Directive) -> usize {
    let own = block.named("proxy_pass").count();
    own + block.children().iter().map(passes).sum::<usize>()
}
