//! Soaks and tests of isolation in Markdown and in lines of text.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{IsolationFindings, SoakFindings};

use crate::markdown::escape;
use crate::{isolation, soak};

/// The sections in Markdown; nothing where the run was made for neither.
pub fn markdown(findings: &Findings) -> String {
    let mut out = String::new();
    if let Some(found) = &findings.soak {
        out.push_str(&heading(soak::TITLE, soak::EXPLANATION, soak::METHOD));
        out.push_str(&soak_tables(found));
    }
    if !findings.isolation.is_empty() {
        out.push_str(&heading(
            isolation::TITLE,
            isolation::EXPLANATION,
            isolation::METHOD,
        ));
    }
    for found in &findings.isolation {
        out.push_str(&isolation_table(found));
    }
    out
}

fn heading(title: &str, explanation: &str, method: &str) -> String {
    format!("### {title}\n\n{explanation} How this is computed: docs/METHOD.md, {method}.\n\n")
}

fn soak_tables(found: &SoakFindings) -> String {
    let mut out = String::new();
    for segment in &found.segments {
        out.push_str(&format!(
            "{}\n\n| | verdict | per hour | interval | a leak is seen from |\n|:--|:--|--:|--:|--:|\n",
            escape(&soak::segment_title(found, segment))
        ));
        for line in soak::lines(segment) {
            out.push_str(&format!(
                "| {} | **{}** | {} | {} | {} |\n",
                line.title, line.verdict, line.slope, line.interval, line.smallest
            ));
        }
        out.push('\n');
    }
    out
}

fn isolation_table(found: &IsolationFindings) -> String {
    let mut out = format!(
        "**{}**, group '{}': beside failing requests {}; beside healthy ones {}.\n\n",
        escape(&found.scenario),
        escape(&found.group),
        isolation::counts(found.beside_failing),
        isolation::counts(found.beside_healthy)
    );
    out.push_str(
        "| | verdict | failing ÷ healthy | healthy ÷ itself | blocks |\n|:--|:--|--:|--:|--:|\n",
    );
    for line in isolation::lines(found) {
        let mark = if line.decides { "**" } else { "" };
        out.push_str(&format!(
            "| {mark}{}{mark} | {} | {} | {} | {} |\n",
            line.title, line.verdict, line.ratio, line.own, line.blocks
        ));
    }
    out + "\n"
}

/// A heading and its lines for a terminal, for each part.
pub fn terminal(findings: &Findings) -> Vec<(String, Vec<String>)> {
    let mut parts = Vec::new();
    if let Some(found) = &findings.soak {
        for segment in &found.segments {
            let lines = soak::lines(segment).into_iter().map(|line| {
                // A verdict by the range alone has no slope.
                let slope = match &*line.slope {
                    "" => String::new(),
                    slope => format!("{slope}/h"),
                };
                let text = format!(
                    "  {:<28}{:<15}{slope:>16}  {}",
                    line.title, line.verdict, line.interval
                );
                text.trim_end().to_owned()
            });
            let title = format!("{} · {}", soak::TITLE, soak::segment_title(found, segment));
            parts.push((title, lines.collect()));
        }
    }
    for found in &findings.isolation {
        let mut lines = vec![
            format!(
                "  beside failing  {}",
                isolation::counts(found.beside_failing)
            ),
            format!(
                "  beside healthy  {}",
                isolation::counts(found.beside_healthy)
            ),
        ];
        lines.extend(isolation::lines(found).into_iter().map(|line| {
            format!(
                "  {:<24}{:<15}{:<24}noise {}",
                line.title, line.verdict, line.ratio, line.own
            )
        }));
        let (title, scenario) = (isolation::TITLE, &found.scenario);
        parts.push((
            format!("{title} · {scenario} · group '{}'", found.group),
            lines,
        ));
    }
    parts
}
