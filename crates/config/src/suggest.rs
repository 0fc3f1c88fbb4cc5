//! Suggestions for misspelled words.

/// The candidate that `word` most likely misspells, if any is close enough.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let folded = fold(word);
    let distance = |candidate: &&str| strsim::damerau_levenshtein(&folded, &fold(candidate));
    let candidates = candidates.into_iter();
    let near = candidates.filter(|candidate| distance(candidate) <= tolerance(candidate));
    near.min_by_key(distance)
}

/// The remedy for a misspelled word; `otherwise` if no candidate is close enough.
pub fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(word, candidates).map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}

/// The maximum edit distance at which a candidate is still suggested: a third of its length,
/// rounded down, but at least 1.
fn tolerance(candidate: &str) -> usize {
    (candidate.chars().count() / 3).max(1)
}

/// Normalizes a spelling: `apiKey`, `api-key` and `API_KEY` become the same word.
fn fold(word: &str) -> String {
    word.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// Lists words for use in a sentence: `` `a`, `b` and `c` ``.
pub fn listed<'w>(words: impl IntoIterator<Item = &'w str>, conjunction: &str) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "none".into(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} {conjunction} {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_are_suggested() {
        let words = ["api_key", "mock", "path", "headers"];
        assert_eq!(nearest("apiKey", words), Some("api_key"));
        assert_eq!(nearest("moc", words), Some("mock"));
        assert_eq!(nearest("pth", words), Some("path"));
        assert_eq!(nearest("hedaers", words), Some("headers"));
        assert_eq!(nearest("rate_limit", words), None);
        assert_eq!(nearest("", words), None);
    }

    #[test]
    fn words_are_listed_as_in_a_sentence() {
        assert_eq!(listed([], "and"), "none");
        assert_eq!(listed(["a"], "and"), "`a`");
        assert_eq!(listed(["a", "b", "c"], "or"), "`a`, `b` or `c`");
    }
}
