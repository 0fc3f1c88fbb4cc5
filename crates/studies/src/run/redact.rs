//! Removes secrets from findings that others may read.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use gatebench_model::Plan;

use super::proof::Configuration;
use crate::Findings;

pub const MASK: &str = "[masked]";

/// The replacement for details of the user's machine and configuration.
pub const LEFT_OUT: &str = "[left out]";

/// The replacement for a user's own configuration, in which secrets cannot be recognized.
const OWN: &str =
    "[not shown: your own configuration may contain secrets; --show-secrets shows it]";

/// A shorter secret is masked only as a whole word, because it may be part of other words.
const PART_BYTES_MIN: usize = 8;

/// The prefixes of password hashes (crypt(5), and htpasswd's own).
const HASHES: [&str; 7] = ["{SHA}", "$apr1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$"];

/// A shorter string after such a prefix is not treated as a hash.
const HASH_CHARS_MIN: usize = 20;

/// The end of the first line of a private key in PEM (RFC 7468).
const KEY_BEGINS: &str = "PRIVATE KEY-----";
const KEY_ENDS: &str = "-----END";

/// Masks a set of secrets.
#[derive(Clone, Debug)]
pub struct Redaction {
    secrets: AhoCorasick,
    /// Labels of the variants that were started with a user's own configuration.
    own_configurations: BTreeSet<String>,
}

impl Redaction {
    /// Returns a redaction of a plan's secrets, and of the configurations that the user supplied
    /// for its variants.
    ///
    /// # Panics
    /// See [`Redaction::of`].
    pub fn of_plan(plan: &Plan) -> Self {
        let own = plan.variants.iter();
        let own = own.filter(|it| it.setup().is_some_and(|setup| setup.config.is_some()));
        Self::of(plan.secrets(), own.map(|it| it.label().to_owned()))
    }

    /// Returns a redaction of these secrets, and of the configurations of the variants with these
    /// labels.
    ///
    /// # Panics
    /// Panics if the secrets exceed the size limit of [`AhoCorasick`].
    pub fn of(
        secrets: impl IntoIterator<Item = String>,
        own_configurations: impl IntoIterator<Item = String>,
    ) -> Self {
        let secrets: Vec<String> = secrets.into_iter().filter(|it| !it.is_empty()).collect();
        let secrets = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(secrets)
            .expect("the secrets of scenarios are far below the size limit of AhoCorasick");
        Self {
            secrets,
            own_configurations: own_configurations.into_iter().collect(),
        }
    }

    /// Returns the text with each secret, password hash and private key masked.
    pub fn text(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let (mut copied, mut at) = (0, 0);
        while let Some(found) = self.secrets.find(Input::new(text).range(at..)) {
            let (start, end) = (found.start(), found.end());
            if end - start >= PART_BYTES_MIN || is_word(text, start, end) {
                masked.push_str(&text[copied..start]);
                masked.push_str(MASK);
                (copied, at) = (end, end);
            } else {
                at = start + 1;
            }
        }
        masked.push_str(&text[copied..]);
        without_keys(&without_hashes(masked))
    }

    /// Masks the secrets in the parts of findings that may quote them: files, messages, commands
    /// and names of requests.
    pub fn mask(&self, findings: &mut Findings) {
        self.all([&mut findings.run.command]);
        self.all(quotations(findings));
        for scenario in &mut findings.scenarios {
            let slowest = scenario.routes.iter_mut().flat_map(|it| &mut it.routes);
            self.all(slowest.map(|route| &mut route.route));
            for results in &mut scenario.external_results {
                self.all(results.checks.iter_mut().map(|check| &mut check.name));
                self.all(results.thresholds.iter_mut().map(|it| &mut it.name));
                self.all(&mut results.groups);
            }
        }
        for case in findings.parity.iter_mut().flat_map(|it| &mut it.cases) {
            self.all([&mut case.name]);
            if let Some(failed) = &mut case.failure {
                self.all([&mut failed.sent, &mut failed.received, &mut failed.expected]);
            }
        }
        for configuration in &mut findings.configurations {
            self.configuration(configuration);
        }
    }

    fn all<'t>(&self, texts: impl IntoIterator<Item = &'t mut String>) {
        for text in texts {
            *text = self.text(text);
        }
    }

    fn configuration(&self, configuration: &mut Configuration) {
        self.all(&mut configuration.commands);
        let is_own = self.own_configurations.contains(&configuration.variant);
        let files = configuration.files.values_mut();
        for text in files.filter_map(|it| it.text.as_mut()) {
            *text = match is_own {
                true => OWN.into(),
                false => self.text(text),
            };
        }
    }
}

/// Leaves out facts about the user's machine and configuration that the figures do not need:
/// command lines, paths, rendered files, messages as sent and received, and the output of programs
/// after its first line.
pub fn leave_out(findings: &mut Findings) {
    findings.run.command = LEFT_OUT.into();
    for gateway in &mut findings.run.gateways {
        gateway.binary = file_name(&gateway.binary);
        shorten(&mut gateway.notes);
    }
    shorten(quotations(findings));
    let cases = findings.parity.iter_mut().flat_map(|it| &mut it.cases);
    for failure in cases.filter_map(|case| case.failure.as_mut()) {
        failure.sent = LEFT_OUT.into();
        failure.received = LEFT_OUT.into();
    }
    for configuration in &mut findings.configurations {
        configuration.commands.clear();
        for file in configuration.files.values_mut() {
            file.text = Some(LEFT_OUT.into());
        }
    }
}

