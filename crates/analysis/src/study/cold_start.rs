//! How gateways start: the time to the first correct response, and the number of requests until the
//! CPU time per request is that of the steady state.

use gatebench_model::study::ColdStart;
use gatebench_model::{Scenario, Variant};
use gatebench_stats::{Estimate, MIN_BLOCKS, median};
use gatebench_store::{BinsRecord, PhaseRecord, TrialRecord};

use crate::collect::Collected;
use crate::context::Context;
use crate::findings::{
    Aspect, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, Gate, Reason,
    SectionFindings, Sentence, Tone, Unit, Validity,
};
use crate::format::{listed, quantity, range};
use crate::gates::{is_smoke, worst};

const EXPLANATION: &str = "The load begins at the first correct response of a process that was \
                           just started. Its time counts from the start; its resolution is the time \
                           since the attempt before it. The requests are those that were answered \
                           before the CPU time per request, in windows of 100 ms, stays near its \
                           median in the last third of the load. Median of the blocks, with their \
                           range. Ranges that overlap rank nothing, and nothing is ranked below \
                           ten blocks.";

/// Responses of a window; bins with fewer are joined with the next ones.
const WINDOW_RESPONSES_MIN: u64 = 100;

/// Windows of a load in which a steady state can be seen.
const WINDOWS_MIN: usize = 9;

/// Windows on each side of one with which its cost is smoothed.
const NEIGHBOURS: usize = 10;

/// The table of a run and the sentences that open its report.
#[derive(Default)]
pub(super) struct Starts {
    pub(super) section: Option<SectionFindings>,
    pub(super) headlines: Vec<Sentence>,
}

/// A start, in one block.
struct Start {
    after_ns: f64,
    resolution_ns: f64,
    /// Of the time.
    validity: Validity,
    /// None where the gateway's CPU time was not seen.
    course: Option<Course>,
    /// Of the course.
    course_validity: Validity,
}

/// The CPU time per request from the first request on.
#[derive(Debug, PartialEq)]
struct Course {
    first_ns: f64,
    steady_ns: f64,
    settled: Settled,
}

/// Where the steady state begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// After this number of requests.
    After(u64),
    /// Not before the last third of the load.
    Never,
    /// There is none in the last third, or too little was measured.
    Inconclusive,
}

/// Responses and the CPU time that they cost.
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

/// The starts of a gateway in a scenario.
struct Cell<'a> {
    scenario: &'a Scenario,
    variant: &'a Variant,
    starts: Vec<Start>,
}

/// Returns what a run says of starts; nothing if none was measured.
pub(super) fn of_run(context: &Context, collected: &Collected<'_>, study: ColdStart) -> Starts {
    // A smoke run does not measure speed.
    if is_smoke(context.plan) {
        return Starts::default();
    }
    let mut cells = Vec::new();
    for scenario in &context.plan.scenarios {
        let gateways = context.plan.variants.iter().filter(|it| !it.is_control());
        cells.extend(gateways.map(|variant| Cell {
            scenario,
            variant,
            starts: starts(context, collected, study, (scenario, variant)),
        }));
    }
    cells.retain(|cell| !cell.starts.is_empty());
    if cells.is_empty() {
        return Starts::default();
    }
    let has_several = context.plan.scenarios.len() > 1;
    let sentences = cells.iter().filter_map(|cell| sentence(cell, study));
    let soonest = context.plan.scenarios.iter().filter_map(|scenario| {
        let is_its = |cell: &&Cell<'_>| cell.scenario.scenario == scenario.scenario;
        soonest(&cells.iter().filter(is_its).collect::<Vec<_>>())
    });
    Starts {
        headlines: soonest.chain(sentences).collect(),
        section: Some(section(&cells, study, has_several)),
    }
}

