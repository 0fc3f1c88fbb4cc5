//! What limits the results, each remedy once with everything it would heal.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Gate, Reason, Validity};

/// Reasons with the same gate and the same remedy.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// The worst of them.
    pub validity: Validity,
    /// Where it was seen and what, in the order of the report.
    pub sightings: Vec<Sighting<'a>>,
    /// What to do.
    pub remedy: &'a str,
    gate: Gate,
}

/// One place where a problem was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting<'a> {
    /// Label of the variant.
    pub variant: &'a str,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Name of the phase; none for the whole trial.
    pub phase: Option<&'a str>,
    /// What was seen.
    pub message: &'a str,
}

impl Sighting<'_> {
    /// Scenario and phase: `proxy-json, saturate`.
    pub fn place(&self) -> String {
        match self.phase {
            Some(phase) => format!("{}, {phase}", self.scenario),
            None => self.scenario.into(),
        }
    }
}

/// Collects the reasons of all rows, the invalidating ones first.
pub fn problems(findings: &Findings) -> Vec<Problem<'_>> {
    let mut problems: Vec<Problem<'_>> = Vec::new();
    for scenario in &findings.scenarios {
        for row in &scenario.rows {
            for reason in &row.reasons {
                let sighting = Sighting {
                    variant: &row.variant,
                    scenario: &scenario.name,
                    phase: reason.phase.as_deref(),
                    message: &reason.message,
                };
                add(&mut problems, reason, sighting);
            }
        }
    }
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.validity));
    problems
}

fn add<'a>(problems: &mut Vec<Problem<'a>>, reason: &'a Reason, sighting: Sighting<'a>) {
    let same =
        |known: &&mut Problem<'_>| known.gate == reason.gate && known.remedy == reason.remedy;
    if let Some(known) = problems.iter_mut().find(same) {
        known.validity = known.validity.max(reason.validity);
        if !known.sightings.contains(&sighting) {
            known.sightings.push(sighting);
        }
        return;
    }
    problems.push(Problem {
        validity: reason.validity,
        sightings: vec![sighting],
        remedy: &reason.remedy,
        gate: reason.gate,
    });
}

/// The word for a validity, which is also its class in the style sheet.
pub fn word(validity: Validity) -> &'static str {
    match validity {
        Validity::Valid => "valid",
        Validity::Limited => "limited",
        Validity::Invalid => "invalid",
    }
}
