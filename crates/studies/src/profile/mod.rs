//! Profiles of gateways' CPU time: the sampled stacks, scaled to the CPU time of a request.

pub mod plan;

use std::collections::{BTreeMap, BTreeSet};

use gatebench_model::Flame;
use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::flame::FlameGraph;
use gatebench_report::format::{quantity, split_quantity};
use gatebench_report::section::Section;
use gatebench_report::{Tone, Unit};
use gatebench_store::{Outcome, PhaseRecord, StoreError, StoredTrial, safe_file_part};

use crate::common::context::Context;
use crate::common::facts::Sentence;
use crate::common::joined;
use crate::kind::{Analysed, StudyFindings, StudyKind};

const EXPLANATION: &str = "The stacks of the gateway's threads were sampled in proportion to their CPU time; shares of samples are given as CPU \
     time per request. Self is the time in the function itself; the other column adds that of the functions that it \
     called. Sampling costs time, so compare these figures only with each other.";

/// The maximum number of functions in the table.
const FUNCTIONS_MAX: usize = 15;

/// The maximum number of functions named in a sentence.
const FUNCTIONS_NAMED: usize = 3;

/// The maximum length of a function name in the report, in characters; longer names are shortened.
const NAME_CHARS_MAX: usize = 56;

/// The share of samples in unnamed functions above which a sentence reports the share.
const NAMELESS_MAX: f64 = 0.2;

/// The samples of a gateway in a scenario, over all blocks.
#[derive(Default)]
struct Profile<'a> {
    variant: &'a str,
    /// The CPU time of the samples of each stack, in nanoseconds.
    stacks: BTreeMap<String, u64>,
    /// The CPU time that the samples represent, which approximates the exact `cpu_ns`.
    sampled_ns: u64,
    cpu_ns: u64,
    responses: u64,
}

impl StudyKind for Flame {
    /// Returns empty findings if nothing was sampled.
    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let (context, mut found) = (of.context, StudyFindings::default());
        for scenario in &context.plan.scenarios {
            let name = scenario.scenario.as_str();
            let mut profiles = Vec::new();
            for variant in &context.plan.variants {
                profiles.extend(Profile::of(context, name, variant.label())?);
            }
            for profile in &profiles {
                found.headlines.push(profile.headline(name));
                found.headlines.extend(profile.caution(name));
            }
            if !profiles.is_empty() {
                found.sections.push(section(name, &profiles));
            }
        }
        Ok(found)
    }
}

impl<'a> Profile<'a> {
    /// The samples of all completed trials; `None` if nothing was sampled, or no request was
    /// completed.
    fn of(context: &Context, scenario: &str, variant: &'a str) -> Result<Option<Self>, StoreError> {
        let mut profile = Self {
            variant,
            ..Self::default()
        };
        let trials = context.trials_of(scenario, variant);
        for trial in trials.filter(|it| it.record.outcome == Outcome::Completed) {
            for phase in &trial.record.phases {
                profile.add(trial, phase)?;
            }
        }
        let is_known = profile.sampled_ns > 0 && profile.responses > 0;
        Ok(is_known.then_some(profile))
    }

    fn add(&mut self, trial: &StoredTrial, phase: &PhaseRecord) -> Result<(), StoreError> {
        let (Some(record), Some(usage)) = (&phase.profile, phase.usage.get("gateway")) else {
            return Ok(());
        };
        let folded = trial.profile(&record.file)?.unwrap_or_default();
        for (stack, count) in folded.lines().filter_map(counted) {
            *self.stacks.entry(stack.to_owned()).or_default() += count;
            self.sampled_ns += count;
        }
        self.cpu_ns += usage.cpu_ns;
        self.responses += phase.counts.completed_in_window;
        Ok(())
    }

    /// Converts a part of the samples to nanoseconds of CPU time per request.
    fn ns(&self, part_ns: u64) -> f64 {
        part_ns as f64 / self.sampled_ns as f64 * self.cpu_ns as f64 / self.responses as f64
    }

    /// The time that each function used, excluding its callees.
    fn selves(&self) -> BTreeMap<&str, f64> {
        self.by_function(|stack| BTreeSet::from([innermost(stack)]))
    }

    /// The time that each function used, including its callees; recursive calls count once.
    fn totals(&self) -> BTreeMap<&str, f64> {
        self.by_function(|stack| stack.split(';').skip(1).collect())
    }

