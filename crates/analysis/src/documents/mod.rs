//! A run in the columns of the documents whose scenarios it measures: their tables with our figures, what is told
//! beside, ratios against the published ones, and what was corrected.

mod artefacts;
mod checks;
mod corrections;
mod doubts;
mod measured;
mod policies;
mod published;
mod ratio;
mod sizings;
mod sweep;
mod versions;

use gatebench_store::{Run, StoreError};

use crate::Findings;
use crate::findings::{Correction, DocumentFindings, DocumentTable, SectionFindings};
use measured::{Load, Measured};
use policies::{Columns, Line};
use published::PolicyRow;

/// The suite that repeats the endurance of the Kong SOAP/XML load test.
const ENDURANCE: &str = "soap-endurance";

/// A published document whose scenarios are suites here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The Kong SOAP/XML load test.
    KongSoap,
    /// Its earlier edition.
    KongSoapEarlier,
    /// Kong against nginx, a sweep over connections.
    KongVsNginx,
    /// Gravitee's performance tests.
    Gravitee,
    /// Kong's performance testing framework.
    KongFramework,
    /// Kong's gateway benchmark.
    KongBenchmark,
}

impl Document {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::KongSoap => "soap",
            Self::KongSoapEarlier => "soap-earlier",
            Self::KongVsNginx => "kong-vs-nginx",
            Self::Gravitee => "gravitee",
            Self::KongFramework => "kong-framework",
            Self::KongBenchmark => "kong-benchmark",
        }
    }

    /// The suite that has its scenarios.
    pub fn suite(self) -> &'static str {
        match self {
            Self::KongSoapEarlier => "soap",
            other => other.name(),
        }
    }

    /// The suite of a run, where that repeats the document too; otherwise [`Document::suite`].
    fn suite_of(self, run: &str) -> &'static str {
        match self {
            Self::KongSoap if run == ENDURANCE => ENDURANCE,
            other => other.suite(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::KongSoap => "The Kong SOAP/XML load test",
            Self::KongSoapEarlier => "The Kong SOAP/XML load test, earlier edition",
            Self::KongVsNginx => "Kong against nginx",
            Self::Gravitee => "Gravitee's performance tests",
            Self::KongFramework => "Kong's performance testing framework",
            Self::KongBenchmark => "Kong's gateway benchmark",
        }
    }

    /// What its figures were measured on, as a sentence.
    fn setting(self) -> &'static str {
        match self {
            Self::KongSoap => {
                "Published of Kong 3.10 with SOAP/XML plug-ins 1.4.0 on 4 CPUs of a cluster, k6 and upstreams on nodes of their own."
            }
            Self::KongSoapEarlier => {
                "Published of Kong 3.9 with earlier plug-ins on 4 CPUs of a cluster, k6 and upstreams on nodes of their own."
            }
            Self::KongVsNginx => {
                "Published of Kong 0.14 and nginx 1.12 with 2 workers on a cloud machine of 4 cores, siege on another."
            }
            Self::Gravitee => {
                "Published of Gravitee 4.3 on 0.5, 4 and 16 CPUs of a cluster, k6 on other nodes."
            }
            Self::KongFramework => {
                "Published of a development version of Kong on a bare machine, wrk on another."
            }
            Self::KongBenchmark => "Its layout alone: of its figures none stand here.",
        }
    }
}

/// What a run says in the columns of a document. Scenarios are known by their names, so that any run which has
/// some of them will do.
///
/// # Errors
/// [`StoreError`] naming the file, where histograms or series cannot be read.
pub fn in_columns_of(
    document: Document,
    run: &Run,
    findings: &Findings,
) -> Result<DocumentFindings, StoreError> {
    let measured = Measured::of(run, findings)?;
    let mut notes = vec![doubts::length(document, run)];
    let (tables, corrections) = match document {
        Document::KongVsNginx => {
            notes.push(sweep::NETWORK.into());
            (sweep::tables(&measured), sweep_corrections(&measured))
        }
        Document::Gravitee => {
            let lines = sizings::lines(&measured);
            let first = lines
                .iter()
                .find(|it| it.iter().any(|line| !line.ramp.is_empty()));
            let corrections = first.map_or(Ok(Vec::new()), |it| corrections::of_sizings(it))?;
            (sizings::tables(&measured, &lines)?, corrections)
        }
        Document::KongFramework => {
            notes.extend(versions::absent(&measured));
            notes.extend(versions::left_out(&measured));
            (
                versions::tables(&measured),
                framework_corrections(&measured),
            )
        }
        Document::KongSoap | Document::KongSoapEarlier | Document::KongBenchmark => {
            of_policies(document, &measured, &mut notes)
        }
    };
    notes.extend(doubts::notes(document, &tables));
    Ok(DocumentFindings {
        document: document.name(),
        title: document.title(),
        setting: document.setting(),
        suite: document.suite(),
        command: findings.run.command.clone(),
        gatebench: findings.run.gatebench.clone(),
        doubts: doubts::of(findings, &tables),
        corrections: if tables.is_empty() {
            Vec::new()
        } else {
            corrections
        },
        tables,
        notes,
    })
}