fn starts(
    context: &Context,
    collected: &Collected<'_>,
    study: ColdStart,
    (scenario, variant): (&Scenario, &Variant),
) -> Vec<Start> {
    let is_of_cell = |record: &&TrialRecord| {
        record.trial.scenario == scenario.scenario && record.trial.variant == variant.label()
    };
    let start = |record: &TrialRecord| {
        let first = record.gateway.as_ref()?.first_correct?;
        let mut trials = collected.trials.iter();
        let found = trials.find(|it| it.number == record.trial.number);
        let reasons = found.map_or(&[][..], |it| &it.reasons[..]);
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
    let records = context.completed().filter(is_of_cell);
    records.filter_map(start).collect()
}

/// A start is not steady, which is measured here.
fn course_validity(reasons: &[Reason], phase: Option<&PhaseRecord>) -> Validity {
    let is_steadiness = |gate: Gate| matches!(gate, Gate::NotSteady | Gate::SteadinessUntested);
    let concerns = |reason: &&Reason| {
        let of_phase = reason.phase.as_ref();
        let is_its = of_phase.is_none_or(|name| phase.is_some_and(|it| it.name == *name));
        is_its && !is_steadiness(reason.gate)
    };
    let concerning = reasons.iter().filter(concerns);
    worst(concerning, Some(Aspect::CpuPerRequest))
}

/// The bins of a load as windows with enough responses. What is left over at the end is no window.
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

/// Returns the course of the cost; none without a window.
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

/// Returns the first window from which nine in ten smoothed costs lie within a share of the median
/// of the last third. A smoothed cost is the median of a window and of as many on each side of it,
/// so that single windows decide nothing and a step stays where it is. If there is none, the error
/// says why.
fn steady_from(costs: &[f64], within: f64) -> Result<usize, Settled> {
    let late = costs.len() - costs.len() / 3;
    let steady = median(&costs[late..]).filter(|steady| *steady > 0.0);
    let Some(steady) = steady.filter(|_| costs.len() >= WINDOWS_MIN) else {
        return Err(Settled::Inconclusive);
    };
    let is_within = |index: usize| {
        let neighbours = NEIGHBOURS.min(index).min(costs.len() - 1 - index);
        let around = &costs[index - neighbours..=index + neighbours];
        median(around).is_some_and(|cost| (cost / steady - 1.0).abs() <= within)
    };
    let near: Vec<bool> = (0..costs.len()).map(is_within).collect();
    let stays = |from: usize| {
        let rest = &near[from..];
        rest.iter().filter(|near| **near).count() * 10 >= rest.len() * 9
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
    let first = (0..late).find(|index| near[*index] && stays(*index));
    first.ok_or(Settled::Never)
}

fn section(cells: &[Cell<'_>], study: ColdStart, has_several: bool) -> SectionFindings {
    let row = |cell: &Cell<'_>| {
        let label = cell.variant.label();
        let name = match has_several {
            true => format!("{label} in {}", cell.scenario.scenario),
            false => label.to_owned(),
        };
        row(name, cell)
    };
    let within = format!("within {} %", study.within_percent);
    let group = |title: &str, columns: Vec<DocumentColumn>| DocumentGroup {
        title: title.into(),
        label: String::new(),
        columns,
    };
    let cpu = Unit::CpuNanosecondsPerRequest;
    SectionFindings {
        id: "cold-start",
        heading: "Cold start",
        explanation: EXPLANATION,
        table: DocumentTable {
            title: "from the start to steady state".into(),
            first: "gateway",
            groups: vec![
                group(
                    "first correct response",
                    vec![
                        DocumentColumn::new(["after", "start"], Unit::Nanoseconds),
                        DocumentColumn::new(["resolution", ""], Unit::Nanoseconds),
                    ],
                ),
                group(
                    "CPU time per request",
                    vec![
                        DocumentColumn::new(["first", "window"], cpu),
                        DocumentColumn::new(["steady", ""], cpu),
                        DocumentColumn::new(["requests until", &within], Unit::Count),
                        DocumentColumn::new(["conclusive", "blocks"], Unit::Count),
                    ],
                ),
            ],
            rows: cells.iter().map(row).collect(),
        },
        graphs: Vec::new(),
    }
}

fn row(name: String, cell: &Cell<'_>) -> DocumentRow {
    let starts = cell.starts.iter();
    let time = |of: fn(&Start) -> f64| estimated(starts.clone().map(|it| (of(it), it.validity)));
    let costs = starts.clone().filter_map(|it| {
        let course = it.course.as_ref()?;
        Some((course, it.course_validity))
    });
    let cost = |of: fn(&Course) -> f64| {
        let costs = costs.clone();
        estimated(costs.map(|(course, validity)| (of(course), validity)))
    };
    let cells = vec![
        time(|it| it.after_ns),
        time(|it| it.resolution_ns),
        cost(|it| it.first_ns),
        cost(|it| it.steady_ns),
        requests(cell),
        conclusive(cell),
    ];
    let validity = cells.iter().filter_map(|cell| cell.validity).max();
    DocumentRow {
        name,
        variant: cell.variant.label().to_owned(),
        absence: None,
        validity: validity.filter(|validity| *validity != Validity::Valid),
        cells,
    }
}

/// Blocks in which the figure is invalid are left out.
fn estimated(values: impl Iterator<Item = (f64, Validity)>) -> DocumentCell {
    let values: Vec<(f64, Validity)> = values.collect();
    let usable = values.iter().filter(|(_, it)| *it != Validity::Invalid);
    let usable: Vec<f64> = usable.map(|(value, _)| *value).collect();
    DocumentCell {
        estimate: Estimate::of_blocks(&usable),
        validity: values.iter().map(|(_, validity)| *validity).max(),
        words: None,
    }
}

/// Where the steady state begins in each block that may be used.
fn settled(cell: &Cell<'_>) -> Vec<Settled> {
    let starts = cell.starts.iter();
    let usable = starts.filter(|it| it.course_validity != Validity::Invalid);
    let courses = usable.filter_map(|it| it.course.as_ref());
    courses.map(|it| it.settled).collect()
}

/// The requests until the steady state. Words stand there if it came in some block not at all, or in
/// most blocks nothing can be said.
fn requests(cell: &Cell<'_>) -> DocumentCell {
    let all = settled(cell);
    let count = |of: Settled| all.iter().filter(|it| **it == of).count();
    let (never, unknown) = (count(Settled::Never), count(Settled::Inconclusive));
    let blocks = all.len();
    let words = match (never, unknown) {
        (_, unknown) if unknown * 2 > blocks => {
            Some(format!("inconclusive in {unknown} of {blocks} blocks"))
        }
        (0, _) => None,
        _ => Some(format!(
            "not within the phase in {never} of {blocks} blocks"
        )),
    };
    let after = all.iter().filter_map(|it| match it {
        Settled::After(requests) => Some(*requests as f64),
        Settled::Never | Settled::Inconclusive => None,
    });
    let after: Vec<f64> = after.collect();
    let measured = cell.starts.iter().filter(|it| it.course.is_some());
    DocumentCell {
        estimate: Estimate::of_blocks(&after).filter(|_| words.is_none()),
        validity: measured.map(|it| it.course_validity).max(),
        words,
    }
}

fn conclusive(cell: &Cell<'_>) -> DocumentCell {
    let all = settled(cell);
    let known = all.iter().filter(|it| **it != Settled::Inconclusive);
    DocumentCell {
        words: (!all.is_empty()).then(|| format!("{} of {}", known.count(), all.len())),
        ..DocumentCell::default()
    }
}

fn first_correct(cell: &Cell<'_>) -> Option<Estimate> {
    let values = cell.starts.iter().map(|it| (it.after_ns, it.validity));
    estimated(values).estimate
}

fn sentence(cell: &Cell<'_>, study: ColdStart) -> Option<Sentence> {
    let unit = Unit::Nanoseconds;
    let first = first_correct(cell)?;
    let (after, over) = (quantity(first.median, unit), range(&first, unit));
    let label = cell.variant.label();
    let opening = format!("{label} gives its first correct response {after} after its start");
    let requests = requests(cell);
    let near = format!("within {} % of steady state", study.within_percent);
    let rest = match (&requests.words, &requests.estimate) {
        (Some(words), _) => {
            format!("; requests until its CPU time per request is {near}: {words}")
        }
        (None, Some(requests)) => format!(
            "; its CPU time per request is {near} after {} requests ({})",
            quantity(requests.median, Unit::Count),
            range(requests, Unit::Count)
        ),
        (None, None) => String::new(),
    };
    Some(Sentence {
        text: format!("{opening} ({over}){rest}."),
        tone: match requests.words {
            Some(_) => Tone::Caution,
            None => Tone::Plain,
        },
        scenario: Some(cell.scenario.scenario.clone()),
        variant: Some(label.to_owned()),
    })
}

/// The gateway that responds before all others in every block, if there are enough blocks.
fn soonest(cells: &[&Cell<'_>]) -> Option<Sentence> {
    let known = cells.iter().map(|cell| Some((cell, first_correct(cell)?)));
    let mut known: Vec<_> = known.collect::<Option<_>>()?;
    known.sort_by(|(_, one), (_, other)| one.median.total_cmp(&other.median));
    let ((first, least), others) = known.split_first()?;
    let has_blocks = known.iter().all(|(_, it)| it.blocks >= MIN_BLOCKS);
    let is_apart = others.iter().all(|(_, it)| !it.overlaps(least));
    (has_blocks && is_apart && !others.is_empty()).then_some(())?;
    let others = others
        .iter()
        .map(|(cell, _)| cell.variant.label().to_owned());
    let label = first.variant.label();
    Some(Sentence {
        text: format!(
            "{label} gives its first correct response sooner than {} in every block.",
            listed(&others.collect::<Vec<String>>())
        ),
        tone: Tone::Plain,
        scenario: Some(first.scenario.scenario.clone()),
        variant: Some(label.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Where the cost settles within 5 %, in windows of 200 requests.
    fn settles(costs: &[f64]) -> Settled {
        let window = |cost: &f64| Window {
            responses: 200,
            cpu_ns: (cost * 200.0) as u64,
        };
        let windows: Vec<Window> = costs.iter().map(window).collect();
        course(&windows, 0.05).unwrap().settled
    }

    /// Some windows of one cost, then some of another.
    fn step(before: (usize, f64), after: (usize, f64)) -> Vec<f64> {
        [vec![before.1; before.0], vec![after.1; after.0]].concat()
    }

    /// Numbers from 0.92 to 1.08.
    fn noise(seed: u64) -> impl Iterator<Item = f64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            0.92 + 0.16 * (state >> 33) as f64 / f64::from(1_u32 << 31)
        })
    }

    #[test]
    fn a_steady_cost_is_steady_from_the_first_request_on() {
        assert_eq!(settles(&[1_000.0; 60]), Settled::After(0));
        // What comes back every fifteen windows is part of the steady state.
        let spiky = (0..90).map(|at| if at % 15 == 7 { 2_000.0 } else { 1_000.0 });
        assert_eq!(settles(&spiky.collect::<Vec<_>>()), Settled::After(0));
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        for windows in [1, 2, 3, 12, 40] {
            let costs = step((windows, 3_000.0), (90 - windows, 1_000.0));
            assert_eq!(settles(&costs), Settled::After(200 * windows as u64));
        }
        let cheaper_first = step((10, 500.0), (80, 1_000.0));
        assert_eq!(settles(&cheaper_first), Settled::After(2_000));
        let near = step((30, 1_049.0), (60, 1_000.0));
        assert_eq!(settles(&near), Settled::After(0));
        let far = step((30, 1_051.0), (60, 1_000.0));
        assert_eq!(settles(&far), Settled::After(6_000));
    }

    #[test]
    fn noise_of_eight_per_cent_moves_it_by_few_windows() {
        for seed in 1..=10 {
            let steady: Vec<f64> = noise(seed).take(300).map(|it| 1_000.0 * it).collect();
            let Settled::After(requests) = settles(&steady) else {
                panic!("{seed}")
            };
            assert!(requests <= 600, "{seed}: {requests}");
            // Without noise it is 5 % above the final cost after 74 windows.
            let decay = |(at, noise): (usize, f64)| {
                let above = 2.0 * (-(at as f64) / 20.0).exp();
                1_000.0 * (1.0 + above) * noise
            };
            let falling: Vec<f64> = noise(seed).take(300).enumerate().map(decay).collect();
            let Settled::After(requests) = settles(&falling) else {
                panic!("{seed}")
            };
            assert!((12_000..=20_000).contains(&requests), "{seed}: {requests}");
        }
    }

    #[test]
    fn a_cost_that_falls_to_the_end_never_settles() {
        let falling: Vec<f64> = (0..90).map(|at| 2_000.0 - 10.0 * f64::from(at)).collect();
        assert_eq!(settles(&falling), Settled::Never);
        // The last third is the steady state, so it cannot begin there.
        assert_eq!(settles(&step((68, 3_000.0), (22, 1_000.0))), Settled::Never);
        assert_eq!(settles(&step((62, 3_000.0), (28, 1_000.0))), Settled::Never);
        let just = step((60, 3_000.0), (30, 1_000.0));
        assert_eq!(settles(&just), Settled::Never);
    }

    #[test]
    fn without_a_steady_state_nothing_is_concluded() {
        let swinging = (0..150).map(|at| if at / 25 % 2 == 0 { 700.0 } else { 1_300.0 });
        let swinging: Vec<f64> = swinging.collect();
        assert_eq!(settles(&swinging), Settled::Inconclusive);
        assert_eq!(settles(&[1_000.0; 8]), Settled::Inconclusive);
        assert_eq!(settles(&[0.0; 60]), Settled::Inconclusive);
        assert_eq!(course(&[], 0.05), None);
    }

    #[test]
    fn bins_are_joined_until_they_have_enough_responses() {
        let bins = BinsRecord {
            ends_ns: vec![1, 2, 3, 4, 5],
            responses: vec![0, 60, 50, 200, 20],
            gateway_cpu_ns: vec![7, 2, 3, 4, 5],
            upstream_cpu_ns: Vec::new(),
        };
        let window = |responses, cpu_ns| Window { responses, cpu_ns };
        assert_eq!(windows(&bins), [window(110, 12), window(200, 4)]);
        let unseen = BinsRecord {
            gateway_cpu_ns: Vec::new(),
            ..bins
        };
        assert_eq!(course(&windows(&unseen), 0.05), None);
    }
}