    fn by_function(&self, functions: fn(&str) -> BTreeSet<&str>) -> BTreeMap<&str, f64> {
        let mut samples: BTreeMap<&str, u64> = BTreeMap::new();
        for (stack, count) in &self.stacks {
            for function in functions(stack) {
                *samples.entry(function).or_default() += count;
            }
        }
        let scaled = samples.into_iter();
        scaled.map(|(name, count)| (name, self.ns(count))).collect()
    }

    /// Returns the profile without the line numbers of functions, which may differ between two
    /// versions of the same function.
    fn without_lines(&self) -> Self {
        let mut stacks = BTreeMap::new();
        for (stack, count) in &self.stacks {
            let frames = stack.split(';').map(without_line);
            *stacks.entry(joined(frames, ";")).or_default() += count;
        }
        Self { stacks, ..*self }
    }

    fn headline(&self, scenario: &str) -> Sentence {
        let mut selves: Vec<(&str, f64)> = self.selves().into_iter().collect();
        selves.sort_by(|a, b| b.1.total_cmp(&a.1));
        let named = selves.iter().filter(|(name, _)| has_name(name));
        let named = named.take(FUNCTIONS_NAMED).map(|(name, ns)| {
            let (time, _) = split_quantity(*ns, Unit::CpuNanosecondsPerRequest);
            format!("{} ({time} µs)", short(name))
        });
        let most = match joined(named, ", ") {
            none if none.is_empty() => none,
            named => format!(", mostly in {named}"),
        };
        let text = format!(
            "{} used {} while it was sampled{most}; the full profile is in {}.",
            self.variant,
            quantity(self.ns(self.sampled_ns), Unit::CpuNanosecondsPerRequest),
            file(&[scenario, self.variant])
        );
        Sentence::new(Tone::Plain, text, Some(scenario), Some(self.variant))
    }

    fn caution(&self, scenario: &str) -> Option<Sentence> {
        let all = self.selves();
        let nameless = all.iter().filter(|(name, _)| !has_name(name));
        let share = nameless.map(|(_, ns)| ns).sum::<f64>() / self.ns(self.sampled_ns);
        (share > NAMELESS_MAX).then(|| {
            let text = format!(
                "{}: {:.0} % of the samples are in functions without a name; install the gateway's debug symbols, \
                 or use a build that is not stripped.",
                self.variant,
                share * 100.0
            );
            Sentence::new(Tone::Caution, text, Some(scenario), Some(self.variant))
        })
    }

    fn graph(&self, scenario: &str) -> FlameGraph {
        let mut widths = Widths::default();
        let line = |(stack, count): (&String, &u64)| {
            let width = widths.whole(self.ns(*count));
            (width > 0).then(|| format!("{stack} {width}"))
        };
        FlameGraph {
            file: file(&[scenario, self.variant]),
            title: format!("{} in {scenario}", self.variant),
            text: format!(
                "{} of CPU time, sampled. Widths are nanoseconds per request; callers are below.",
                quantity(self.sampled_ns as f64, Unit::Nanoseconds)
            ),
            stacks: self.stacks.iter().filter_map(line).collect(),
        }
    }
}

