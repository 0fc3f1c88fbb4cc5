//! A load prepared for its workers, with rendered requests, compiled checks and computed schedules.

use std::sync::atomic::AtomicUsize;

use gatebench_model::{Request, Shape};

use crate::check::Checks;
use crate::control::Control;
use crate::data::DataError;
use crate::load::{Group, Load, Part, nanos};
use crate::render::Rendered;
use crate::schedule::Schedule;

/// The data that all workers share. Everything except `control` is fixed before the start.
pub(crate) struct Compiled<'a> {
    pub(crate) load: &'a Load,
    pub(crate) routes: Vec<Route>,
    pub(crate) first_routes: Vec<usize>,
    pub(crate) schedules: Vec<Option<Schedule>>,
    pub(crate) check_count: usize,
    /// The number of workers of this load generator.
    pub(crate) workers: usize,
    /// The position of these workers among the workers of all load generators.
    pub(crate) part: Part,
    /// The number of workers that are ready and wait for the start.
    pub(crate) ready: AtomicUsize,
    pub(crate) control: &'a Control,
}

/// One request of one group, ready to be sent.
pub(crate) struct Route {
    pub(crate) rendered: Rendered,
    /// The request in the form that ends its connection; `None` if the group does not limit the
    /// number of requests per connection.
    pub(crate) closing: Option<Rendered>,
    pub(crate) checks: Checks,
}

pub(crate) fn compile<'a>(load: &'a Load, control: &'a Control) -> Result<Compiled<'a>, DataError> {
    let (mut routes, mut first_routes, mut check_count) = (Vec::new(), Vec::new(), 0);
    for group in &load.groups {
        first_routes.push(routes.len());
        for request in &group.requests {
            routes.push(Route::compile(load, group, request, check_count)?);
            check_count += request.checks.len();
        }
    }
    let workers = load.cores.len().max(1);
    Ok(Compiled {
        load,
        routes,
        first_routes,
        schedules: (0..load.groups.len())
            .map(|number| schedule(load, number, nanos(load.warm_up)))
            .collect(),
        check_count,
        workers,
        part: load.part.unwrap_or(Part {
            first_worker: 0,
            workers,
        }),
        ready: AtomicUsize::new(0),
        control,
    })
}

impl Route {
    fn compile(
        load: &Load,
        group: &Group,
        request: &Request,
        first_check: usize,
    ) -> Result<Self, DataError> {
        let traced = load.trace_tag.is_some();
        let host = &group.target.host;
        let render = |request: &Request| Rendered::new(request, host, traced, &load.data);
        let connections_end = match &group.shape {
            Shape::Closed(closed) => closed.requests_per_connection.is_some(),
            Shape::Open(open) => open.requests_per_connection.is_some(),
        };
        let closing = connections_end.then(|| render(&with_close(request)));
        Ok(Self {
            rendered: render(request)?,
            closing: closing.transpose()?,
            checks: Checks::compile(&request.checks, first_check),
        })
    }
}

/// Returns the schedule of an open group, or `None` for a closed one. The evenly spread arrivals of
/// each group are delayed by a different fraction of their gap, so that groups with the same rate
/// do not send at the same instants.
pub(crate) fn schedule(load: &Load, number: usize, warm_up_ns: u64) -> Option<Schedule> {
    let Shape::Open(open) = &load.groups[number].shape else {
        return None;
    };
    let schedule = Schedule::new(open, warm_up_ns, nanos(load.measure));
    Some(schedule.with_phase(number as f64 / load.groups.len() as f64))
}

/// Adds the field that marks the request as the last on its connection (RFC 9112 9.6). The server
/// then closes the connection first, so TIME-WAIT occupies a port there, not here.
fn with_close(request: &Request) -> Request {
    let mut request = request.clone();
    request.headers.insert("Connection".into(), "close".into());
    request
}
