//! Reports the time that calls to admin interfaces take, the time until they take effect, and the
//! requests lost in loads during which the gateway is changed.

use gatebench_model::admin::AdminVerb;
use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::format::{counted, distinct, grouped, percent};
use gatebench_report::section::Section;
use gatebench_report::{Tone, Unit, Validity};
use gatebench_stats::{Estimate, is_trustworthy};
use gatebench_store::{AdminLoadRecord, AdminRecord, PhaseRecord, TrialRecord};

use crate::common::changes::is_called;
use crate::common::context::Context;
use crate::common::facts::Sentence;

const EXPLANATION: &str = "Calls are made one after the other, each on a separate connection, and \
     timed until the whole response has arrived. After the loads, a change counts as in effect as \
     soon as the gateway applies it to a new connection; the time until then is measured from the \
     beginning of the call. Under a load, a call is timed from when it was due until the end of \
     its response; calls that were not made because no time was left would have been among the \
     longest. p50 is the median of the blocks' medians, with their range; p90 and p99 cover the \
     calls of all blocks, and each is shown only if at least ten calls took longer.";

const LOSSES: &str = "A request counts as lost if it got no response, or a wrong one, during a \
     load in which the gateway was changed. The figures per change are medians of the blocks, with \
     their ranges. Losses in the whole seconds before the first change also count against the \
     trial, because the change did not cause them.";

/// Returns the table of the calls that were made after and during the loads, and the table of the
/// requests that were lost during them. A table without rows is left out.
pub(crate) fn sections(context: &Context) -> Vec<Section> {
    let calls = section(context);
    calls.into_iter().chain(losses(context)).collect()
}

#[derive(Clone, Copy, Default)]
struct Place<'a> {
    variant: &'a str,
    scenario: &'a str,
    /// True if calls are made in several scenarios.
    is_one_of_several: bool,
}

impl<'a> Place<'a> {
    /// Every variant in every scenario with admin calls, together with its completed trials.
    fn all(context: &Context<'a>) -> Vec<(Self, Vec<&'a TrialRecord>)> {
        let plan = context.plan;
        let called = || plan.scenarios.iter().filter(|it| it.admin.is_some());
        let are_several = called().count() > 1;
        let places = called().flat_map(|scenario| {
            plan.variants.iter().map(move |variant| {
                let (name, label) = (scenario.scenario.as_str(), variant.label());
                let own = context.completed_of(name, label);
                let place = Self {
                    variant: label,
                    scenario: name,
                    is_one_of_several: are_several,
                };
                (place, own.collect())
            })
        });
        places.collect()
    }

    /// The name of a row: `caddy · create, 1,000 routes`, or `caddy · create in admin-1000`.
    fn name(&self, what: &str, routes: u64) -> String {
        let Self {
            variant, scenario, ..
        } = self;
        match (self.is_one_of_several, routes) {
            (true, _) => format!("{variant} · {what} in {scenario}"),
            (false, 1) => format!("{variant} · {what}, 1 route"),
            (false, routes) => format!("{variant} · {what}, {} routes", grouped(routes as f64)),
        }
    }
}

fn section(context: &Context) -> Option<Section> {
    let mut rows = Vec::new();
    for (place, records) in Place::all(context) {
        rows.extend(after_loads(&records, place));
        rows.extend(under_loads(&records, place));
    }
    let calls = |name| FigureColumn::new([name, ""], Unit::Count);
    let time = |name| FigureColumn::new([name, ""], Unit::Nanoseconds);
    let times = || ["p50", "p90", "p99", "longest"].map(time);
    (!rows.is_empty()).then(|| Section {
        id: "admin",
        heading: "Admin interface",
        explanation: EXPLANATION,
        table: FigureTable {
            title: "creating, reading, updating and deleting a route".into(),
            first: "call",
            rows,
            groups: vec![
                FigureGroup::new("calls", "", ["calls", "failed", "not made"].map(calls)),
                FigureGroup::new("until the response", "", times()),
                FigureGroup::new("until it takes effect", "", times()),
            ],
        },
        graphs: Vec::new(),
    })
}

/// The rows for each kind of call in the rounds after the loads; none if there were no rounds.
fn after_loads(records: &[&TrialRecord], place: Place<'_>) -> Vec<FigureRow> {
    let rounds: Vec<&AdminRecord> = records.iter().filter_map(|it| it.admin.as_ref()).collect();
    let verbs = AdminVerb::ALL.into_iter().filter(|_| !rounds.is_empty());
    verbs.map(|verb| row(verb, place, &rounds)).collect()
}