fn section(scenario: &str, profiles: &[Profile<'_>]) -> Section {
    let column = |name| FigureColumn::new([name, ""], Unit::CpuNanosecondsPerRequest);
    let mut groups: Vec<FigureGroup> = profiles
        .iter()
        .map(|profile| {
            let columns = ["self", "with callees"].map(column);
            FigureGroup::new("", profile.variant, columns)
        })
        .collect();
    let mut title = format!("{scenario}, µs of CPU time per request");
    let mut graphs: Vec<FlameGraph> = profiles.iter().map(|it| it.graph(scenario)).collect();
    let mut rows = rows(profiles);
    if let [candidate, baseline] = profiles {
        let [candidate, baseline] = [candidate, baseline].map(Profile::without_lines);
        groups.push(FigureGroup::new("", "difference", [column("self")]));
        graphs.push(difference(scenario, &candidate, &baseline));
        title = format!("{title}, and {} − {}", candidate.variant, baseline.variant);
        rows = self::rows(&[candidate, baseline]);
    }
    Section {
        id: "profile",
        heading: "Profile",
        explanation: EXPLANATION,
        table: FigureTable {
            title,
            first: "function",
            groups,
            rows,
        },
        graphs,
    }
}

/// The functions that use the most time, excluding their callees, in any of the profiles.
fn rows(profiles: &[Profile<'_>]) -> Vec<FigureRow> {
    let selves: Vec<_> = profiles.iter().map(Profile::selves).collect();
    let totals: Vec<_> = profiles.iter().map(Profile::totals).collect();
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, ns) in selves.iter().flatten() {
        let so_far = most.entry(name).or_default();
        *so_far = so_far.max(*ns);
    }
    let mut order: Vec<(&str, f64)> = most.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let row = |(name, _): (&str, f64)| {
        let of = |all: &BTreeMap<&str, f64>| all.get(name).copied();
        let own = selves.iter().map(of).zip(totals.iter().map(of));
        let mut cells: Vec<Option<f64>> = own.flat_map(|(own, all)| [own, all]).collect();
        if let [candidate, baseline] = &selves[..] {
            let difference = of(candidate).unwrap_or(0.0) - of(baseline).unwrap_or(0.0);
            cells.push(Some(difference));
        }
        let cells = cells.into_iter().map(FigureCell::of_one).collect();
        FigureRow::new(short(name), "", cells)
    };
    order.into_iter().take(FUNCTIONS_MAX).map(row).collect()
}

/// The stacks of both profiles with the candidate's widths, colored by the difference from the
/// baseline.
fn difference<'a>(
    scenario: &str,
    candidate: &'a Profile<'_>,
    baseline: &'a Profile<'_>,
) -> FlameGraph {
    // The outermost frame is the name of the process. It is removed, because the processes of the
    // two profiles may have different names.
    let called = |stack: &'a str| stack.split_once(';').map_or(stack, |(_, rest)| rest);
    let mut widths: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (stack, samples) in &baseline.stacks {
        widths.entry(called(stack)).or_default().0 += baseline.ns(*samples);
    }
    for (stack, samples) in &candidate.stacks {
        widths.entry(called(stack)).or_default().1 += candidate.ns(*samples);
    }
    let (mut befores, mut afters) = (Widths::default(), Widths::default());
    let line = |(stack, (before, after)): (&str, (f64, f64))| {
        let (before, after) = (befores.whole(before), afters.whole(after));
        (before + after > 0).then(|| format!("{stack} {before} {after}"))
    };
    let (a, b) = (candidate.variant, baseline.variant);
    FlameGraph {
        file: file(&[scenario, a, "over", b]),
        title: format!("{a} compared with {b} in {scenario}"),
        text: format!(
            "Widths are those of {a}; red functions take more CPU time per request than in {b}, blue ones less. \
             Functions that {a} does not run have no width."
        ),
        stacks: widths.into_iter().filter_map(line).collect(),
    }
}

/// Splits a line of a profile into the stack and the CPU time of its samples, in nanoseconds.
fn counted(line: &str) -> Option<(&str, u64)> {
    let (stack, count) = line.rsplit_once(' ')?;
    Some((stack, count.parse().ok()?))
}

fn innermost(stack: &str) -> &str {
    stack.rsplit(';').next().unwrap_or(stack)
}

/// If perf finds no function, it prints the file name in brackets.
fn has_name(function: &str) -> bool {
    !(function.starts_with('[') && function.ends_with(']'))
}

/// Removes the line number: `access (kong/init.lua:1482)` becomes `access (kong/init.lua)`.
fn without_line(function: &str) -> String {
    let place = function
        .strip_suffix(')')
        .and_then(|it| it.rsplit_once(':'));
    match place {
        Some((name, line)) if line.parse::<u32>().is_ok() => format!("{name})"),
        _ => function.to_owned(),
    }
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS_MAX {
        return name.to_owned();
    }
    let begin: String = name.chars().take(NAME_CHARS_MAX - 1).collect();
    format!("{begin}…")
}

/// Rounds widths to whole nanoseconds. Each rounding error is carried over to the next width, so
/// the total width of adjacent stacks is correct. Otherwise, thousands of stacks that are each
/// narrower than half a nanosecond would have no width.
#[derive(Default)]
struct Widths {
    end_ns: f64,
    written_ns: u64,
}

impl Widths {
    fn whole(&mut self, ns: f64) -> u64 {
        self.end_ns += ns;
        let begin_ns = self.written_ns;
        self.written_ns = self.end_ns.round() as u64;
        self.written_ns - begin_ns
    }
}

