//! The report on a terminal: a table per scenario, then the findings in sentences, then what limits
//! them. Never wider than asked, and readable without colours.

mod grid;
pub(crate) mod sheet;
mod smoke;
pub(crate) mod style;

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Failure, PhaseKind, ScenarioFindings, Status, Tone, Validity};

use self::style::{Paint, Style};
use crate::problems::{Problem, failures_once, problems, word};
use crate::table::Table;
use crate::{capacity, combined, costs, facts, parts, purposes, scale, sections, text};

/// No line is wider, however wide the terminal is.
pub const COLUMNS_MAX: usize = 100;

/// Below this a table is no table; narrower terminals wrap by themselves.
const COLUMNS_MIN: usize = 60;

/// Sightings of one problem that are listed; the page has them all.
const SIGHTINGS_MAX: usize = 4;

/// Rows of groups, over all variants; the page has more.
const PART_ROWS_MAX: usize = 12;

/// Slowest routes of each variant; the page has more.
const ROUTES_MAX: usize = 5;

/// How to write for a terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// Whether to use colours.
    pub colour: bool,
    /// Columns of the terminal; 60 to 100 are used.
    pub columns: usize,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            colour: false,
            columns: COLUMNS_MAX,
        }
    }
}

/// Writes the report, with a line break at the end.
pub fn render(findings: &Findings, options: TerminalOptions) -> String {
    let mut page = Page {
        lines: Vec::new(),
        columns: options.columns.clamp(COLUMNS_MIN, COLUMNS_MAX),
        paint: Paint::new(options.colour),
    };
    page.masthead(findings);
    page.capacity(findings);
    if findings.run.is_smoke {
        page.lines
            .extend(smoke::lines(findings, page.columns, page.paint));
    } else {
        page.measured(findings);
    }
    page.sentences(findings);
    page.failures(&findings.failures);
    page.problems(&problems(findings));
    page.notes(&findings.notes);
    page.lines.join("\n") + "\n"
}

/// The lines so far, and how they are written.
struct Page {
    lines: Vec<String>,
    columns: usize,
    paint: Paint,
}

impl Page {
    fn blank(&mut self) {
        self.lines.push(String::new());
    }

    fn heading(&mut self, words: &str) {
        let words = text::truncate(&text::clean(words), self.columns);
        self.lines.push(self.paint.with(Style::Strong, &words));
    }

    /// A wrapped text behind a lead, which is painted.
    fn item(&mut self, lead: &str, style: Style, words: &str) {
        for (index, line) in text::wrap(words, lead, self.columns)
            .into_iter()
            .enumerate()
        {
            let line = match line.strip_prefix(lead) {
                Some(rest) if index == 0 => format!("{}{rest}", self.paint.with(style, lead)),
                _ => line,
            };
            self.lines.push(line.trim_end().into());
        }
    }

    fn masthead(&mut self, findings: &Findings) {
        let run = &findings.run;
        self.heading(&format!("gatebench · {}", run.title));
        let status = match run.status {
            Status::Finished => String::new(),
            status => format!("{} · ", facts::status(status)),
        };
        let words = format!(
            "{status}{} · {} · seed {} · {} · {}",
            facts::blocks(run),
            facts::trials(run),
            run.seed,
            run.engine_backend,
            facts::placement(&run.placement),
        );
        for line in text::wrap(&words, "", self.columns) {
            self.lines.push(self.paint.with(Style::Soft, &line));
        }
    }

    /// What was measured, scenario by scenario, and over all.
    fn measured(&mut self, findings: &Findings) {
        for scenario in &findings.scenarios {
            self.blank();
            let words = format!("{} · {}", scenario.name, scenario.title);
            self.heading(&words);
            let table = Table::of(scenario);
            self.lines
                .extend(grid::lines(&table, self.columns, self.paint));
            self.parts(scenario);
        }
        self.purposes(findings);
        self.combined(findings);
        self.costs(findings);
        self.scale(findings);
        self.sections(findings);
    }

    /// The highest rates that hold an objective, and the curve of each gateway.
    fn capacity(&mut self, findings: &Findings) {
        let Some(found) = &findings.capacity else {
            return;
        };
        self.blank();
        self.heading(&format!("{} · {}", capacity::TITLE, found.objective));
        let table = capacity::table(found);
        self.lines
            .extend(grid::lines(&table, self.columns, self.paint));
        for gateway in found.gateways.iter().filter(|it| !it.curve.is_empty()) {
            self.blank();
            self.heading(&format!("Curve · {}", capacity::name(found, gateway)));
            let table = capacity::curve(gateway);
            self.lines
                .extend(grid::lines(&table, self.columns, self.paint));
        }
        for line in text::wrap(capacity::CURVE, "", self.columns) {
            self.lines.push(self.paint.with(Style::Soft, &line));
        }
    }

    /// What the run was made for.
    fn purposes(&mut self, findings: &Findings) {
        for (title, lines) in purposes::terminal(findings) {
            self.blank();
            for line in text::wrap(&title, "", self.columns) {
                self.lines.push(self.paint.with(Style::Strong, &line));
            }
            for line in &lines {
                if line.chars().count() <= self.columns {
                    self.lines.push(line.trim_end().to_owned());
                } else {
                    self.lines
                        .extend(text::wrap(line.trim(), "  ", self.columns));
                }
            }
        }
    }