/// What the bare network carried before loads of the floor, and what part of it was reached.
///
/// # Errors
/// As [`in_columns_of`].
pub(crate) fn network(
    run: &Run,
    findings: &Findings,
) -> Result<Option<SectionFindings>, StoreError> {
    let table = sweep::network(&Measured::of(run, findings)?);
    Ok(table.map(|table| SectionFindings {
        id: "network",
        heading: "Network ceiling",
        explanation: "Measured just before each load of the floor, on the cores of engine and upstream and by their event loops: \
             messages of a request's and an answer's size, that nobody reads. This is loopback, without cable and card: its ceiling is \
             that of these cores and of the kernel's copying, and says nothing of a network between machines.",
        table,
        graphs: Vec::new(),
    }))
}

/// A part of a document of policies.
struct Part {
    heading: &'static str,
    rows: &'static [PolicyRow],
    /// The row that others are set against.
    base: &'static str,
    /// The suite that has its scenarios.
    suite: &'static str,
}

const fn part(
    heading: &'static str,
    rows: &'static [PolicyRow],
    base: &'static str,
    suite: &'static str,
) -> Part {
    Part {
        heading,
        rows,
        base,
        suite,
    }
}

fn parts(document: Document) -> (Columns, &'static [Part]) {
    const SOAP: [Part; 3] = [
        part("performance", &published::SOAP, "soap-0", "soap"),
        part(
            "endurance, 100 routes",
            &published::SOAP_ENDURANCE,
            "soap-5-routes",
            ENDURANCE,
        ),
        part(
            "errors beside good requests",
            &published::SOAP_ERRORS,
            "soap-1-errors",
            "soap",
        ),
    ];
    const EARLIER: [Part; 1] = [part(
        "performance",
        &published::SOAP_EARLIER,
        "soap-1",
        "soap",
    )];
    const KONG: [Part; 1] = [part(
        "policies",
        &published::BENCHMARK,
        "kong-no-policy-1",
        "kong-benchmark",
    )];
    match document {
        Document::KongSoapEarlier => (Columns::WithoutGatewayLatency, &EARLIER),
        Document::KongBenchmark => (Columns::Percentiles, &KONG),
        _ => (Columns::Whole, &SOAP),
    }
}

fn of_policies(
    document: Document,
    measured: &Measured<'_>,
    notes: &mut Vec<String>,
) -> (Vec<DocumentTable>, Vec<Correction>) {
    let (columns, parts) = parts(document);
    let (mut tables, mut corrected) = (Vec::new(), Vec::new());
    for part in parts {
        let mut any = false;
        for variant in measured.variants().into_iter().filter(|it| *it != "floor") {
            let lines: Vec<Line<'_>> = policies::lines(measured, part.rows, variant);
            let title = format!("{variant}: {}", part.heading);
            let table = policies::table(measured, &lines, (title, columns, part.base));
            if table.is_some() && !any {
                notes.extend(doubts::not_in_run(part.suite, measured, &lines));
                any = true;
            }
            tables.extend(table);
            corrected.extend(lines.into_iter().filter(|line| !line.closed.is_empty()));
        }
        if !any {
            notes.push(format!(
                "Nothing of '{}' is in this run. The suite '{}' has it.",
                part.heading, part.suite
            ));
        }
    }
    // One gateway is enough to show what ways of measuring do.
    let first = corrected.first().map(|line| line.variant);
    corrected.retain(|line| Some(line.variant) == first);
    let corrections = first.map(|_| corrections::of_policies(document, &corrected));
    (tables, corrections.unwrap_or_default())
}

/// The corrections of the sweep: of each target at its most connections.
fn sweep_corrections(measured: &Measured<'_>) -> Vec<Correction> {
    corrections::of_sweep(&sweep::at_most_connections(measured))
}

fn framework_corrections(measured: &Measured<'_>) -> Vec<Correction> {
    let scenarios = &measured.run.manifest().plan.scenarios;
    let several = scenarios.len() > 1;
    let mut all: Vec<(String, Vec<Load<'_>>)> = Vec::new();
    for scenario in scenarios {
        for variant in measured.variants() {
            let runs = versions::runs(measured, &scenario.scenario, variant);
            let name = if several {
                format!("{} · {variant}", scenario.scenario)
            } else {
                variant.to_owned()
            };
            all.push((name, runs));
        }
    }
    all.retain(|(_, runs)| !runs.is_empty());
    corrections::of_versions(&all)
}
