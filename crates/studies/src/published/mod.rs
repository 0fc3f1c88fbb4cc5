//! Prints a run in the columns of a published document: tables by the document's method with
//! gatebench's figures next to them, ratios compared with the published ones, and the differences
//! in method. Each document is a data file.

mod artefacts;
mod chapters;
mod checks;
mod corrections;
mod doubts;
pub mod facts;
mod figures;
mod layout;
mod measured;
mod network;
mod rows;
mod targets;
mod versions;

use gatebench_model::Published;
use gatebench_model::published::RowKind;
use gatebench_report::format::distinct;
use gatebench_report::section::Section;
use gatebench_store::{Run, StoreError};

use crate::Findings;
use facts::DocumentFindings;
use measured::Measured;

/// Returns the figures of a run in the columns of a document. Scenarios are matched by name, so any
/// run that has some of them can be printed.
///
/// # Errors
/// Fails with a [`StoreError`] that names the file if histograms or series cannot be read.
pub fn in_columns_of(
    document: &Published,
    run: &Run,
    findings: &Findings,
) -> Result<DocumentFindings, StoreError> {
    let measured = Measured::of(run, findings)?;
    let laid = layout::lay_out(document, &measured)?;
    let mut notes = vec![doubts::length(document, &run.manifest().plan)];
    notes.extend(document.notes.iter().cloned());
    notes.extend(laid.absent);
    if document.tables.iter().any(|it| it.row == RowKind::Version) {
        notes.extend(versions::absent(document, &measured));
        notes.extend(versions::left_out(&measured));
    }
    notes.extend(distinct(laid.unmeasured));
    let mut tables = laid.tables;
    let mut corrections = Vec::new();
    if !tables.is_empty() {
        corrections = corrections::of(document, &measured, laid.cases)?;
        let network = document.network_ceiling.then(|| network::table(&measured));
        tables.splice(0..0, network.flatten());
    }
    Ok(DocumentFindings {
        document: document.published.clone(),
        title: document.title.clone(),
        setting: document.setting.clone(),
        suite: document.suite.clone(),
        command: findings.run.command.clone(),
        gatebench: findings.run.gatebench.clone(),
        doubts: doubts::of(findings, &tables),
        corrections,
        tables,
        notes,
    })
}

/// The throughput of the bare network before direct loads, and the share of it that the loads
/// reached.
///
/// # Errors
/// See [`in_columns_of`].
pub(crate) fn network(run: &Run, findings: &Findings) -> Result<Option<Section>, StoreError> {
    let table = network::table(&Measured::of(run, findings)?);
    Ok(table.map(|table| Section {
        id: "network",
        heading: "Network ceiling",
        explanation: "The bare network is measured just before each direct load. On their usual \
             cores, the event loops of the load generator and the upstream exchange messages of \
             the size of a request and of a response, whose content is not read. This is the \
             loopback interface, without cables or network cards: its ceiling depends on these \
             cores and on copying in the kernel, and not on any network between machines.",
        table,
        graphs: Vec::new(),
    }))
}