/// Keeps only the first line of each string, without paths.
fn shorten<'t>(texts: impl IntoIterator<Item = &'t mut String>) {
    for text in texts {
        *text = without_paths(&first_line(text));
    }
}

/// The notes, failures, warnings, reasons and sentences, which may quote files and programs.
fn quotations(findings: &mut Findings) -> Vec<&mut String> {
    let mut texts: Vec<&mut String> = findings.notes.iter_mut().collect();
    for failure in &mut findings.failures {
        texts.extend([&mut failure.reason, &mut failure.remedy]);
    }
    for trial in &mut findings.trials {
        texts.extend(&mut trial.warnings);
        let reasons = trial.reasons.iter_mut();
        texts.extend(reasons.flat_map(|it| [&mut it.message, &mut it.remedy]));
    }
    let scenarios = findings.scenarios.iter_mut();
    let sentences = scenarios.flat_map(|it| &mut it.sentences);
    let sentences = findings.headlines.iter_mut().chain(sentences);
    texts.extend(sentences.map(|sentence| &mut sentence.text));
    texts
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Replaces absolute paths of at least two components, because they may name users and their
/// projects.
fn without_paths(text: &str) -> String {
    let without = |word: &str| {
        let path = word.trim_start_matches(['(', '\'', '"', '`']);
        let is_path = path.strip_prefix('/').is_some_and(|it| it.contains('/'));
        let blank = &word[word.trim_end().len()..];
        match is_path {
            true => format!("{LEFT_OUT}{blank}"),
            false => word.to_owned(),
        }
    };
    text.split_inclusive(char::is_whitespace)
        .map(without)
        .collect()
}

fn first_line(text: &str) -> String {
    match text.split_once('\n') {
        Some((first, _)) => format!("{first} {LEFT_OUT}"),
        None => text.to_owned(),
    }
}

/// Reports whether the text between these positions is a whole word: no letter or digit is next to
/// it.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    !before.into_iter().chain(after).any(char::is_alphanumeric)
}

/// Masks the text after the prefix of a hash, because passwords can be tested against a hash.
fn without_hashes(mut text: String) -> String {
    for prefix in HASHES {
        let mut at = 0;
        while let Some(found) = text[at..].find(prefix) {
            let start = at + found + prefix.len();
            let of_hash = |c: char| c.is_ascii_alphanumeric() || "./+=$".contains(c);
            let rest = &text[start..];
            let length = rest.find(|c| !of_hash(c)).unwrap_or(rest.len());
            at = start;
            if length >= HASH_CHARS_MIN {
                text.replace_range(start..start + length, MASK);
                at += MASK.len();
            }
        }
    }
    text
}

/// Masks private keys. A key without an end is masked up to the end of the text.
fn without_keys(text: &str) -> String {
    let mut pieces = text.split(KEY_BEGINS);
    let mut masked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        masked.push_str(KEY_BEGINS);
        // The last line of a key also contains `KEY_BEGINS`.
        let is_end = masked
            .rfind("-----BEGIN")
            .is_none_or(|begin| masked.rfind(KEY_ENDS).is_some_and(|end| end > begin));
        match piece.find(KEY_ENDS) {
            _ if is_end => masked.push_str(piece),
            Some(end) => {
                masked.push_str(MASK);
                masked.push_str(&piece[end..]);
            }
            None => masked.push_str(MASK),
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let secrets = [
            "k1",
            "ab1",
            "alice-3f9b1c7d",
            "alice-3f9b1c7d5e",
            "x",
            "b1-long-one",
            "",
        ];
        Redaction::of(secrets.map(str::to_owned), []).text(text)
    }

    #[test]
    fn secrets_are_masked_but_not_words_that_contain_short_ones() {
        for (text, expected) in [
            ("X-Api-Key: k1\r\n", "X-Api-Key: [masked]\r\n"),
            ("{\"k1\", k10, ak1, k1é}", "{\"[masked]\", k10, ak1, k1é}"),
            ("?q=alice-3f9b1c7d5e&", "?q=[masked]&"),
            ("qalice-3f9b1c7dq", "q[masked]q"),
            ("max x index", "max [masked] index"),
            ("zab1-long-one", "za[masked]"),
            ("", ""),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn only_absolute_paths_are_left_out() {
        let text = "the file /srv/me/a.conf is\nread (`/srv/b`), 3 req/s, / and /ping";
        assert_eq!(
            without_paths(text),
            "the file [left out] is\nread [left out] 3 req/s, / and /ping"
        );
        assert_eq!(first_line("a\nb"), "a [left out]");
        assert_eq!(file_name("/usr/sbin/nginx of x"), "nginx of x");
    }

    #[test]
    fn hashes_and_private_keys_are_masked() {
        for (text, expected) in [
            (
                "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\nbob",
                "alice:{SHA}[masked]\nbob",
            ),
            (
                "\"$2b$04$abcdefghijklmnopqrstuv./abcdefghijklmnopqrstuvwxyz01234\"",
                "\"$2b$[masked]\"",
            ),
            ("listen $5$port; {SHA} is", "listen $5$port; {SHA} is"),
            (
                "-----BEGIN EC PRIVATE KEY-----\\nMHcC\\n-----END EC PRIVATE KEY-----\\nrest",
                "-----BEGIN EC PRIVATE KEY-----[masked]-----END EC PRIVATE KEY-----\\nrest",
            ),
            (
                "-----BEGIN PRIVATE KEY-----\nA\n-----END PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\nB",
                "-----BEGIN PRIVATE KEY-----[masked]-----END PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----[masked]",
            ),
        ] {
            assert_eq!(masked(text), expected);
        }
    }
}
