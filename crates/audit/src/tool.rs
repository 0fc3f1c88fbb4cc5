//! Derives two facts from the name of a load tool: the kind of mean that the tool prints, and
//! whether a user or connection can have several requests in flight.
//!
//! wrk 4.0.0 to 4.2.0 adds samples for every request that took more than twice a connection's
//! average time per request (`stats_correct` in `src/stats.c`, called by `src/wrk.c` before it
//! prints). Its mean therefore includes requests that were never sent. ab (`support/ab.c` of httpd)
//! and siege print the mean of the requests that they sent, one at a time on a connection. oha does
//! the same over HTTP/1.1, because `--latency-correction` is off by default. Over HTTP/2, oha can
//! have several requests in flight on a connection, like h2load with `-m`. A virtual user of k6 can
//! send several requests at once in a batch.

/// The kind of mean time in a table or a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mean {
    /// The mean of the requests sent, with at most one in flight per user.
    OfSent,
    /// The mean of the requests sent and of samples that the tool adds for slow requests.
    WithAdded,
    /// The mean of the requests sent, with possibly several in flight per user.
    OfSeveral,
    /// The kind is unknown: the table names no tool, or none whose mean is known.
    Unknown,
}

impl Mean {
    /// Returns the kind of mean that the tools named in a text print. If the tools print means of
    /// several kinds, the first of `WithAdded`, `OfSeveral` and `OfSent` applies.
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

    /// Returns the reason why the number of requests in flight, computed from the rate and the
    /// mean, may exceed the number of users, or `None` if it may not.
    pub(crate) fn why_above_users(self) -> Option<&'static str> {
        match self {
            Self::OfSent => None,
            Self::WithAdded => Some(
                "wrk adds samples for slow requests to correct for coordinated omission, so its mean includes \
                 requests that were never sent and is too high",
            ),
            Self::OfSeveral => Some(
                "this tool can have several requests in flight per user (HTTP/2 streams, pipelining, batches), and \
                 the table does not state how many",
            ),
            Self::Unknown => Some(
                "the table does not name the load tool, or names one whose mean is unknown: wrk's mean includes \
                 samples that wrk adds for slow requests, and over HTTP/2, a connection can have several \
                 requests in flight",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_recognized_by_their_names() {
        let of = Mean::of_words;
        assert_eq!(of("what wrk printed"), Mean::WithAdded);
        assert_eq!(of("ab -k, wrk"), Mean::WithAdded);
        assert_eq!(of("wrk2"), Mean::Unknown, "wrk2 corrects in another way");
        assert_eq!(of("ab -k -c 64"), Mean::OfSent);
        assert_eq!(of("a/b test of the lab"), Mean::Unknown);
        assert_eq!(of("oha, HTTP/1.1"), Mean::OfSent);
        assert_eq!(of("oha"), Mean::OfSeveral);
        assert_eq!(of("h2load -m 10"), Mean::OfSeveral);
        let corrected = "oha HTTP/1.1 -q 500 --latency-correction";
        assert_eq!(of(corrected), Mean::Unknown);
        assert_eq!(of("K6 Avg"), Mean::OfSeveral);
    }
}
