//! What limits the results, each remedy once with everything it would heal.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Failure, Gate, Reason, Validity};

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
        for row in scenario.rows_and_null() {
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

/// A failure that several blocks had alike.
#[derive(Clone, Debug)]
pub struct Repeated<'a> {
    /// The first of them.
    pub failure: &'a Failure,
    /// The blocks, in the order of the run.
    blocks: Vec<u32>,
}

impl Repeated<'_> {
    /// `block 2`, `blocks 1, 2, 3`.
    pub fn blocks(&self) -> String {
        let mut blocks = self.blocks.clone();
        blocks.sort_unstable();
        blocks.dedup();
        let all: Vec<String> = blocks.iter().map(u32::to_string).collect();
        let noun = if all.len() == 1 { "block" } else { "blocks" };
        format!("{noun} {}", all.join(", "))
    }
}

/// Failures, each once with all blocks that had it: those whose reasons begin with the same line. What follows
/// it are ports and nonces, of which one example is enough.
pub fn failures_once(failures: &[Failure]) -> Vec<Repeated<'_>> {
    let subject = |it: &Failure| {
        let first = it.reason.lines().next().unwrap_or_default().to_owned();
        let place = (it.scenario.clone(), it.variant.clone(), it.phase.clone());
        (place, it.culprit.clone(), it.remedy.clone(), first)
    };
    let mut once: Vec<Repeated<'_>> = Vec::new();
    for failure in failures {
        let same = |known: &&mut Repeated<'_>| subject(known.failure) == subject(failure);
        match once.iter_mut().find(same) {
            Some(known) => known.blocks.push(failure.block),
            None => once.push(Repeated {
                failure,
                blocks: vec![failure.block],
            }),
        }
    }
    once
}

/// The word for a validity, which is also its class in the style sheet.
pub fn word(validity: Validity) -> &'static str {
    match validity {
        Validity::Valid => "valid",
        Validity::Limited => "limited",
        Validity::Invalid => "invalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_alike_is_told_once() {
        let failure = |block, scenario: &str, reason: &str| Failure {
            trial: block,
            block,
            scenario: scenario.into(),
            variant: "nginx".into(),
            culprit: "gateway nginx".into(),
            reason: reason.into(),
            remedy: "look".into(),
            phase: None,
        };
        let failures = [
            failure(2, "a", "it fails\nport 1"),
            failure(1, "a", "it fails\nport 2"),
            failure(1, "b", "it fails\nport 3"),
            failure(3, "a", "it fails otherwise"),
        ];
        let once = failures_once(&failures);
        let told: Vec<_> = once
            .iter()
            .map(|it| (it.failure.trial, it.blocks()))
            .collect();
        let expected = [(2, "blocks 1, 2"), (1, "block 1"), (3, "block 3")];
        assert_eq!(
            told,
            expected.map(|(trial, blocks)| (trial, blocks.to_owned()))
        );
    }
}
