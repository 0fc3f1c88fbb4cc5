//! The report in Markdown, for a pull request: findings, one table per scenario, what limits them.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Failure, ScenarioFindings};
use gatebench_analysis::words::{capitalised, metric_title, ratio_and_interval};

use crate::chapter::{Block, Chapter, Lines, MARKDOWN, Part, Text};
use crate::problems::{Problem, failures_once, problems, word};
use crate::study::chapters;
use crate::table::{Cell, Column, Group, Row, Table};
use crate::{facts, parts, text, verdicts};

/// Groups of a scenario; the page has more.
const GROUPS_MAX: usize = 8;

/// Writes the report.
pub fn render(findings: &Findings) -> String {
    let mut out = String::new();
    let run = &findings.run;
    out.push_str(&format!("## {}\n\n", escape(&run.title)));
    out.push_str(&list(findings.headlines.iter().map(|s| s.text.as_str())));
    let chapters = chapters(findings, MARKDOWN);
    out.extend(chapters.iter().map(chapter));
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

/// Writes a chapter, under its heading unless it begins with one.
pub(crate) fn chapter(chapter: &Chapter) -> String {
    let mut text = String::new();
    blocks(&mut text, &chapter.blocks);
    if text.starts_with("### ") {
        return text;
    }
    format!("### {}\n\n{text}", escape(&chapter.heading))
}

fn blocks(out: &mut String, all: &[Block]) {
    for block in all {
        match &block.part {
            Part::Heading(heading) => out.push_str(&format!("### {}\n\n", escape(&heading.text))),
            Part::Lead(text) | Part::Sentence(text) | Part::Foot(text) => {
                out.push_str(&words(text))
            }
            Part::Facts { facts } => out.push_str(&list(facts.iter().map(String::as_str))),
            Part::Table(table) => out.push_str(&whole(&table.table, table.first)),
            Part::Lines(lines) => out.push_str(&table_of_words(lines)),
            Part::Files { files } => {
                for file in files {
                    let (title, text) = (escape(&file.title), escape(&file.text));
                    out.push_str(&format!("[{title}]({}): {text}\n\n", file.file));
                }
            }
            Part::Card { blocks: inner, .. } => blocks(out, inner),
            Part::Fold(fold) if fold.markdown.is_empty() => blocks(out, &fold.blocks),
            Part::Fold(fold) => {
                let summary = escape(&fold.markdown);
                out.push_str(&format!("<details><summary>{summary}</summary>\n\n"));
                blocks(out, &fold.blocks);
                out.push_str("</details>\n\n");
            }
            Part::Charts { .. } => {}
        }
    }
}

fn words(text: &Text) -> String {
    let [before, strong, after] = text.spans.each_ref().map(|it| escape(it));
    let strong = match &*strong {
        "" => strong,
        _ => format!("**{strong}**"),
    };
    format!("{before}{strong}{after}\n\n")
}

/// Bold are names below a head and lines that decide, else the verdicts.
fn table_of_words(table: &Lines) -> String {
    let all = &table.lines;
    let decides = all.iter().any(|it| it.decides);
    let judged = all.iter().any(|it| it.verdict.is_some());
    let bold = |is_bold: bool, words: &str| match is_bold {
        true => format!("**{}**", escape(words)),
        false => escape(words),
    };
    let (verdict, rule) = if judged {
        (" verdict |", ":--|")
    } else {
        ("", "")
    };
    let (heads, rules) = (table.heads.join(" | "), "--:|".repeat(table.heads.len()));
    let first = format!("| {}", table.first);
    let mut out = format!(
        "{} |{verdict} {heads} |\n|:--|{rule}{rules}\n",
        first.trim_end()
    );
    for line in all {
        let mut cells = vec![bold(line.decides || !table.first.is_empty(), &line.name)];
        cells.extend(line.verdict.map(|it| bold(!decides, it[0])));
        cells.extend(line.cells.iter().map(|it| escape(it)));
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out + "\n"
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
