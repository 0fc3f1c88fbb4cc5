//! The requests that a load loses because of changes through an admin interface.

use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::format::{counted, grouped, percent};
use gatebench_report::section::Section;
use gatebench_report::{Tone, Unit};
use gatebench_store::{PhaseRecord, TrialRecord};

use super::{Place, called, cell, count};
use crate::common::changes::is_called;
use crate::common::context::Context;
use crate::common::facts::Sentence;

const EXPLANATION: &str = "A request is lost if it got no response, or a wrong one, in a load under which the gateway was \
     changed. For each change: the median of the blocks with their range. Losses in whole seconds before the first \
     change count against the trial.";

/// The requests lost in all loads of one name: over all blocks, and block by block.
#[derive(Default)]
struct Losses<'a> {
    place: Place<'a>,
    phase: &'a str,
    routes: u64,
    changes: u64,
    sent: u64,
    unanswered: u64,
    wrong: u64,
    /// The losses for each change, block by block.
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

    /// Counts the losses in the loads of that name; none if nothing was changed during them.
    fn of(place: Place<'a>, name: &'a str, records: &[&'a TrialRecord]) -> Option<Self> {
        let mut found = Self {
            place,
            phase: name,
            ..Self::default()
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
        let wrong = phase.counts.responses_failing_checks();
        self.routes = self.routes.max(admin.routes);
        self.changes += changes;
        self.sent += phase.counts.sent;
        self.unanswered += unanswered;
        self.wrong += wrong;
        self.each
            .push((unanswered + wrong) as f64 / changes.max(1) as f64);
    }

    fn row(&self) -> FigureRow {
        let counts = [self.changes, self.sent, self.unanswered, self.wrong];
        let mut cells: Vec<FigureCell> = counts.map(count).into();
        cells.push(cell(&self.each));
        let name = self.place.name(&format!("'{}'", self.phase), self.routes);
        FigureRow::new(name, self.place.variant, cells)
    }

    fn headline(&self) -> Option<Sentence> {
        let lost = self.unanswered + self.wrong;
        let share = lost as f64 / self.sent.max(1) as f64;
        (lost > 0).then(|| {
            let text = format!(
                "{} lost {} of {} requests ({}) in '{}' while it was changed {} through its admin interface.",
                self.place.variant,
                grouped(lost as f64),
                grouped(self.sent as f64),
                percent(share),
                self.phase,
                counted(self.changes, "time"),
            );
            let Place { scenario, variant, .. } = self.place;
            Sentence::new(Tone::Caution, text, Some(scenario), Some(variant))
        })
    }
}

/// A sentence for each load in which a gateway lost requests.
pub(crate) fn headlines(context: &Context) -> Vec<Sentence> {
    let all = Losses::all(context);
    all.iter().filter_map(Losses::headline).collect()
}

/// A row for each load during which a gateway was changed; none if there was no change.
pub(super) fn section(context: &Context) -> Option<Section> {
    let rows: Vec<FigureRow> = Losses::all(context).iter().map(Losses::row).collect();
    let column = |head: [&str; 2]| FigureColumn::new(head, Unit::Count);
    let all = [["changes", ""], ["requests", ""]];
    let lost = [
        ["no response", ""],
        ["wrong", "response"],
        ["for each", "change"],
    ];
    (!rows.is_empty()).then(|| Section {
        id: "admin-losses",
        heading: "Lost to admin calls",
        explanation: EXPLANATION,
        table: FigureTable {
            title: "requests while the gateway was changed".into(),
            first: "load",
            rows,
            groups: vec![
                FigureGroup::new("all blocks", "", all.map(column)),
                FigureGroup::new("lost", "", lost.map(column)),
            ],
        },
        graphs: Vec::new(),
    })
}
