//! The report in Markdown, for a pull request: findings, one table per scenario, what limits them.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Failure, ScenarioFindings};
use gatebench_analysis::words::{capitalised, metric_title, ratio_and_interval};

use crate::problems::{Problem, failures_once, problems, word};
use crate::table::{Cell, Column, Group, Row, Table};
use crate::{capacity, combined, costs, facts, parts, purposes, scale, sections, text, verdicts};

/// Groups of a scenario; the page has more.
const GROUPS_MAX: usize = 8;

/// Writes the report.
pub fn render(findings: &Findings) -> String {
    let mut out = String::new();
    let run = &findings.run;
    out.push_str(&format!("## {}\n\n", escape(&run.title)));
    out.push_str(&list(findings.headlines.iter().map(|s| s.text.as_str())));
    out.push_str(&capacity_section(findings));
    out.push_str(&purposes::markdown(findings));
    out.push_str(&combined_section(findings));
    out.push_str(&costs_section(findings));
    for found in &findings.scale {
        let title = escape(&scale::title(found));
        let explanation = scale::explanation(found);
        out.push_str(&format!("### {title}\n\n{explanation}\n\n"));
        for table in scale::table(found).by_phase() {
            let label = table.groups.iter().map(|group| capitalised(&group.label));
            out.push_str(&format!("**{}**\n\n", escape(&label.collect::<String>())));
            out.push_str(&whole(&table, "gateway"));
        }
    }
    for found in &findings.sections {
        let title = escape(&sections::title(found));
        out.push_str(&format!("### {title}\n\n{}\n\n", found.explanation));
        out.push_str(&whole(&sections::table(found), found.table.first));
        for graph in &found.graphs {
            let (title, text) = (escape(&graph.title), escape(&graph.text));
            out.push_str(&format!("[{title}]({}): {text}\n\n", graph.file));
        }
    }
    for scenario in &findings.scenarios {
        out.push_str(&scenario_section(scenario));
    }
    out.push_str(&failures(&findings.failures));
    out.push_str(&validity(&problems(findings)));
    if !findings.notes.is_empty() {
        out.push_str("### Notes\n\n");
        out.push_str(&list(findings.notes.iter().map(String::as_str)));
    }
    out.push_str(&format!(
        "<sub>gatebench {} · {} · {} · {} · seed {} · {} · {}</sub>\n",
        escape(&run.gatebench),
        run.created,
        facts::blocks(run),
        facts::trials(run),
        run.seed,
        escape(&run.engine_backend),
        facts::placement(&run.placement),
    ));
    out
}

/// Capacities, and the curve of each; nothing where the run was not made to search them.
fn capacity_section(findings: &Findings) -> String {
    let Some(found) = &findings.capacity else {
        return String::new();
    };
    let mut out = format!("### {}\n\n", capacity::TITLE);
    out.push_str(&whole(&capacity::table(found), "gateway"));
    out.push_str(&format!("{}\n\n", escape(&found.method)));
    for gateway in &found.gateways {
        let name = escape(&capacity::name(found, gateway));
        out.push_str(&format!(
            "<details><summary>All rates that {name} was tried at</summary>\n\n"
        ));
        out.push_str(&whole(&capacity::curve(gateway), "offered"));
        out.push_str(&format!("{}\n\n</details>\n\n", capacity::CURVE));
    }
    out
}

/// The versions of a specification side by side; nothing where the run was made from none.
fn combined_section(findings: &Findings) -> String {
    let Some(found) = &findings.combined else {
        return String::new();
    };
    let title = escape(&combined::title(found));
    let mut out = format!("### {title}\n\n{}\n\n", combined::EXPLANATION);
    out.push_str(&format!("| version | {} |\n", combined::HEADS.join(" | ")));
    out.push_str(&format!("|:--|{}\n", "--:|".repeat(combined::HEADS.len())));
    for line in combined::lines(found) {
        let cells = line.cells.map(|cell| escape(&cell)).join(" | ");
        out.push_str(&format!("| **{}** | {cells} |\n", escape(&line.name)));
    }
    out.push('\n');
    let facts = combined::facts(found);
    out.push_str(&list(facts.iter().map(String::as_str)));
    out
}

/// What policies cost, a table for each measure; nothing where no policy has a plain proxy beside it.
fn costs_section(findings: &Findings) -> String {
    let Some(found) = &findings.costs else {
        return String::new();
    };
    let mut out = format!("### {}\n\n{}\n\n", costs::TITLE, costs::EXPLANATION);
    for table in costs::tables(found) {
        let title = format!("{} at {}", capitalised(table.title), table.load);
        out.push_str(&format!("**{}**. {}\n\n", escape(&title), table.note));
        out.push_str(&whole(&table.table, "policy"));
    }
    out
}

