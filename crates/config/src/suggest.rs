//! Suggestions: the known word nearest to an unknown one.

/// The candidate that `word` is most likely meant to be, if any is close enough.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let folded = fold(word);
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&folded, &fold(candidate)),
                candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= tolerance(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of slips with which a word is still recognisable: one in a short word, a third of the
/// letters in a long one.
fn tolerance(candidate: &str) -> usize {
    (candidate.chars().count() / 3).max(1)
}

/// Normalises spellings: `apiKey`, `api-key` and `API_KEY` are not slips of `api_key` but other
/// spellings of it.
fn fold(word: &str) -> String {
    word.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// Words in a sentence: `` `a`, `b` and `c` ``.
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
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["api_key", "mock", "path", "headers"];
        assert_eq!(nearest("apiKey", words), Some("api_key"));
        assert_eq!(nearest("moc", words), Some("mock"));
        assert_eq!(nearest("pth", words), Some("path"));
        assert_eq!(nearest("hedaers", words), Some("headers"));
        assert_eq!(nearest("rate_limit", words), None);
        assert_eq!(nearest("", words), None);
    }

    #[test]
    fn words_are_listed_as_people_do() {
        assert_eq!(listed([], "and"), "none");
        assert_eq!(listed(["a"], "and"), "`a`");
        assert_eq!(listed(["a", "b", "c"], "or"), "`a`, `b` or `c`");
    }
}