    /// The versions of a specification side by side.
    fn combined(&mut self, findings: &Findings) {
        let Some(found) = &findings.combined else {
            return;
        };
        self.blank();
        self.heading(&combined::title(found));
        for line in combined::lines(found) {
            let [rate, range, mean, max, p90, p99] = line.cells;
            let figures = [
                (format!("{rate} ({range})"), !rate.is_empty()),
                (format!("mean {mean}"), !mean.is_empty()),
                (format!("longest {max}"), !max.is_empty()),
            ];
            let known = figures.into_iter().filter(|(_, is_known)| *is_known);
            let known: Vec<String> = known.map(|(words, _)| words).collect();
            let words = match known.is_empty() {
                true => "no valid run".to_owned(),
                false => known.join(", "),
            };
            self.item(&format!("  {}  ", line.name), Style::Strong, &words);
            for (percentile, values) in [("p90", p90), ("p99", p99)] {
                if !values.is_empty() {
                    self.item("    ", Style::Plain, &format!("{percentile} {values}"));
                }
            }
        }
        for fact in combined::facts(found) {
            self.item("  · ", Style::Soft, &fact);
        }
    }

    /// What policies cost, in the measures that a choice is made on.
    fn costs(&mut self, findings: &Findings) {
        let Some(found) = &findings.costs else { return };
        for table in costs::tables(found).into_iter().filter(|it| it.foremost) {
            self.blank();
            self.heading(&format!("{} · {}", costs::TITLE, table.title));
            self.lines
                .extend(grid::lines(&table.table, self.columns, self.paint));
        }
        for line in text::wrap(costs::EXPLANATION, "", self.columns) {
            self.lines.push(self.paint.with(Style::Soft, &line));
        }
    }

    /// What grows with routes, consumers and idle connections.
    fn scale(&mut self, findings: &Findings) {
        for found in &findings.scale {
            self.blank();
            self.heading(&scale::title(found));
            let table = scale::table(found);
            self.lines
                .extend(grid::lines(&table, self.columns, self.paint));
            for line in text::wrap(&scale::explanation(found), "", self.columns) {
                self.lines.push(self.paint.with(Style::Soft, &line));
            }
        }
    }

    /// What only some runs measure.
    fn sections(&mut self, findings: &Findings) {
        for found in &findings.sections {
            self.blank();
            self.heading(&sections::title(found));
            let table = sections::table(found);
            self.lines
                .extend(grid::lines(&table, self.columns, self.paint));
            let graphs = found.graphs.iter();
            let graphs = graphs.map(|graph| format!("{}: {}", graph.title, graph.file));
            for words in graphs.chain([found.explanation.to_owned()]) {
                for line in text::wrap(&words, "", self.columns) {
                    self.lines.push(self.paint.with(Style::Soft, &line));
                }
            }
        }
    }

    /// The groups, and the slowest routes of the load that tells most of latency.
    fn parts(&mut self, scenario: &ScenarioFindings) {
        let variants = scenario.rows.len().max(1);
        let groups = parts::groups(scenario, (PART_ROWS_MAX / variants).max(2));
        let mut phases = scenario.phases.iter();
        let phase = phases
            .find(|phase| phase.kind == PhaseKind::Open)
            .or(scenario.phases.last());
        let routes = phase.map(|phase| parts::routes(scenario, &phase.name, ROUTES_MAX));
        for part in groups.into_iter().chain(routes.into_iter().flatten()) {
            self.blank();
            self.heading(&format!("{} · {}", scenario.name, part.title));
            self.lines
                .extend(grid::lines(&part.table, self.columns, self.paint));
        }
    }

    fn sentences(&mut self, findings: &Findings) {
        if findings.headlines.is_empty() {
            return;
        }
        self.blank();
        self.heading("Findings");
        for sentence in &findings.headlines {
            let (lead, style) = match sentence.tone {
                Tone::Plain => ("  • ", Style::Soft),
                Tone::Caution => ("  ! ", Style::Fair),
                Tone::Alarm => ("  ✗ ", Style::Bad),
            };
            self.item(lead, style, &sentence.text);
        }
    }

    fn failures(&mut self, failures: &[Failure]) {
        if failures.is_empty() {
            return;
        }
        self.blank();
        self.heading("Failed trials");
        for repeated in failures_once(failures) {
            let failure = repeated.failure;
            let place = format!(
                "{}, {}, {}: {}",
                failure.variant,
                failure.scenario,
                repeated.blocks(),
                failure.culprit
            );
            self.item("  ✗ ", Style::Bad, &place);
            // The reason may quote a gateway's own output, line by line.
            for line in failure.reason.lines() {
                self.item("    ", Style::Plain, line);
            }
            self.item("    → ", Style::Good, &failure.remedy);
        }
    }

    fn problems(&mut self, problems: &[Problem<'_>]) {
        if problems.is_empty() {
            return;
        }
        self.blank();
        self.heading("Validity");
        for problem in problems {
            let style = match problem.validity {
                Validity::Valid => Style::Good,
                Validity::Limited => Style::Fair,
                Validity::Invalid => Style::Bad,
            };
            let lead = text::pad_end(&format!("  {}", word(problem.validity)), 11);
            let indent = " ".repeat(11);
            for (index, sighting) in problem.sightings.iter().take(SIGHTINGS_MAX).enumerate() {
                let words = format!(
                    "{}, {}: {}",
                    sighting.variant,
                    sighting.place(),
                    sighting.message
                );
                self.item(if index == 0 { &lead } else { &indent }, style, &words);
            }
            let more = problem.sightings.len().saturating_sub(SIGHTINGS_MAX);
            if more > 0 {
                self.item(&indent, style, &format!("and {more} more like this"));
            }
            self.item(&format!("{indent}→ "), Style::Good, problem.remedy);
        }
    }

    fn notes(&mut self, notes: &[String]) {
        if notes.is_empty() {
            return;
        }
        self.blank();
        self.heading("Notes");
        for note in notes {
            self.item("  · ", Style::Soft, note);
        }
    }
}
