//! Cold starts of gateways: the time to the first correct response, and the number of requests
//! until the CPU time per request reaches its steady-state value.

use gatebench_model::study::ColdStart;
use gatebench_model::{Plan, Scenario, Variant};
use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::format::{listed, quantity, range};
use gatebench_report::section::Section;
use gatebench_report::{Tone, Unit, Validity};
use gatebench_stats::{Estimate, MIN_BLOCKS, median};
use gatebench_store::{BinsRecord, PhaseRecord, StoreError, TrialRecord};

use crate::choice::PlanError;
use crate::common::collect::{Collected, concerning};
use crate::common::context::Context;
use crate::common::facts::{Aspect, Gate, Reason, Sentence};
use crate::common::gates::{is_smoke, worst};
use crate::kind::{Analysed, StudyFindings, StudyKind};

const EXPLANATION: &str = "The load begins at the first correct response of a process that was \
                           just started. The time of this response is measured from the start of \
                           the process; its resolution is the time since the previous attempt. \
                           Requests are counted until the CPU time per request comes close to its \
                           steady value and stays there. The steady value is the median over the \
                           last third of the load. CPU time is read in windows of at least 100 ms, \
                           with at least 100 responses in each. Figures are medians of the \
                           blocks, with their ranges. Overlapping ranges are not ranked, and \
                           nothing is ranked with fewer than ten blocks.";

/// The minimum number of responses in a window; a bin with fewer responses is merged with those
/// after it.
const WINDOW_RESPONSES_MIN: u64 = 100;

/// The minimum number of windows in which a steady state can be detected.
const WINDOWS_MIN: usize = 9;

/// The maximum number of windows on each side over which a window's cost is smoothed.
const NEIGHBORS: usize = 10;

/// The maximum number of consecutive windows whose smoothed cost may differ too much from that of
/// the steady state after this state has begun.
const OUTSIDE_MAX: usize = 10;

/// The start of a gateway in one block.
struct Start {
    after_ns: f64,
    resolution_ns: f64,
    /// The validity of `after_ns`.
    validity: Validity,
    /// The CPU time per request; `None` if it was not sampled, or if there were too few responses
    /// for a window.
    course: Option<Course>,
    course_validity: Validity,
}

/// The course of the CPU time per request, from the first request on.
#[derive(Debug, PartialEq)]
struct Course {
    first_ns: f64,
    steady_ns: f64,
    settled: Settled,
}

/// The point at which the steady state begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// After this number of requests.
    After(u64),
    /// Not before the last third of the load, or not at all, because the cost still falls in that
    /// third.
    Never,
    /// The cost is neither steady nor falling in the last third, or no CPU time was counted in it,
    /// or the measurement was too short.
    Inconclusive,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Window {
    responses: u64,
    cpu_ns: u64,
}

impl Window {
    fn cost_ns(&self) -> f64 {
        self.cpu_ns as f64 / self.responses as f64
    }
}

struct Cell<'a> {
    scenario: &'a Scenario,
    variant: &'a Variant,
    starts: Vec<Start>,
}

impl StudyKind for ColdStart {
    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        let mut loads = plan.scenarios.iter().map(|it| plan.load_of(&it.scenario));
        match loads.all(|load| load.cold) {
            true => Ok(()),
            false => Err(PlanError::NotCold),
        }
    }

    /// Returns empty findings for a smoke run, and if no start was measured.
    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let (context, study) = (of.context, *self);
        let gateways = context.cells().filter(|(_, it)| !it.is_control());
        let cells = gateways.map(|(scenario, variant)| Cell {
            scenario,
            variant,
            starts: starts(context, of.collected, study, scenario, variant),
        });
        let cells: Vec<Cell<'_>> = cells.filter(|cell| !cell.starts.is_empty()).collect();
        if is_smoke(context.plan) || cells.is_empty() {
            return Ok(StudyFindings::default());
        }
        let has_several = context.plan.scenarios.len() > 1;
        let all = cells.iter();
        let sentences = all.filter_map(|cell| sentence(cell, study, has_several));
        let scenarios = cells.chunk_by(|a, b| a.scenario.scenario == b.scenario.scenario);
        let soonest = scenarios.filter_map(|cells| soonest(cells, has_several));
        Ok(StudyFindings {
            headlines: soonest.chain(sentences).collect(),
            sections: vec![section(&cells, study, has_several)],
            ..StudyFindings::default()
        })
    }
}

