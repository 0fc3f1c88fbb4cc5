//! The outcome of a load generator, as it is sent at the end of its load.

use std::collections::BTreeMap;

use gatebench_engine::{
    Class, Counts, ErrorKind, FirstRequest, GroupOutcome, Halves, Outcome, Recordings, RouteRecord,
    WorkerFacts,
};
use serde::{Deserialize, Serialize};

use crate::order::{OrderError, backend};
use crate::record::{Unreadable, WireRecording, WireRecordings};

/// An outcome, with times on the sender's clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireOutcome {
    counts: Counts,
    recordings: WireRecordings,
    halves: Halves,
    groups: Vec<WireGroup>,
    statuses: BTreeMap<u16, u64>,
    connects: WireRecording,
    resumed: u64,
    unmeasured: WireRecordings,
    checks: Vec<String>,
    start_ns: u64,
    first: Option<FirstRequest>,
    window_ns: (u64, u64),
    drained_ns: u64,
    interrupted: bool,
    backend: String,
    workers: Vec<WorkerFacts>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireGroup {
    name: String,
    counts: Counts,
    recordings: WireRecordings,
    routes: Vec<(String, WireRoute)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireRoute {
    sent: u64,
    completed: u64,
    by_class: [u64; Class::ALL.len()],
    errors: [u64; ErrorKind::ALL.len()],
    responses_failing_checks: u64,
    response: WireRecording,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TotalsError {
    #[error(transparent)]
    Histogram(#[from] Unreadable),
    #[error(transparent)]
    Unknown(#[from] OrderError),
}

impl WireOutcome {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self {
            counts: outcome.counts.clone(),
            recordings: wire(&outcome.recordings),
            halves: outcome.halves,
            groups: outcome.groups.iter().map(WireGroup::of).collect(),
            statuses: outcome.statuses.clone(),
            connects: WireRecording::of(&outcome.connects),
            resumed: outcome.resumed,
            unmeasured: wire(&outcome.unmeasured),
            checks: outcome.checks.clone(),
            start_ns: outcome.start_ns,
            first: outcome.first,
            window_ns: outcome.window_ns,
            drained_ns: outcome.drained_ns,
            interrupted: outcome.interrupted,
            backend: outcome.backend.as_str().to_owned(),
            workers: outcome.workers.clone(),
        }
    }

    /// The outcome, with all points in time converted to the receiver's clock by `to_here`.
    pub(crate) fn read(self, to_here: impl Fn(u64) -> u64) -> Result<Outcome, TotalsError> {
        let groups = self.groups.into_iter().map(WireGroup::read);
        let (begin_ns, end_ns) = self.window_ns;
        Ok(Outcome {
            counts: self.counts,
            recordings: read(&self.recordings)?,
            halves: self.halves,
            groups: groups.collect::<Result<_, _>>()?,
            statuses: self.statuses,
            connects: self.connects.read()?,
            resumed: self.resumed,
            unmeasured: read(&self.unmeasured)?,
            checks: self.checks,
            start_ns: to_here(self.start_ns),
            first: self.first.map(|first| FirstRequest {
                due_ns: to_here(first.due_ns),
                sent_ns: to_here(first.sent_ns),
            }),
            window_ns: (to_here(begin_ns), to_here(end_ns)),
            drained_ns: self.drained_ns,
            interrupted: self.interrupted,
            backend: backend(&self.backend)?,
            workers: self.workers,
        })
    }
}

impl WireGroup {
    fn of(group: &GroupOutcome) -> Self {
        let routes = group.routes.iter();
        Self {
            name: group.name.clone(),
            counts: group.counts.clone(),
            recordings: wire(&group.recordings),
            routes: routes
                .map(|(name, route)| (name.clone(), WireRoute::of(route)))
                .collect(),
        }
    }

    fn read(self) -> Result<GroupOutcome, Unreadable> {
        let routes = self.routes.into_iter();
        let routes = routes.map(|(name, route)| Ok((name, route.read()?)));
        Ok(GroupOutcome {
            name: self.name,
            counts: self.counts,
            recordings: read(&self.recordings)?,
            routes: routes.collect::<Result<_, Unreadable>>()?,
        })
    }
}

impl WireRoute {
    fn of(route: &RouteRecord) -> Self {
        Self {
            sent: route.sent,
            completed: route.completed,
            by_class: route.by_class,
            errors: route.errors,
            responses_failing_checks: route.responses_failing_checks,
            response: WireRecording::of(&route.response),
        }
    }

    fn read(self) -> Result<RouteRecord, Unreadable> {
        Ok(RouteRecord {
            sent: self.sent,
            completed: self.completed,
            by_class: self.by_class,
            errors: self.errors,
            responses_failing_checks: self.responses_failing_checks,
            response: self.response.read()?,
        })
    }
}

fn wire(recordings: &Recordings) -> WireRecordings {
    let each = recordings.iter();
    each.map(|((metric, class), it)| (*metric, *class, WireRecording::of(it)))
        .collect()
}

fn read(recordings: &WireRecordings) -> Result<Recordings, Unreadable> {
    let each = recordings.iter();
    each.map(|(metric, class, it)| Ok(((*metric, *class), it.read()?)))
        .collect()
}
