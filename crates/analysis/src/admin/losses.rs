//! What changes through an admin interface cost the requests beside them.

use gatebench_store::{PhaseRecord, TrialRecord};

use super::{Place, called, cell, count};
use crate::changes::is_called;
use crate::context::Context;
use crate::findings::{
    DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, SectionFindings,
    Sentence, Tone, Unit,
};
use crate::format::{counted, grouped, percent};

const EXPLANATION: &str = "A request is lost where it got no answer, or a wrong one, in a load under which the gateway was \
     changed. For each change: the median of the blocks with their range. Losses of whole seconds before the first change are a \
     reason against the trial.";

/// What was lost in the loads of a name: over all blocks, and block by block.
struct Losses<'a> {
    place: Place<'a>,
    phase: &'a str,
    routes: u64,
    changes: u64,
    sent: u64,
    unanswered: u64,
    wrong: u64,
    /// Of each block, for each change.
    each: Vec<f64>,
}

impl<'a> Losses<'a> {
    fn all(context: &Context<'a>) -> Vec<Self> {
        let places = Place::all(context);
        let of_place = |(place, records): &(Place<'a>, Vec<&'a TrialRecord>)| {
            let names = called(records).into_iter();
            let of_name = |name| Self::of(*place, name, records);
            names.filter_map(of_name).collect::<Vec<_>>()
        };
        places.iter().flat_map(of_place).collect()
    }

    /// Of the loads of that name; none where nothing was changed under them.
    fn of(place: Place<'a>, name: &'a str, records: &[&'a TrialRecord]) -> Option<Self> {
        let mut found = Self {
            place,
            phase: name,
            routes: 0,
            changes: 0,
            sent: 0,
            unanswered: 0,
            wrong: 0,
            each: Vec::new(),
        };
        let phases = records.iter().flat_map(|record| &record.phases);
        for phase in phases.filter(|phase| phase.name == name && is_called(phase)) {
            found.add(phase);
        }
        (found.changes > 0).then_some(found)
    }

    fn add(&mut self, phase: &PhaseRecord) {
        let Some(admin) = &phase.admin else { return };
        let changes = admin.changes();
        let unanswered: u64 = phase.counts.errors.values().sum();
        let wrong = phase.counts.answers_failing_checks();
        self.routes = self.routes.max(admin.routes);
        self.changes += changes;
        self.sent += phase.counts.sent;
        self.unanswered += unanswered;
        self.wrong += wrong;
        self.each
            .push((unanswered + wrong) as f64 / changes.max(1) as f64);
    }

    fn row(&self) -> DocumentRow {
        let counts = [self.changes, self.sent, self.unanswered, self.wrong];
        let mut cells: Vec<DocumentCell> = counts.map(count).into();
        cells.push(cell(&self.each));
        DocumentRow {
            name: self.place.name(&format!("'{}'", self.phase), self.routes),
            variant: self.place.variant.to_owned(),
            absence: None,
            validity: None,
            cells,
        }
    }

    fn headline(&self) -> Option<Sentence> {
        let lost = self.unanswered + self.wrong;
        let share = lost as f64 / self.sent.max(1) as f64;
        (lost > 0).then(|| Sentence {
            text: format!(
                "{} lost {} of {} requests ({}) in '{}' while it was changed {} through its admin interface.",
                self.place.variant,
                grouped(lost as f64),
                grouped(self.sent as f64),
                percent(share),
                self.phase,
                counted(self.changes, "time"),
            ),
            tone: Tone::Caution,
            scenario: Some(self.place.scenario.to_owned()),
            variant: Some(self.place.variant.to_owned()),
        })
    }
}

/// What each gateway lost; nothing where nothing was.
pub(crate) fn headlines(context: &Context) -> Vec<Sentence> {
    Losses::all(context)
        .iter()
        .filter_map(Losses::headline)
        .collect()
}

/// A row for each load under which a gateway was changed; none where none was.
pub(super) fn section(context: &Context) -> Option<SectionFindings> {
    let rows: Vec<DocumentRow> = Losses::all(context).iter().map(Losses::row).collect();
    let column = |head: [&str; 2]| DocumentColumn::new(head, Unit::Count);
    (!rows.is_empty()).then(|| SectionFindings {
        id: "admin-losses",
        heading: "Lost to admin calls",
        explanation: EXPLANATION,
        table: DocumentTable {
            title: "requests while the gateway was changed".into(),
            first: "load",
            rows,
            groups: vec![
                DocumentGroup {
                    title: "all blocks".into(),
                    label: String::new(),
                    columns: [["changes", ""], ["requests", ""]].map(column).into(),
                },
                DocumentGroup {
                    title: "lost".into(),
                    label: String::new(),
                    columns: [
                        ["no answer", ""],
                        ["wrong", "answer"],
                        ["for each", "change"],
                    ]
                    .map(column)
                    .into(),
                },
            ],
        },
        graphs: Vec::new(),
    })
}
