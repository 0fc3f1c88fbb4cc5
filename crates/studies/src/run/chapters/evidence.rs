//! The evidence, which only the page shows: every trial, the proof that the policies work, the
//! machine, the configurations and the command.

use std::collections::BTreeSet;

use gatebench_report::Unit;
use gatebench_report::chapter::{Block, Chapter, Entry, Fold, Head, Line, Lines, Part, Text};
use gatebench_report::format::{counted, distinct, short, three_figures};
use gatebench_report::palette::Palette;

use crate::Findings;
use crate::common::facts::{
    GatewayLine, Metric, MissingTrial, PhaseLine, Reason, ScenarioFindings, TrialFindings,
    VariantRow, WireFact, WireName,
};
use crate::common::{by_key, joined};
use crate::run::proof::{Configuration, Fact, ParityCaseFindings, ParityFindings};

const TRIALS: &str = "The trials are listed in the order in which they ran. The figures of a \
     limited trial are used, with the limit that is named here; figures that a reason makes \
     invalid are not.";

const PARITY: &str = "The parity cases prove that the policies work. They are tested before and \
     after the load of a trial, or only after it if the gateway starts cold; each cell shows how \
     many attempts passed. The rows below the cases show what was counted on the wire during \
     warm-up and load; facts that differ from those of the other gateways, or that should not \
     occur, are marked.";

const CONFIGURATION: &str = "This is the configuration of each gateway as rendered, with the \
     commands that started it. Ports and the paths of folders differ from trial to trial.";

const CORES: &str = "busy time of the gateway's cores, per request, as counted in kernel ticks";

/// Returns the chapters with the proof behind the results, in the order of the report.
pub fn chapters(findings: &Findings, palette: &Palette) -> [Chapter; 5] {
    let command = Block::code("", &findings.run.command, true);
    let repeat = Chapter::new("repeat", "Repeat", vec![Block::card("", vec![command])])
        .headed("Repeat this run");
    [
        trials(findings, palette),
        parity(findings, palette),
        environment(findings, palette),
        configuration(findings, palette),
        repeat,
    ]
}

fn trials(findings: &Findings, palette: &Palette) -> Chapter {
    let lines = findings.trials.iter().map(|it| trial(it, palette));
    let heads =
        Head::row("variant |> #| scenario |> block |> took | validity | why, and what to do");
    let lines = Lines::new("Trials", heads, lines).class("trials");
    let mut card = vec![lines.into()];
    let missing = joined(findings.missing.iter().map(missing), "; ");
    if !missing.is_empty() {
        let words = format!("Trials that are not on disk: {missing}.");
        card.push(Block::foot(words, ""));
    }
    let blocks = vec![Block::lead(TRIALS, ""), Block::card("", card)];
    Chapter::new("trials", "Trials", blocks)
}

fn trial(found: &TrialFindings, palette: &Palette) -> Line {
    let (class, outcome) = match &*found.outcome {
        "completed" => (found.validity.word(), found.validity.word()),
        "failed" => ("failed", "failed"),
        outcome => ("none", outcome),
    };
    let reason = |it: &Reason| {
        let phase = it.phase.as_ref().map(|phase| format!("{phase}:"));
        let between = if phase.is_some() { " " } else { "" };
        Text::strong(&phase.unwrap_or_default())
            .and(&format!("{between}{} ", it.message))
            .and_styled("remedy", &it.remedy)
    };
    let warnings = found.warnings.iter().map(|it| Text::from(&**it));
    let cells = vec![
        found.number.to_string().into(),
        found.scenario.as_str().into(),
        found.block.to_string().into(),
        short(found.duration_ns as f64, Unit::Nanoseconds).into(),
        Text::chip(class, outcome).into(),
        Entry {
            words: found.reasons.iter().map(reason).chain(warnings).collect(),
            svg: String::new(),
        },
    ];
    Line::new(&*found.variant, cells).class(palette.class(&found.variant))
}

fn missing(trial: &MissingTrial) -> String {
    format!(
        "{}: {} in {}, block {}",
        trial.number, trial.variant, trial.scenario, trial.block
    )
}

fn parity(findings: &Findings, palette: &Palette) -> Chapter {
    let mut blocks = vec![Block::lead(PARITY, "")];
    for scenario in &findings.scenarios {
        let of = findings.parity.iter();
        let of = of.filter(|it| it.scenario == scenario.name);
        let of: Vec<&ParityFindings> = of.collect();
        if !of.is_empty() {
            let table = parity_table(scenario, &of, palette);
            let mut card = vec![Block::heading(&*scenario.name), table.into()];
            card.extend(of.iter().flat_map(|it| mismatches(it)));
            blocks.push(Block::card("", card));
        }
    }
    Chapter::new("parity", "Parity", blocks)
}