/// The file name of a flame graph, such as `flame-proxy-json-nginx.svg`.
fn file(parts: &[&str]) -> String {
    let parts = parts.iter().map(|part| safe_file_part(part));
    format!("flame-{}.svg", joined(parts, "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(variant: &'static str, stacks: &[(&str, u64)], cpu_ns: u64) -> Profile<'static> {
        let stacks: BTreeMap<String, u64> = stacks
            .iter()
            .map(|(stack, count)| ((*stack).to_owned(), *count))
            .collect();
        Profile {
            variant,
            sampled_ns: stacks.values().sum(),
            stacks,
            cpu_ns,
            responses: 1_000,
        }
    }

    #[test]
    fn a_function_has_its_share_of_the_time_of_a_request() {
        let own = profile(
            "a",
            &[("gw;main;parse", 30), ("gw;main;main", 10)],
            4_000_000,
        );
        assert_eq!(
            own.selves(),
            BTreeMap::from([("main", 1_000.0), ("parse", 3_000.0)])
        );
        assert_eq!(
            own.totals(),
            BTreeMap::from([("main", 4_000.0), ("parse", 3_000.0)])
        );
        assert_eq!(
            own.headline("s").text,
            "a used 4.00 µs CPU/request while it was sampled, mostly in parse (3.00 µs), main (1.00 µs); the full \
             profile is in flame-s-a.svg."
        );
        assert!(own.caution("s").is_none());
    }

    #[test]
    fn a_difference_is_in_time_and_not_in_samples() {
        let candidate = profile(
            "a",
            &[("mine;main;parse", 10), ("mine;main;send", 10)],
            4_000_000,
        );
        let baseline = profile("b", &[("gw;main;parse", 100)], 1_000_000);
        let found = difference("s", &candidate, &baseline);
        assert_eq!(found.stacks, ["main;parse 1000 2000", "main;send 0 2000"]);
        assert_eq!(found.file, "flame-s-a-over-b.svg");
        let rows = rows(&[candidate, baseline]);
        let differences = rows.iter().map(|row| row.cells[4].median());
        let names = rows.iter().map(|row| row.name.as_str());
        let named: Vec<_> = names.zip(differences).collect();
        assert_eq!(named, [("parse", Some(1_000.0)), ("send", Some(2_000.0))]);
    }

    #[test]
    fn a_function_that_moved_within_its_file_is_compared_with_itself() {
        let candidate = profile("a", &[("kong;access (init.lua:9);f (g:h)", 10)], 2_000_000);
        let baseline = profile("b", &[("kong;access (init.lua:7);f (g:h)", 10)], 1_000_000);
        let section = section("s", &[candidate, baseline]);
        let names = section.table.rows.iter().map(|row| row.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["f (g:h)"]);
        let last = section.graphs.last().unwrap();
        assert_eq!(last.stacks, ["access (init.lua);f (g:h) 1000 2000"]);
    }

    #[test]
    fn narrow_stacks_have_the_correct_total_width() {
        let names: Vec<String> = (0..1_000)
            .map(|number| format!("gw;f{number:03}"))
            .collect();
        let stacks: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        // Each stack takes 0.4 ns of each request.
        let own = profile("a", &stacks, 400_000);
        let width = |line: &String| counted(line).map_or(0, |(_, width)| width);
        let graph = own.graph("s").stacks;
        assert_eq!(graph.iter().map(width).sum::<u64>(), 400);
        assert!(graph.iter().all(|line| width(line) > 0));
        let both = difference("s", &own, &own).stacks;
        assert_eq!(both.iter().map(width).sum::<u64>(), 400);
    }

    #[test]
    fn functions_without_names_are_reported() {
        let found = profile("nginx", &[("nginx;[nginx]", 3), ("nginx;read", 7)], 1_000);
        let caution = found.caution("s").map(|it| it.text);
        assert!(caution.is_some_and(|text| text.starts_with("nginx: 30 % of the samples")));
        let stripped = profile("nginx", &[("nginx;[nginx]", 3)], 1_000_000);
        assert_eq!(
            stripped.headline("s").text,
            "nginx used 1.00 µs CPU/request while it was sampled; the full profile is in flame-s-nginx.svg."
        );
    }
}
