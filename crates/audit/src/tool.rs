//! Load tools, as far as the names in a table tell them apart: what the mean time that each prints is
//! the mean of, and how many requests it keeps in flight on a connection.
//!
//! wrk 4.0.0 to 4.2.0 (`stats_correct` in `src/stats.c`, called by `src/wrk.c` before anything is printed)
//! adds samples for every request that took at least twice as long as the average connection needs for one:
//! its mean is also of requests that were never sent. ab (`support/ab.c` of httpd) and siege take the mean of
//! what they sent, one request at a time on a connection. So does oha over HTTP/1.1 (`--latency-correction`
//! is off by default); over HTTP/2, as h2load with `-m` and k6 with a batch, it has several on a connection.

/// What the mean time of a table or a row is the mean of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mean {
    /// Of the requests that were sent, of which a user has one at a time.
    OfSent,
    /// Of those, and of others that the tool adds for long ones.
    WithAdded,
    /// Of the requests that were sent, of which a user may have several at a time.
    OfSeveral,
    /// No tool is named.
    Unknown,
}

impl Mean {
    /// By the names of tools in a text; the one that allows most holds where there are several.
    pub(crate) fn of_words(text: &str) -> Self {
        let text = text.to_lowercase();
        let is_part = |it: char| it.is_alphanumeric() || "./-_".contains(it);
        let words: Vec<&str> = text.split(|it: char| !is_part(it)).collect();
        let has = |word: &str| words.contains(&word);
        let is_http1 = ["http/1.1", "http1.1", "http/1", "h1", "--h1"]
            .into_iter()
            .any(has);
        if has("wrk") {
            Self::WithAdded
        } else if has("h2load") || has("k6") || (has("oha") && !is_http1) {
            Self::OfSeveral
        } else if (has("oha") && !has("--latency-correction")) || has("ab") || has("siege") {
            Self::OfSent
        } else {
            Self::Unknown
        }
    }

    /// Why more may be in flight, by rate and mean, than there are users; none where that cannot be.
    pub(crate) fn why_above_users(self) -> Option<&'static str> {
        match self {
            Self::OfSent => None,
            Self::WithAdded => Some(
                "wrk adds samples for long requests before it prints (to correct for coordinated omission), so \
                 its mean includes requests that were never sent, and is too long",
            ),
            Self::OfSeveral => Some(
                "this tool can have several requests in flight for a user (HTTP/2 streams, pipelining, batches), and \
                 the table does not state how many",
            ),
            Self::Unknown => Some(
                "the table does not name the load tool; wrk's mean includes samples that it adds for long \
                 requests, and over HTTP/2 a connection has several requests in flight",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_known_by_their_names() {
        let of = Mean::of_words;
        assert_eq!(of("what wrk printed"), Mean::WithAdded);
        assert_eq!(of("ab -k, wrk"), Mean::WithAdded);
        assert_eq!(of("wrk2"), Mean::Unknown, "which corrects otherwise");
        assert_eq!(of("ab -k -c 64"), Mean::OfSent);
        assert_eq!(of("a/b test of the lab"), Mean::Unknown);
        assert_eq!(of("oha, HTTP/1.1"), Mean::OfSent);
        assert_eq!(of("oha"), Mean::OfSeveral);
        assert_eq!(of("h2load -m 10"), Mean::OfSeveral);
        assert_eq!(
            of("oha HTTP/1.1 -q 500 --latency-correction"),
            Mean::Unknown
        );
        assert_eq!(of("K6 Avg"), Mean::OfSeveral);
    }
}