/// A table with a row for each case, each fact on the wire and each load's busy cores, and a column
/// for each variant.
fn parity_table(scenario: &ScenarioFindings, of: &[&ParityFindings], palette: &Palette) -> Lines {
    let variants: Vec<&str> = of.iter().map(|it| &*it.variant).collect();
    let head = |variant: &&str| Head::colored(*variant, palette.class(variant));
    let heads = std::iter::once(Head::text("case"));
    let cases = of.iter().flat_map(|parity| &parity.cases);
    let cases = distinct(cases.map(|case| &*case.name));
    let case = |name: &str| {
        let cells = of.iter().map(|it| tried(it, name).into());
        Line::new(name, cells.collect())
    };
    let mut lines: Vec<Line> = cases.into_iter().map(case).collect();
    let mut wire = wire(scenario, &variants);
    if let Some(first) = wire.first_mut() {
        first.above = "on the wire".into();
        lines.extend(wire);
    } else {
        let cells = of.iter().map(|it| routes(it).into());
        let name = Text::styled("absent", "routes that respond");
        lines.push(Line::new(name, cells.collect()));
    }
    let mut cores = cores(scenario, &variants);
    if let Some(first) = cores.first_mut() {
        first.above = CORES.into();
        lines.extend(cores);
    }
    let heads = heads.chain(variants.iter().map(head)).collect();
    Lines::new(format!("Parity of {}", scenario.name), heads, lines).class("parity")
}

fn tried(parity: &ParityFindings, name: &str) -> Text {
    let found = parity.cases.iter().find(|case| case.name == name);
    match found.filter(|case| case.tried > 0) {
        None => Text::chip("", "not tried"),
        Some(case) => Text::chip(
            if case.passed == case.tried {
                "passed"
            } else {
                "failed"
            },
            &format!("{} of {}", case.passed, case.tried),
        ),
    }
}

fn routes(parity: &ParityFindings) -> String {
    match parity.holds {
        Some(_) => format!("{} of {}", parity.routes_answering, parity.routes_expected),
        None => "–".into(),
    }
}

/// A line for each fact about the wire that is known for at least one variant.
fn wire(scenario: &ScenarioFindings, variants: &[&str]) -> Vec<Line> {
    let fact = |variant: &str, name| -> Option<&WireFact> {
        let mut wire = scenario.wire.iter();
        let found = wire.find(|found| found.variant == variant)?;
        found.facts.iter().find(|fact| fact.name == name)
    };
    let cell = |fact: Option<&WireFact>| -> Entry {
        match fact {
            None => "–".into(),
            Some(fact) if fact.differs => Text::chip("limited", &fact.text).into(),
            Some(fact) => fact.text.as_str().into(),
        }
    };
    let facts = scenario.wire.iter().flat_map(|it| &it.facts);
    let names: BTreeSet<WireName> = facts.map(|it| it.name).collect();
    let line = |name: WireName| {
        let facts = variants.iter().map(|variant| fact(variant, name));
        let facts: Vec<Option<&WireFact>> = facts.collect();
        let name = Text::styled("absent", name.title());
        let is_known = facts.iter().any(Option::is_some);
        is_known.then(|| Line::new(name, facts.into_iter().map(cell).collect()))
    };
    names.into_iter().filter_map(line).collect()
}

/// The busy time of the gateway's cores and the CPU time of its processes, both per request, for
/// the loads in which any gateway had separate cores.
fn cores(scenario: &ScenarioFindings, variants: &[&str]) -> Vec<Line> {
    let line = |phase: &PhaseLine| {
        let rows = variants.iter().map(|variant| scenario.row(variant));
        let cells = rows.map(|row| busy(row?, &phase.name));
        let cells: Vec<Option<String>> = cells.collect();
        cells.iter().any(Option::is_some).then(|| {
            let cells = cells.iter().map(|it| it.as_deref().unwrap_or("–").into());
            Line::new(Text::styled("absent", &phase.label), cells.collect())
        })
    };
    scenario.phases.iter().filter_map(line).collect()
}

