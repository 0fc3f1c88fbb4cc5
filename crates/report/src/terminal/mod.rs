//! The report on a terminal: a table per scenario, then the findings in sentences, then what limits
//! them. Never wider than asked, and readable without colours.

mod blocks;
mod grid;
pub(crate) mod sheet;
mod smoke;
pub(crate) mod style;

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Failure, PhaseKind, ScenarioFindings, Status, Tone, Validity};

use self::sheet::Sheet;
use self::style::Style;
use crate::chapter::TERMINAL;
use crate::problems::{Problem, failures_once, problems, word};
use crate::study::chapters;
use crate::table::Table;
use crate::{facts, parts, text};

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
    let chapters = chapters(findings, TERMINAL);
    let (leading, others): (Vec<_>, Vec<_>) = chapters.iter().partition(|it| it.leads);
    let mut page = Sheet::new(options);
    page.masthead(findings);
    leading.iter().for_each(|it| page.blocks(&it.blocks));
    if findings.run.is_smoke {
        page.lines
            .extend(smoke::lines(findings, page.columns, page.paint));
    } else {
        page.measured(findings);
        others.iter().for_each(|it| page.blocks(&it.blocks));
    }
    page.sentences(findings);
    page.failures(&findings.failures);
    page.problems(&problems(findings));
    page.notes(&findings.notes);
    page.finish()
}

impl Sheet {
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
        self.soft(&words);
    }

    /// What was measured, scenario by scenario, and over all.
    fn measured(&mut self, findings: &Findings) {
        for scenario in &findings.scenarios {
            self.blank();
            let words = format!("{} · {}", scenario.name, scenario.title);
            self.heading(&words);
            self.grid(&Table::of(scenario));
            self.parts(scenario);
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
            self.grid(&part.table);
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
