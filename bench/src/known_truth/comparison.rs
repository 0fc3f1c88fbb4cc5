//! One comparison by `gatebench ab`, and its result.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::handicap::Handicap;
use super::plan::Plan;
use super::record;
use crate::programs::Programs;

/// The candidate's true relation to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Same,
    Slower,
}

impl Truth {
    pub const ALL: [Self; 2] = [Self::Same, Self::Slower];

    /// The name of the truth in the results file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Slower => "slower",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Same => "the same gateway",
            Self::Slower => "slower by 5 %",
        }
    }
}

/// The result of a comparison, as a line of the results file.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome(pub Value);

impl Outcome {
    /// Runs the comparison with this number in a separate directory below `folder`.
    pub fn of(
        truth: Truth,
        number: usize,
        handicap: &Handicap,
        plan: &Plan,
        programs: &Programs,
        folder: &Path,
    ) -> Result<Self, String> {
        let added_ns = match truth {
            Truth::Same => 0.0,
            Truth::Slower => handicap.added_ns(programs)?,
        };
        let out = folder.join(format!("{number:04}-{}", truth.word()));
        // A comparison that was stopped may have left its directory.
        if out.exists() {
            fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        }
        let mut command = Command::new(&programs.gatebench);
        command.arg("ab").arg(&handicap.baseline);
        match truth {
            Truth::Same => command.arg(&handicap.baseline),
            Truth::Slower => command.arg(&handicap.gateway),
        };
        command.args(["--json", "--verdict-only", "--seed", &number.to_string()]);
        command.args(["--budget", &format!("{}m", plan.minutes)]);
        command.arg("--dir").arg(&out).stdin(Stdio::null());
        let began = Instant::now();
        let output = command
            .output()
            .map_err(|error| format!("gatebench cannot be started: {error}"))?;
        let seconds = began.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&output.stdout);
        let found: Value = serde_json::from_str(&text).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("gatebench ab printed no findings ({error}): {said}")
        })?;
        let values = record::Values::read(&out)?;
        let baseline_ns = values.baseline_ns();
        let baseline_ns = baseline_ns.ok_or("the comparison measured no baseline")?;
        let mut outcome = verdict(&found)?;
        outcome["truth"] = truth.word().into();
        outcome["number"] = number.into();
        outcome["added_ns"] = added_ns.into();
        outcome["baseline_ns"] = baseline_ns.into();
        outcome["true_ratio"] = (1.0 + added_ns / baseline_ns).into();
        outcome["seconds"] = seconds.into();
        outcome["at"] = jiff::Timestamp::now().to_string().into();
        Ok(Self(outcome))
    }

    pub fn in_words(&self) -> String {
        let number = |name: &str| self.0[name].as_f64().unwrap_or(f64::NAN);
        format!(
            "{} after {} blocks and {:.0} s: ratio {:.4}, true ratio {:.4}",
            self.verdict(),
            self.0["blocks"],
            number("seconds"),
            number("ratio"),
            number("true_ratio"),
        )
    }

    pub fn verdict(&self) -> &str {
        self.0["verdict"].as_str().unwrap_or_default()
    }

    pub fn is_of(&self, truth: Truth) -> bool {
        self.0["truth"] == truth.word()
    }
}

/// Returns the result of the deciding metric, with the verdict on the candidate. The verdict is
/// `refused` if the baseline differs from itself, and `too_few_blocks` if the time ran out before
/// the tenth block.
fn verdict(found: &Value) -> Result<Value, String> {
    let ab_test = &found["ab_test"];
    let deciding = |candidate: &str, baseline: &str| {
        let mut all = found["scenarios"][0]["comparisons"].as_array()?.iter();
        let is_it = |it: &&Value| {
            it["primary"] == true
                && it["candidate"] == ab_test[candidate]
                && it["baseline"] == ab_test[baseline]
        };
        all.find(is_it)
    };
    let judged = deciding("candidate", "baseline");
    let own = deciding("baseline", "again");
    let (Some(judged), Some(own)) = (judged, own) else {
        let is_open = ab_test["decision"] == "open";
        let open = is_open.then(|| json!({"verdict": "too_few_blocks"}));
        return open.ok_or_else(|| "gatebench ab printed neither a verdict nor a reason".into());
    };
    let kind = |it: &Value| it["result"]["verdict"]["kind"].as_str().map(str::to_owned);
    let is_refused = matches!(kind(own).as_deref(), Some("better" | "worse"));
    let word = match is_refused {
        true => Some("refused".to_owned()),
        false => kind(judged),
    };
    let word = word.ok_or("the findings have no known verdict")?;
    let interval = &judged["result"]["interval"];
    Ok(json!({
        "verdict": word,
        "judged": kind(judged),
        "ratio": judged["result"]["ratio"],
        "low": interval["low"],
        "high": interval["high"],
        "own_ratio": own["result"]["ratio"],
        "blocks": judged["blocks"].as_array().map(Vec::len),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::known_truth::handicap::NAME;

    fn findings(judged: &str, own: &str) -> Value {
        let comparison = |candidate: &str, baseline: &str, verdict: &str| {
            json!({"primary": true, "candidate": candidate, "baseline": baseline, "blocks": [1, 2],
                   "result": {"ratio": 1.05, "interval": {"low": 1.0, "high": 1.1}, "verdict": {"kind": verdict}}})
        };
        json!({
            "ab_test": {"candidate": NAME, "baseline": "r", "again": "r-2", "text": "t"},
            "scenarios": [{"comparisons": [comparison(NAME, "r", judged), comparison("r", "r-2", own)]}],
        })
    }

    #[test]
    fn a_verdict_is_kept_if_the_baseline_is_equal_to_itself() {
        let found = verdict(&findings("worse", "no_change")).unwrap();
        assert_eq!(
            (&found["verdict"], &found["blocks"]),
            (&json!("worse"), &json!(2))
        );
        let found = verdict(&findings("worse", "better")).unwrap();
        assert_eq!(found["verdict"], "refused");
        let found = verdict(&json!({"ab_test": {"decision": "open"}})).unwrap();
        assert_eq!(found["verdict"], "too_few_blocks");
        assert!(verdict(&json!({"ab_test": {}})).is_err());
    }
}