/// A row for each kind of call under each load that had calls.
fn under_loads(records: &[&TrialRecord], place: Place<'_>) -> Vec<FigureRow> {
    let phases = || records.iter().flat_map(|record| &record.phases);
    let of_phase = |name: &str| {
        let alike = phases().filter(|phase| phase.name == name);
        let calls: Vec<&AdminLoadRecord> = alike.filter_map(|it| it.admin.as_ref()).collect();
        AdminVerb::ALL.map(|verb| row_under(verb, place, name, &calls))
    };
    called(records).into_iter().flat_map(of_phase).collect()
}

fn called<'a>(records: &[&'a TrialRecord]) -> Vec<&'a str> {
    let phases = records.iter().flat_map(|record| &record.phases);
    let with_calls = phases.filter(|phase| phase.admin.is_some());
    distinct(with_calls.map(|phase| phase.name.as_str()))
}

fn row_under(
    verb: AdminVerb,
    place: Place<'_>,
    phase: &str,
    records: &[&AdminLoadRecord],
) -> FigureRow {
    let took = of_blocks(records, |it| it.took_ns.get(&verb));
    let failed: u64 = records.iter().filter_map(|it| it.failed.get(&verb)).sum();
    let unmade: u64 = records.iter().filter_map(|it| it.unmade.get(&verb)).sum();
    let calls = took.iter().map(Vec::len).sum::<usize>() as u64 + failed;
    let routes = records.iter().map(|it| it.routes).max().unwrap_or(0);
    let mut cells: Vec<FigureCell> = [calls, failed, unmade].map(count).into();
    cells.extend(figures(&took));
    // During a load, the effect of a call is not polled, because the polling requests would add
    // load.
    cells.extend((0..4).map(|_| FigureCell::default()));
    let name = place.name(&format!("{} under '{phase}'", verb.as_str()), routes);
    FigureRow {
        absence: (calls + unmade == 0).then(|| "none was due".into()),
        ..FigureRow::new(name, place.variant, cells)
    }
}

fn row(verb: AdminVerb, place: Place<'_>, records: &[&AdminRecord]) -> FigureRow {
    let took: Vec<Vec<u64>> = of_blocks(records, |it| it.took_ns.get(&verb));
    let effective: Vec<Vec<u64>> = of_blocks(records, |it| it.effective_ns.get(&verb));
    let calls: usize = took.iter().map(Vec::len).sum();
    let routes = records.iter().map(|it| it.routes).max().unwrap_or(0);
    let mut cells = vec![count(calls as u64)];
    cells.extend((0..2).map(|_| FigureCell::default()));
    cells.extend(figures(&took));
    cells.extend(figures(&effective));
    FigureRow {
        absence: (calls == 0).then(|| "failed".into()),
        ..FigureRow::new(place.name(verb.as_str(), routes), place.variant, cells)
    }
}

fn count(number: u64) -> FigureCell {
    FigureCell::of_one(Some(number as f64))
}

/// The times of each block in ascending order, without the blocks that have none.
fn of_blocks<'a, R>(
    records: &[&'a R],
    times: impl Fn(&'a R) -> Option<&'a Vec<u64>>,
) -> Vec<Vec<u64>> {
    let known = records.iter().filter_map(|record| times(record).cloned());
    let mut blocks: Vec<Vec<u64>> = known.filter(|it| !it.is_empty()).collect();
    blocks.iter_mut().for_each(|block| block.sort_unstable());
    blocks
}

/// Returns p50, p90, p99 and the maximum. p50 is the median of the blocks' medians. The others
/// cover the calls of all blocks; p90 and p99 are empty if fewer than ten calls took longer.
fn figures(blocks: &[Vec<u64>]) -> [FigureCell; 4] {
    let mut all: Vec<u64> = blocks.concat();
    all.sort_unstable();
    let of_all = |percentile| match is_trustworthy(percentile, all.len() as u64) {
        true => FigureCell::of_one(nearest_rank(&all, percentile)),
        false => FigureCell::default(),
    };
    let medians = blocks.iter().filter_map(|block| nearest_rank(block, 50.0));
    let median = cell(&medians.collect::<Vec<_>>());
    let longest = FigureCell::of_one(all.last().map(|it| *it as f64));
    [median, of_all(90.0), of_all(99.0), longest]
}

/// Returns a percentile by the nearest-rank method: the smallest value that at least this
/// percentage of the values do not exceed. `None` if there are no values.
fn nearest_rank(sorted: &[u64], percentile: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * percentile / 100.0).ceil() as usize;
    sorted.get(rank.max(1) - 1).map(|it| *it as f64)
}