fn starts(
    context: &Context,
    collected: &Collected<'_>,
    study: ColdStart,
    scenario: &Scenario,
    variant: &Variant,
) -> Vec<Start> {
    let start = |record: &TrialRecord| {
        let first = record.gateway.as_ref()?.first_correct?;
        let reasons = collected.reasons_of(record.trial.number);
        let phase = record.phases.first();
        let bins = phase.and_then(|it| it.bins.as_ref());
        let within = f64::from(study.within_percent) / 100.0;
        let of_trial = reasons.iter().filter(|it| it.phase.is_none());
        Some(Start {
            after_ns: first.after_ns as f64,
            resolution_ns: first.after_ns.saturating_sub(first.not_before_ns) as f64,
            validity: worst(of_trial, None),
            course: bins.and_then(|bins| course(&windows(bins), within)),
            course_validity: course_validity(reasons, phase),
        })
    };
    let records = context.completed_of(&scenario.scenario, variant.label());
    records.filter_map(start).collect()
}

/// The steady-state gates are ignored, because the phase measures an unsteady start.
fn course_validity(reasons: &[Reason], phase: Option<&PhaseRecord>) -> Validity {
    let phase = phase.map_or("", |it| &it.name);
    let concerning = concerning(reasons, phase)
        .filter(|it| !matches!(it.gate, Gate::NotSteady | Gate::SteadinessUntested));
    worst(concerning, Some(Aspect::CpuPerRequest))
}

/// Merges the bins of a load into windows with enough responses. A remainder at the end is dropped.
fn windows(bins: &BinsRecord) -> Vec<Window> {
    let mut windows = Vec::new();
    let mut open = Window::default();
    for (responses, cpu_ns) in bins.responses.iter().zip(&bins.gateway_cpu_ns) {
        open.responses += responses;
        open.cpu_ns += cpu_ns;
        if open.responses >= WINDOW_RESPONSES_MIN {
            windows.push(std::mem::take(&mut open));
        }
    }
    windows
}

/// Returns the course of the cost; `None` if there is no window.
fn course(windows: &[Window], within: f64) -> Option<Course> {
    let costs: Vec<f64> = windows.iter().map(Window::cost_ns).collect();
    let late = costs.len() - costs.len() / 3;
    let settled = match steady_from(&costs, within) {
        Ok(first) => {
            let before = windows[..first].iter().map(|it| it.responses);
            Settled::After(before.sum())
        }
        Err(settled) => settled,
    };
    Some(Course {
        first_ns: *costs.first()?,
        steady_ns: median(&costs[late..]).or_else(|| median(&costs))?,
        settled,
    })
}