/// The busy time as text: `9.41 µs, 0.62 µs of it softirq; processes 9.02 µs`.
fn busy(row: &VariantRow, phase: &str) -> Option<String> {
    let median = |metric| {
        let ns = row.median_in(phase, metric)?;
        Some(format!("{} µs", three_figures(ns / 1e3)))
    };
    let busy = median(Metric::GatewayCoreBusyPerRequest)?;
    let softirq = median(Metric::GatewayCoreSoftirqPerRequest);
    let softirq = softirq.map(|it| format!(", {it} of it softirq"));
    let processes = median(Metric::GatewayCpuPerRequest).map(|it| format!("; processes {it}"));
    Some(busy + &softirq.unwrap_or_default() + &processes.unwrap_or_default())
}

fn mismatches(parity: &ParityFindings) -> Vec<Block> {
    let fold = |case: &ParityCaseFindings| {
        let failure = case.failure.as_ref()?;
        let when = if failure.after_load {
            "after"
        } else {
            "before"
        };
        let summary = format!(
            "{}: {}, trial {}, {when} the load",
            parity.variant, case.name, failure.trial
        );
        let blocks = vec![
            Block::code("sent", &failure.sent, false),
            Block::code("expected", &failure.expected, false),
            Block::code("received", &failure.received, false),
        ];
        Some(Fold::new(summary, blocks).into())
    };
    parity.cases.iter().filter_map(fold).collect()
}

fn environment(findings: &Findings, palette: &Palette) -> Chapter {
    let run = &findings.run;
    let gateways = run.gateways.iter().map(|it| gateway(it, palette));
    let gateways = std::iter::once(Block::heading("Gateways")).chain(gateways);
    let machine = std::iter::once(Block::heading("Machine")).chain(topics(&findings.environment));
    let mut blocks = vec![
        Block::card("", gateways.collect()),
        Block::card("topics", machine.collect()),
    ];
    if !run.placement.note.is_empty() {
        blocks.insert(0, Block::lead(&*run.placement.note, ""));
    }
    Chapter::new("environment", "Environment", blocks)
}

fn gateway(line: &GatewayLine, palette: &Palette) -> Block {
    let version = format!(" {} {}", line.title, line.version);
    let name = Text::from(&*line.variant).and_styled("aside", &version);
    let mut blocks = vec![Block::colored_heading(name)];
    if !line.binary.is_empty() {
        blocks.push(Block::foot(Text::styled("mono", &line.binary), ""));
        if !line.sha256.is_empty() {
            let hash = format!("sha256 {}", line.sha256);
            blocks.push(Block::foot(Text::styled("mono", &hash), ""));
        }
    }
    blocks.extend(line.notes.iter().map(|it| Block::foot(&**it, "")));
    let class = palette.class(&line.variant);
    Block::row(format!("gateway {class}"), blocks)
}

fn topics(facts: &[Fact]) -> Vec<Block> {
    let named = |fact: &Fact| -> (String, [String; 2]) {
        let (topic, name) = fact.name.split_once('.').unwrap_or(("", &fact.name));
        let [topic, name] = [topic, name].map(|it| it.replace('_', " "));
        (topic, [name, fact.value.clone()])
    };
    let topic = |(topic, terms): (String, Vec<[String; 2]>)| {
        let terms = Part::Terms { terms };
        Block::row("", vec![Block::heading(topic), terms.into()])
    };
    by_key(facts.iter().map(named))
        .into_iter()
        .map(topic)
        .collect()
}

fn configuration(findings: &Findings, palette: &Palette) -> Chapter {
    let all = findings.configurations.iter();
    let folds = all.map(|it| configured(it, palette)).collect();
    let blocks = vec![Block::lead(CONFIGURATION, ""), Block::card("folds", folds)];
    Chapter::new("configuration", "Configuration", blocks)
}

fn configured(found: &Configuration, palette: &Palette) -> Block {
    let commands = found.commands.iter().map(|it| Block::code("", it, true));
    let mut blocks: Vec<Block> = commands.collect();
    for (path, file) in &found.files {
        let hash = format!("sha256 {}", file.sha256);
        let caption = Text::strong(path).and(" · ").and_styled("mono", &hash);
        match &file.text {
            Some(text) => blocks.push(Block::code(caption, text, false)),
            None => blocks.extend([
                Block::foot(caption, ""),
                Block::foot("The file is no longer in the run directory.", ""),
            ]),
        }
    }
    let workers = counted(u64::from(found.workers), "worker");
    let fold = Fold {
        aside: format!(
            "{} · {} · {workers} · trial {}",
            found.scenario, found.version, found.trial
        ),
        class: palette.class(&found.variant),
        key: true,
        ..Fold::new(&*found.variant, blocks)
    };
    fold.into()
}
