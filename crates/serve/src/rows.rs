//! The rows of the list of runs.

use std::io::Read as _;
use std::path::Path;

use gatebench_report::format::instant;
use gatebench_store::files::open_file;
use gatebench_store::{Manifest, RunOverview, RunState, StoreError, Timestamp, TrialFolder};
use serde::{Deserialize, Serialize};

use crate::bounds::REPORT_BYTES_MAX;
use crate::view::{Chip, href_of_run};

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    href: String,
    /// The time when the run began, as text.
    began: String,
    #[serde(skip)]
    created: Timestamp,
    /// `None` if the run cannot be read.
    state: Option<Chip>,
    pub(crate) is_running: bool,
    suite: String,
    /// The names and versions of the gateways.
    gateways: String,
    done: usize,
    planned: usize,
    /// The verdict of an A/B test or a specification.
    verdict: Option<Chip>,
    /// The first sentence of the report, or the reason why the run cannot be read.
    result: String,
    tone: String,
}

/// The part of a report that the list shows.
#[derive(Deserialize)]
struct Report {
    headlines: Vec<Headline>,
    /// The result of an A/B test.
    #[serde(alias = "duel")]
    ab_test: Option<Decided>,
    /// The result of a specification.
    #[serde(alias = "combined")]
    specification: Option<Decided>,
}

#[derive(Deserialize)]
struct Headline {
    text: String,
    tone: String,
}

#[derive(Deserialize)]
struct Decided {
    decision: Option<String>,
}

impl Row {
    pub(crate) fn of(name: &str, dir: &Path, overview: &Result<RunOverview, StoreError>) -> Self {
        let row = Self {
            name: name.to_owned(),
            href: href_of_run(name),
            ..Self::default()
        };
        match overview {
            Ok(overview) => row.with(dir, overview),
            Err(error) => Self {
                result: error.to_string(),
                tone: "alarm".into(),
                ..row
            },
        }
    }

    fn with(self, dir: &Path, overview: &RunOverview) -> Self {
        let RunOverview { manifest, state } = overview;
        let trials = TrialFolder::all(dir).unwrap_or_default();
        // While a resumed run is in progress, its report describes only the earlier part of the
        // run.
        let report = (*state != RunState::Running)
            .then(|| Report::read(dir))
            .flatten();
        let verdict = report.as_ref().and_then(Report::verdict);
        let headline = report.and_then(|it| it.headlines.into_iter().next());
        let (result, tone) = headline.map(|it| (it.text, it.tone)).unwrap_or_default();
        Self {
            began: instant(&manifest.created),
            created: manifest.created,
            state: Some(Chip::of_state(*state)),
            is_running: *state == RunState::Running,
            suite: manifest.plan.suite.clone(),
            gateways: gateways(manifest),
            done: trials.iter().filter(|it| it.is_complete).count(),
            planned: manifest.plan.trials.len(),
            verdict,
            result,
            tone,
            ..self
        }
    }

    pub(crate) fn order(&self) -> (Timestamp, &str) {
        (self.created, &self.name)
    }

    /// Reports whether the run's name, suite, gateways or state contain a string, which must be
    /// lowercase.
    pub(crate) fn has(&self, filter: &str) -> bool {
        let state = self.state.as_ref().map_or("", |it| it.word);
        let texts = [&*self.name, &self.suite, &self.gateways, state];
        texts.iter().any(|it| it.to_lowercase().contains(filter))
    }
}

impl Report {
    /// Reads the report of a run; `None` if it is missing, invalid or larger than
    /// [`REPORT_BYTES_MAX`].
    fn read(dir: &Path) -> Option<Self> {
        let file = open_file(dir, "report.json").ok().flatten()?;
        let mut text = Vec::new();
        file.take(REPORT_BYTES_MAX).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn verdict(&self) -> Option<Chip> {
        let decided = self.ab_test.as_ref().or(self.specification.as_ref())?;
        match decided.decision.as_deref()? {
            "fine" => Some(Chip::new("passed", "not worse")),
            "worse" => Some(Chip::new("worse", "worse")),
            "open" => Some(Chip::new("open", "inconclusive")),
            _ => None,
        }
    }
}

pub(crate) fn gateways(manifest: &Manifest) -> String {
    let gateways = manifest.gateways.iter();
    let words = gateways.map(|(label, it)| match it.version.as_str() {
        // The label may already contain the version.
        version if version.is_empty() || label.contains(version) => label.clone(),
        version => format!("{label} {version}"),
    });
    Vec::from_iter(words).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_in_reports_of_all_versions_are_shown() {
        let verdict = |key: &str| {
            let text = format!(r#"{{"headlines": [], "{key}": {{"decision": "worse"}}}}"#);
            let report: Report = serde_json::from_str(&text).unwrap();
            report.verdict().is_some()
        };
        for key in ["duel", "ab_test", "combined", "specification"] {
            assert!(verdict(key), "{key}");
        }
        assert!(!verdict("capacity"));
    }
}
