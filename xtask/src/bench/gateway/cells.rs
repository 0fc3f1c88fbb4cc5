//! What is measured with what.

/// Scenarios that are set side by side at several gateways.
pub struct Cell {
    pub name: &'static str,
    pub title: &'static str,
    /// The scenario without policies; what the others cost beyond it is their policies'.
    pub plain: &'static str,
    pub scenarios: &'static [&'static str],
    /// Ours first.
    pub gateways: &'static [&'static str],
    /// Trials of each scenario in a round, of which the one of least CPU counts: what disturbs a trial only
    /// adds to it. More than one where what is looked for is small beside what disturbs.
    pub trials: usize,
    /// What is asked: ours over the peer's CPU, or what a chain adds over its bare work, at most.
    pub asked: &'static str,
}

pub const CELLS: &[Cell] = &[
    Cell {
        name: "proxy",
        title: "Plain proxy",
        plain: "proxy-json",
        scenarios: &[],
        gateways: &["reference", "nginx"],
        trials: 1,
        asked: "at most 0.7 of nginx",
    },
    Cell {
        name: "policies",
        title: "Policies, where the others have them natively",
        plain: "proxy-json",
        scenarios: &[
            "api-key",
            "jwt-hs256",
            "jwt-rs256",
            "rate-limit-never-reached",
            "json-request-edits",
            "json-response-edits",
        ],
        gateways: &[
            "reference",
            "nginx",
            "haproxy",
            "envoy",
            "nginx-lua",
            "nginx-njs",
        ],
        trials: 1,
        asked: "less than each of the others",
    },
    Cell {
        name: "soap",
        title: "SOAP/XML by libxml2 and libxslt",
        plain: "soap-0",
        scenarios: &[
            "soap-1", "soap-2", "soap-3", "soap-4", "soap-5", "soap-6", "soap-7",
        ],
        gateways: &["reference", "nginx-lua"],
        trials: 1,
        asked: "a chain adds at most 1.3 of its bare work; less than nginx-lua in all",
    },
    Cell {
        name: "soap-short",
        title: "The shortest chains by themselves",
        plain: "soap-0",
        scenarios: &["soap-1", "soap-2", "soap-6"],
        gateways: &["reference"],
        trials: 5,
        asked: "a chain adds at most 1.3 of its bare work",
    },
    Cell {
        name: "saxon",
        title: "XSLT 3.0 by SaxonC-HE in helper processes",
        plain: "soap-0",
        scenarios: &["soap-8", "soap-9", "soap-10"],
        gateways: &["reference"],
        trials: 1,
        asked: "a chain adds at most 1.5 of its bare work",
    },
];

impl Cell {
    /// All its scenarios, the plain one first.
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.plain).chain(self.scenarios.iter().copied())
    }
}
