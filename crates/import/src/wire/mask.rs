//! Masks secrets in lines of configurations.

/// Words that precede a secret.
const WORDS: [&str; 12] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "credential",
    "private_key",
    "auth",
    "session",
];

const MASK: &str = "***";

/// Masks the values after [`WORDS`], and the credentials in URLs.
pub(super) fn without_secrets(line: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut is_secret = false;
    for word in line.split(' ') {
        let start = start_of_names(word);
        let lower = word[start..].to_ascii_lowercase();
        if is_secret && !word.is_empty() && !word.starts_with("{{") {
            let rest = word.trim_end_matches([';', '"', '\'', ',', '}', ']']);
            out.push(format!("{MASK}{}", &word[rest.len()..]));
            is_secret = false;
            continue;
        }
        let found = WORDS.iter().any(|secret| lower.contains(secret));
        let value = word[start..].find(['=', ':']).map(|at| start + at);
        match value.filter(|at| found && at + 1 < word.len()) {
            Some(at) => out.push(format!("{}{MASK}", &word[..=at])),
            None => {
                is_secret = found;
                out.push(without_user(word));
            }
        }
    }
    out.join(" ")
}

/// Returns the position in a word where the names of secrets may begin. In a URL, that is the
/// query.
fn start_of_names(word: &str) -> usize {
    let query = |at: usize| word[at..].find('?').map_or(word.len(), |query| at + query);
    word.find("://").map_or(0, query)
}

/// Converts `http://user:password@host` to `http://***@host`.
fn without_user(word: &str) -> String {
    let Some(at) = word.find("://").map(|at| at + 3) else {
        return word.to_owned();
    };
    let end = word[at..].find('/').map_or(word.len(), |end| at + end);
    match word[at..end].rfind('@') {
        Some(user) => format!("{}{MASK}{}", &word[..at], &word[at + user..]),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (line, expected) in [
            (
                "proxy_pass http://me:pw@host:80/;",
                "proxy_pass http://***@host:80/;",
            ),
            ("password: abc", "password: ***"),
            ("{token: \"abc\"}", "{token: ***\"}"),
            (
                "- url: http://auth-service:9001/",
                "- url: http://auth-service:9001/",
            ),
            ("url: http://a/?token=abc", "url: http://a/?token=***"),
            (
                "server a 10.0.0.1:80 cookie=x",
                "server a 10.0.0.1:80 cookie=x",
            ),
            ("stats auth admin:pw", "stats auth ***"),
            ("x-api-key=abc y", "x-api-key=*** y"),
        ] {
            assert_eq!(without_secrets(line), expected);
        }
    }
}