/// Returns the window at which the steady state begins. A smoothed cost is near if it is within a
/// given share of the median of the last third. The steady state begins at the first window, before
/// the last third, from which at least nine of ten smoothed costs are near and no more than
/// [`OUTSIDE_MAX`] consecutive ones are not.
///
/// A smoothed cost is the median of a window and the same number of windows on each side, so no
/// single window is decisive. Because both sides are equal, smoothing does not move a step in the
/// cost. The first windows have few neighbors before them, so the median of the window and the
/// windows after it must also be near. The error states why there is no steady state.
fn steady_from(costs: &[f64], within: f64) -> Result<usize, Settled> {
    let late = costs.len() - costs.len() / 3;
    let steady = median(&costs[late..]).filter(|steady| *steady > 0.0);
    let Some(steady) = steady.filter(|_| costs.len() >= WINDOWS_MIN) else {
        return Err(Settled::Inconclusive);
    };
    let is_within =
        |costs: &[f64]| median(costs).is_some_and(|cost| (cost / steady - 1.0).abs() <= within);
    let last = costs.len() - 1;
    let smoothed = |index: usize| {
        let neighbors = NEIGHBORS.min(index).min(last - index);
        is_within(&costs[index - neighbors..=index + neighbors])
    };
    let near: Vec<bool> = (0..costs.len()).map(smoothed).collect();
    let begins = |index: usize| {
        let ahead = last.min(index + NEIGHBORS);
        near[index] && (index >= NEIGHBORS || is_within(&costs[index..=ahead]))
    };
    let stays = |from: usize| {
        let rest = &near[from..];
        let mut outside = rest.split(|near| *near);
        outside.all(|run| run.len() <= OUTSIDE_MAX)
            && rest.iter().filter(|near| **near).count() * 10 >= rest.len() * 9
    };
    if !stays(late) {
        let (before, after) = costs[late..].split_at((costs.len() - late) / 2);
        let falls = median(before)
            .zip(median(after))
            .is_some_and(|(before, after)| before > after * (1.0 + within));
        return Err(match falls {
            true => Settled::Never,
            false => Settled::Inconclusive,
        });
    }
    let first = (0..late).find(|index| begins(*index) && stays(*index));
    first.ok_or(Settled::Never)
}

fn section(cells: &[Cell<'_>], study: ColdStart, has_several: bool) -> Section {
    let row = |cell: &Cell<'_>| {
        let place = place(cell.scenario, has_several);
        row(format!("{}{place}", cell.variant.label()), cell)
    };
    let within = format!("within {} %", study.within_percent);
    let group = |title, columns: Vec<FigureColumn>| FigureGroup::new(title, "", columns);
    let cpu = Unit::CpuNanosecondsPerRequest;
    Section {
        id: "cold-start",
        heading: "Cold start",
        explanation: EXPLANATION,
        table: FigureTable {
            title: "from the start to steady state".into(),
            first: "gateway",
            groups: vec![
                group(
                    "first correct response",
                    vec![
                        FigureColumn::new(["after", "start"], Unit::Nanoseconds),
                        FigureColumn::new(["resolution", ""], Unit::Nanoseconds),
                    ],
                ),
                group(
                    "CPU time per request",
                    vec![
                        FigureColumn::new(["first", "window"], cpu),
                        FigureColumn::new(["steady", ""], cpu),
                        FigureColumn::new(["requests until", &within], Unit::Count),
                        FigureColumn::new(["conclusive", "blocks"], Unit::Count),
                    ],
                ),
            ],
            rows: cells.iter().map(row).collect(),
        },
        graphs: Vec::new(),
    }
}

fn row(name: String, cell: &Cell<'_>) -> FigureRow {
    let starts = cell.starts.iter();
    let time =
        |of: fn(&Start) -> f64| FigureCell::over(starts.clone().map(|it| (it.validity, of(it))));
    let costs = starts.clone().filter_map(|it| {
        let course = it.course.as_ref()?;
        Some((course, it.course_validity))
    });
    let cost = |of: fn(&Course) -> f64| {
        let costs = costs.clone();
        FigureCell::over(costs.map(|(course, validity)| (validity, of(course))))
    };
    let cells = vec![
        time(|it| it.after_ns),
        time(|it| it.resolution_ns),
        cost(|it| it.first_ns),
        cost(|it| it.steady_ns),
        requests(cell),
        conclusive(cell),
    ];
    FigureRow::judged(name, cell.variant.label(), cells)
}

/// Returns the point at which the steady state begins in each usable block.
fn settled(cell: &Cell<'_>) -> Vec<Settled> {
    let starts = cell.starts.iter();
    let usable = starts.filter(|it| it.course_validity != Validity::Invalid);
    let courses = usable.filter_map(|it| it.course.as_ref());
    courses.map(|it| it.settled).collect()
}