fn cell(values: &[f64]) -> FigureCell {
    let estimate = Estimate::of_blocks(values);
    FigureCell {
        validity: estimate.as_ref().map(|_| Validity::Valid),
        estimate,
        words: None,
    }
}

/// The requests that a variant lost in all loads with the same name, in total and for each block.
#[derive(Default)]
struct Losses<'a> {
    place: Place<'a>,
    phase: &'a str,
    routes: u64,
    changes: u64,
    sent: u64,
    unanswered: u64,
    wrong: u64,
    /// The losses per change in each block.
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

    /// Counts the losses in the loads with this name. Returns `None` if nothing was changed during
    /// them.
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

/// A sentence for each load during which a gateway was changed and lost requests.
pub(crate) fn headlines(context: &Context) -> Vec<Sentence> {
    let all = Losses::all(context);
    all.iter().filter_map(Losses::headline).collect()
}

/// The table of losses, with a row for each load during which a gateway was changed; `None` if
/// there was no change.
fn losses(context: &Context) -> Option<Section> {
    let rows: Vec<FigureRow> = Losses::all(context).iter().map(Losses::row).collect();
    let column = |head: [&str; 2]| FigureColumn::new(head, Unit::Count);
    let all = [["changes", ""], ["requests", ""]];
    let lost = [
        ["no response", ""],
        ["wrong", "response"],
        ["per", "change"],
    ];
    (!rows.is_empty()).then(|| Section {
        id: "admin-losses",
        heading: "Lost to admin calls",
        explanation: LOSSES,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn record(took_ns: std::ops::Range<u64>) -> AdminRecord {
        AdminRecord {
            routes: 1_000,
            rounds: 100,
            took_ns: BTreeMap::from([(AdminVerb::Read, took_ns.collect())]),
            ..AdminRecord::default()
        }
    }

    const CADDY: Place<'_> = Place {
        variant: "caddy",
        scenario: "admin-1000",
        is_one_of_several: false,
    };

    #[test]
    fn a_row_names_its_scenario_if_there_are_several() {
        let several = Place {
            is_one_of_several: true,
            ..CADDY
        };
        assert_eq!(several.name("read", 1_000), "caddy · read in admin-1000");
        assert_eq!(CADDY.name("read", 1), "caddy · read, 1 route");
    }

    #[test]
    fn percentiles_cover_all_calls_and_the_median_has_the_range_of_the_blocks() {
        let (one, two) = (record(1..101), record(101..201));
        let row = row(AdminVerb::Read, CADDY, &[&one, &two]);
        assert_eq!(row.name, "caddy · read, 1,000 routes");
        let median = |index: usize| row.cells[index].median();
        assert_eq!((median(0), median(1)), (Some(200.0), None));
        let p50 = row.cells[3].estimate.as_ref().unwrap();
        assert_eq!((p50.min, p50.max, p50.blocks), (50.0, 150.0, 2));
        assert_eq!(
            (median(4), median(5), median(6)),
            (Some(180.0), None, Some(200.0))
        );
        assert_eq!(median(7), None, "a read has no effect");
    }

    #[test]
    fn calls_that_failed_or_were_not_made_under_a_load_are_counted_but_not_timed() {
        let record = AdminLoadRecord {
            routes: 1,
            took_ns: BTreeMap::from([(AdminVerb::Create, vec![4, 2, 3])]),
            failed: BTreeMap::from([(AdminVerb::Create, 2)]),
            unmade: BTreeMap::from([(AdminVerb::Create, 7), (AdminVerb::Read, 6)]),
            ..AdminLoadRecord::default()
        };
        let row = row_under(AdminVerb::Create, CADDY, "closed", &[&record]);
        assert_eq!(row.name, "caddy · create under 'closed', 1 route");
        let median = |index: usize| row.cells[index].median();
        assert_eq!([0, 1, 2].map(median), [Some(5.0), Some(2.0), Some(7.0)]);
        assert_eq!((median(3), median(6)), (Some(3.0), Some(4.0)));
        assert_eq!(row.cells.len(), 11, "one cell for each column");
        assert_eq!(
            row_under(AdminVerb::Read, CADDY, "closed", &[&record]).absence,
            None
        );
    }

    #[test]
    fn a_call_without_a_response_has_failed() {
        let row = row(AdminVerb::Update, CADDY, &[&record(1..2)]);
        assert_eq!(row.absence.as_deref(), Some("failed"));
    }
}
