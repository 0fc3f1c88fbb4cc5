//! The results file, which has one line per comparison, and the table that summarizes it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use gatebench_stats::{median, share::wilson};

use super::comparison::{Outcome, Truth};
use crate::spread;

/// The results of all comparisons in a folder, including those of earlier runs.
pub struct Results {
    file: PathBuf,
    all: Vec<Outcome>,
}

impl Results {
    /// Reads the results file of a folder. A missing file counts as empty.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let file = folder.join("results.jsonl");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("{}: {error}", file.display())),
        };
        let parse = |(index, line): (usize, &str)| {
            let value = serde_json::from_str(line);
            let place = || format!("{}:{}", file.display(), index + 1);
            value
                .map(Outcome)
                .map_err(|error| format!("{}: {error}; remove this line", place()))
        };
        let all = text
            .lines()
            .enumerate()
            .map(parse)
            .collect::<Result<_, _>>()?;
        Ok(Self { file, all })
    }

    /// Returns the truth for the next comparison: the one with the fewest comparisons so far;
    /// `None` once each has the requested number.
    pub fn next(&self, asked: usize) -> Option<Truth> {
        let fewest = Truth::ALL.into_iter().min_by_key(|it| self.count(*it))?;
        (self.count(fewest) < asked).then_some(fewest)
    }

    pub fn next_number(&self) -> usize {
        self.all.len() + 1
    }

    fn count(&self, truth: Truth) -> usize {
        self.all.iter().filter(|it| it.is_of(truth)).count()
    }

    /// Appends a result to the file and syncs the file to disk.
    pub fn add(&mut self, outcome: Outcome) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.file.display());
        let mut file = OpenOptions::new();
        let mut file = file
            .create(true)
            .append(true)
            .open(&self.file)
            .map_err(failed)?;
        file.write_all(format!("{}\n", outcome.0).as_bytes())
            .map_err(failed)?;
        file.sync_all().map_err(failed)?;
        self.all.push(outcome);
        Ok(())
    }

    pub fn table(&self) -> String {
        let mut lines = vec![
            "| truth | N | worse | better | no change | open | refused | found, with its 95 % interval | \
             false, with its 95 % interval | ratio | true ratio | blocks | s |"
                .to_owned(),
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|".to_owned(),
        ];
        lines.extend(Truth::ALL.map(|truth| self.row(truth)));
        lines.join("\n")
    }

    fn row(&self, truth: Truth) -> String {
        let own: Vec<&Outcome> = self.all.iter().filter(|it| it.is_of(truth)).collect();
        let count = |word: &str| own.iter().filter(|it| it.verdict() == word).count();
        let (worse, better) = (count("worse"), count("better"));
        let (no_change, refused) = (count("no_change"), count("refused"));
        let open = own.len() - worse - better - no_change - refused;
        // For equal gateways, `worse` and `better` are both false verdicts.
        let (found, wrong) = match truth {
            Truth::Same => ("–".to_owned(), worse + better),
            Truth::Slower => (rate(worse, own.len()), better),
        };
        let values =
            |name: &str| -> Vec<f64> { own.iter().filter_map(|it| it.0[name].as_f64()).collect() };
        let middle =
            |name: &str| median(&values(name)).map_or("–".into(), |it| format!("{it:.0}"));
        format!(
            "| {} | {} | {worse} | {better} | {no_change} | {open} | {refused} | {found} | {} | {} | {} | {} | {} |",
            truth.title(),
            own.len(),
            rate(wrong, own.len()),
            ratio(&values("ratio")),
            ratio(&values("true_ratio")),
            middle("blocks"),
            middle("seconds"),
        )
    }
}

/// Formats a share with Wilson's 95 % interval: `96.7 % (83.3–99.4 %)`.
pub fn rate(found: usize, all: usize) -> String {
    let Some(interval) = wilson(found, all) else {
        return "–".into();
    };
    let percent = |share: f64| 100.0 * share;
    format!(
        "{:.1} % ({:.1}–{:.1} %)",
        percent(found as f64 / all as f64),
        percent(interval.low),
        percent(interval.high)
    )
}

/// Formats the geometric mean, with Student's interval if there is one.
fn ratio(values: &[f64]) -> String {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    let mean = (logs / values.len().max(1) as f64).exp();
    match spread::ratios(values).and_then(|it| it.interval) {
        Some((low, high)) => format!("{mean:.4} ({low:.4}–{high:.4})"),
        None if values.is_empty() => "–".into(),
        None => format!("{mean:.4}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::folder::Folder;

    fn outcome(truth: &str, verdict: &str) -> Outcome {
        Outcome(
            json!({"truth": truth, "verdict": verdict, "ratio": 1.05, "true_ratio": 1.05,
                       "blocks": 10, "seconds": 60.0}),
        )
    }

    #[test]
    fn a_folder_is_resumed_and_counts_every_comparison() {
        let folder = Folder::new().unwrap();
        let mut results = Results::open(folder.at()).unwrap();
        assert_eq!(results.next(2), Some(Truth::Same));
        results.add(outcome("same", "no_change")).unwrap();
        assert_eq!(results.next(2), Some(Truth::Slower));
        results.add(outcome("slower", "worse")).unwrap();
        results.add(outcome("slower", "inconclusive")).unwrap();
        let again = Results::open(folder.at()).unwrap();
        assert_eq!((again.next_number(), again.next(2)), (4, Some(Truth::Same)));
        assert_eq!(again.next(1), None);
        let table = again.table();
        assert!(
            table.contains("| the same gateway | 1 | 0 | 0 | 1 | 0 | 0 | – | 0.0 % (0.0–79.3 %) |"),
            "{table}"
        );
        assert!(
            table.contains(
                "| slower by 5 % | 2 | 1 | 0 | 0 | 1 | 0 | 50.0 % (9.5–90.5 %) | 0.0 % (0.0–65.8 %) |"
            ),
            "{table}"
        );
        folder.write("results.jsonl", "{\n").unwrap();
        let error = Results::open(folder.at()).err().unwrap();
        assert!(error.contains("results.jsonl:1"), "{error}");
    }
}