fn scenario_section(scenario: &ScenarioFindings) -> String {
    let table = Table::of(scenario);
    let mut out = format!(
        "### {}\n\n{}\n\n",
        escape(&scenario.name),
        escape(&scenario.title)
    );
    let loads: Vec<String> = scenario
        .phases
        .iter()
        .map(|phase| format!("**{}**: {}", escape(&phase.name), escape(&phase.label)))
        .collect();
    out.push_str(&format!(
        "{}. Median and range of the blocks.\n\n",
        loads.join("; ")
    ));
    out.push_str(&whole(&table, "variant"));
    out.push_str(&verdict_table(scenario));
    if let Some(part) = parts::groups(scenario, GROUPS_MAX) {
        out.push_str(&format!("{}:\n\n", escape(&capitalised(&part.title))));
        for table in part.table.by_phase() {
            out.push_str(&whole(&table, "group"));
        }
    }
    out
}

pub(crate) fn whole(table: &Table, first: &str) -> String {
    let mut out = head(table, first);
    for row in &table.rows {
        out.push_str(&table_row(row, table));
    }
    if table.has_limits() {
        out.push_str("\n\\* limited: see *Validity*.\n");
    }
    out + "\n"
}

/// Every comparison; nothing where there is none.
fn verdict_table(scenario: &ScenarioFindings) -> String {
    let mut out = String::new();
    for found in &scenario.comparisons {
        if out.is_empty() {
            out.push_str("| verdict | compared | metric | ratio | interval | blocks |\n");
            out.push_str("|:--|:--|:--|--:|--:|--:|\n");
        }
        let (ratio, interval) = ratio_and_interval(&found.result);
        out.push_str(&format!(
            "| **{}** | {} ÷ {} | {}, {} | {ratio} | {interval} | {} |\n",
            verdicts::word(found.result.verdict),
            escape(&found.candidate),
            escape(&found.baseline),
            metric_title(found.metric),
            escape(verdicts::load(scenario, found)),
            escape(&verdicts::blocks(found)),
        ));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn head(table: &Table, first: &str) -> String {
    let cell = |group: &Group, column: &Column| {
        let name = column.head.join(" ");
        let unit = match column.scale.unit {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        let phase = match group.phase.as_str() {
            "" => String::new(),
            phase => format!(" ({})", escape(phase)),
        };
        format!(" {}{phase}{unit} |", escape(name.trim()))
    };
    let mut names = format!("| {first} |");
    let mut rule = String::from("|:--|");
    for group in &table.groups {
        for column in &group.columns {
            names.push_str(&cell(group, column));
            rule.push_str("--:|");
        }
    }
    format!("{names}\n{rule}\n")
}

fn table_row(row: &Row, table: &Table) -> String {
    let mut line = format!("| **{}** |", escape(&row.name));
    if let Some(absence) = &row.absence {
        let rest = table
            .groups
            .iter()
            .map(|group| group.columns.len())
            .sum::<usize>();
        line.push_str(&format!(" *{}* |", escape(absence)));
        line.push_str(&" |".repeat(rest.saturating_sub(1)));
        return line + "\n";
    }
    for cell in row.cells.iter().flatten() {
        line.push_str(&format!(" {} |", cell_text(cell)));
    }
    line + "\n"
}

fn cell_text(cell: &Cell) -> String {
    let mark = cell.mark().replace('*', "\\*");
    match cell.range() {
        "" => mark,
        range => format!("{mark} ({range})"),
    }
}

fn failures(failures: &[Failure]) -> String {
    if failures.is_empty() {
        return String::new();
    }
    let mut out = String::from("### Failures\n\n");
    for repeated in failures_once(failures) {
        let failure = repeated.failure;
        out.push_str(&format!(
            "- **{}**, {}, {}: {}: {} *{}*\n",
            escape(&failure.variant),
            escape(&failure.scenario),
            repeated.blocks(),
            escape(&failure.culprit),
            escape(&failure.reason),
            escape(&failure.remedy),
        ));
    }
    out + "\n"
}

fn validity(problems: &[Problem<'_>]) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let mut out = String::from("### Validity\n\n");
    for problem in problems {
        out.push_str(&format!(
            "- **{}**: {}\n",
            word(problem.validity),
            escape(problem.remedy)
        ));
        for sighting in &problem.sightings {
            let place = format!(
                "{}, {}",
                escape(sighting.variant),
                escape(&sighting.place())
            );
            out.push_str(&format!("  - {place}: {}\n", escape(sighting.message)));
        }
    }
    out + "\n"
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let lines: String = items.map(|item| format!("- {}\n", escape(item))).collect();
    if lines.is_empty() {
        lines
    } else {
        lines + "\n"
    }
}

/// Text that stands for itself in Markdown and in a cell of a table.
pub(crate) fn escape(plain: &str) -> String {
    let mut out = String::new();
    for character in text::clean(plain).chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(character);
            }
            c => out.push(c),
        }
    }
    out
}
