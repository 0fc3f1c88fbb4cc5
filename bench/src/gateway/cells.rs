//! The cells. Each measures the reference gateway, and the gateways that it is compared with, in a
//! plain scenario and, except in cell `proxy`, in scenarios with policies.

/// Scenarios that are measured with the same gateways.
pub struct Cell {
    pub name: &'static str,
    pub title: &'static str,
    /// The scenario without policies. Whatever the other scenarios cost in addition is the cost of
    /// their policies.
    pub plain: &'static str,
    pub scenarios: &'static [&'static str],
    pub peers: Peers,
    /// The number of trials of each scenario in a round. The trial with the least CPU time counts,
    /// because disturbances only add to it. There is more than one trial if the effect is small
    /// compared with the noise.
    pub trials: usize,
    pub asked: Asked,
}

/// The gateways that the reference gateway is compared with.
pub enum Peers {
    Named(&'static [&'static str]),
    /// Every installed gateway whose folder has at least one policy of these scenarios.
    WithAPolicy,
}

/// A ratio and its highest permitted value.
#[derive(Clone, Copy)]
pub enum Asked {
    /// The CPU time of the reference gateway relative to each peer's.
    OfPeers(f64),
    /// The cost of a chain relative to its bare work.
    OfBareWork(f64),
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OfPeers(1.0) => f.write_str("less CPU time than each of the other gateways"),
            Self::OfPeers(most) => {
                write!(
                    f,
                    "at most {most} times the CPU time of each of the other gateways"
                )
            }
            Self::OfBareWork(most) => {
                write!(f, "at most {most} times the bare work for a chain")
            }
        }
    }
}

/// The name of the reference gateway, which is in all cells.
pub const OURS: &str = "reference";

pub const CELLS: &[Cell] = &[
    Cell {
        name: "proxy",
        title: "Plain proxy",
        plain: "proxy-json",
        scenarios: &[],
        peers: Peers::Named(&["nginx"]),
        trials: 1,
        asked: Asked::OfPeers(0.7),
    },
    Cell {
        name: "policies",
        title: "Policies that other gateways have, natively or by a script",
        plain: "proxy-json",
        scenarios: &[
            "api-key",
            "jwt-hs256",
            "jwt-rs256",
            "rate-limit-never-reached",
            "json-request-edits",
            "json-response-edits",
        ],
        peers: Peers::WithAPolicy,
        trials: 1,
        asked: Asked::OfPeers(1.0),
    },
    Cell {
        name: "soap",
        title: "SOAP/XML by libxml2 and libxslt",
        plain: "soap-0",
        scenarios: &[
            "soap-1", "soap-2", "soap-3", "soap-4", "soap-5", "soap-6", "soap-7",
        ],
        peers: Peers::Named(&["nginx-lua"]),
        trials: 1,
        asked: Asked::OfBareWork(1.3),
    },
    Cell {
        name: "soap-short",
        title: "The shortest chains by themselves",
        plain: "soap-0",
        scenarios: &["soap-1", "soap-2", "soap-6"],
        peers: Peers::Named(&[]),
        trials: 5,
        asked: Asked::OfBareWork(1.3),
    },
    Cell {
        name: "saxon",
        title: "XSLT 3.0 by SaxonC-HE in helper processes",
        plain: "soap-0",
        scenarios: &["soap-8", "soap-9", "soap-10"],
        peers: Peers::Named(&[]),
        trials: 1,
        asked: Asked::OfBareWork(1.5),
    },
];

impl Cell {
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.plain).chain(self.scenarios.iter().copied())
    }
}