/// The number of requests until the steady state. The cell contains text if some block never
/// reached it, or if most blocks are inconclusive.
fn requests(cell: &Cell<'_>) -> FigureCell {
    let all = settled(cell);
    let count = |of: Settled| all.iter().filter(|it| **it == of).count();
    let (never, unknown) = (count(Settled::Never), count(Settled::Inconclusive));
    let blocks = all.len();
    let words = if unknown * 2 > blocks {
        Some(format!("inconclusive in {unknown} of {blocks} blocks"))
    } else {
        (never > 0).then(|| format!("not reached in {never} of {blocks} blocks"))
    };
    let after = all.iter().filter_map(|it| match it {
        Settled::After(requests) => Some(*requests as f64),
        Settled::Never | Settled::Inconclusive => None,
    });
    let after: Vec<f64> = after.collect();
    let measured = cell.starts.iter().filter(|it| it.course.is_some());
    FigureCell {
        estimate: Estimate::of_blocks(&after).filter(|_| words.is_none()),
        validity: Validity::worst_usable(measured.map(|it| it.course_validity)),
        words,
    }
}

fn conclusive(cell: &Cell<'_>) -> FigureCell {
    let all = settled(cell);
    let known = all.iter().filter(|it| **it != Settled::Inconclusive);
    FigureCell {
        words: (!all.is_empty()).then(|| format!("{} of {}", known.count(), all.len())),
        ..FigureCell::default()
    }
}

fn first_correct(cell: &Cell<'_>) -> Option<Estimate> {
    let values = cell.starts.iter().map(|it| (it.validity, it.after_ns));
    FigureCell::over(values).estimate
}

/// Returns a phrase such as ` in proxy-json` if there are several scenarios; otherwise, returns an
/// empty string.
fn place(scenario: &Scenario, has_several: bool) -> String {
    match has_several {
        true => format!(" in {}", scenario.scenario),
        false => String::new(),
    }
}

fn sentence(cell: &Cell<'_>, study: ColdStart, has_several: bool) -> Option<Sentence> {
    let unit = Unit::Nanoseconds;
    let first = first_correct(cell)?;
    let (after, over) = (quantity(first.median, unit), range(&first, unit));
    let label = cell.variant.label();
    let place = place(cell.scenario, has_several);
    let opening =
        format!("{label} sends its first correct response{place} {after} after its start");
    let requests = requests(cell);
    let near = format!("within {} % of steady state", study.within_percent);
    let rest = match (&requests.words, &requests.estimate) {
        (Some(words), _) => {
            format!("; the point from which its CPU time per request is {near} was {words}")
        }
        (None, Some(requests)) => format!(
            "; its CPU time per request is {near} after {} requests ({})",
            quantity(requests.median, Unit::Count),
            range(requests, Unit::Count)
        ),
        (None, None) => String::new(),
    };
    let tone = match requests.words {
        Some(_) => Tone::Caution,
        None => Tone::Plain,
    };
    let text = format!("{opening} ({over}){rest}.");
    let scenario = Some(cell.scenario.scenario.as_str());
    Some(Sentence::new(tone, text, scenario, Some(label)))
}

/// Names the gateway that responds before all others in every block, if there are enough blocks.
fn soonest(cells: &[Cell<'_>], has_several: bool) -> Option<Sentence> {
    let known = cells.iter().map(|cell| Some((cell, first_correct(cell)?)));
    let mut known: Vec<_> = known.collect::<Option<_>>()?;
    known.sort_by(|(_, one), (_, other)| one.median.total_cmp(&other.median));
    let ((first, least), others) = known.split_first()?;
    let has_blocks = known.iter().all(|(_, it)| it.blocks >= MIN_BLOCKS);
    let is_apart = others.iter().all(|(_, it)| !it.overlaps(least));
    (has_blocks && is_apart && !others.is_empty()).then_some(())?;
    let others = others.iter().map(|(it, _)| it.variant.label().to_owned());
    let label = first.variant.label();
    let text = format!(
        "{label} sends its first correct response{} sooner than {} in every block.",
        place(first.scenario, has_several),
        listed(&others.collect::<Vec<String>>())
    );
    let scenario = Some(first.scenario.scenario.as_str());
    Some(Sentence::new(Tone::Plain, text, scenario, Some(label)))
}

#[cfg(test)]
mod tests;
