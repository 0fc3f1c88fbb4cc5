//! Parses a page of metrics: Prometheus's text format, or nginx's `stub_status`.

use std::collections::BTreeMap;

use gatebench_model::own_metrics::MetricsFormat;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Page {
    samples: Vec<Sample>,
}

/// A sample: `name{labels} value`.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    /// The labels as they are written, without the braces.
    labels: String,
    value: f64,
}

impl Page {
    /// Parses a page. Lines that are not samples are ignored.
    pub(crate) fn read(text: &str, format: MetricsFormat) -> Self {
        let samples = match format {
            MetricsFormat::Prometheus => text.lines().filter_map(sample).collect(),
            MetricsFormat::StubStatus => stub_status(text),
        };
        Self { samples }
    }

    /// Returns those samples of a metric that have the labels `asked`, each as its labels and its
    /// value.
    pub(crate) fn of<'p>(
        &'p self,
        metric: &'p str,
        asked: &'p BTreeMap<String, String>,
    ) -> impl Iterator<Item = (&'p str, f64)> {
        let wanted = move |it: &&Sample| {
            let mut pairs = asked.iter();
            it.name == metric && pairs.all(|(name, value)| label(&it.labels, name) == Some(value))
        };
        let samples = self.samples.iter().filter(wanted);
        samples.map(|it| (it.labels.as_str(), it.value))
    }

    /// Returns the sums of a metric's samples that have the labels `asked`, one sum for each
    /// combination of values of the labels `by`. Samples that lack one of the labels `by` are
    /// omitted.
    pub(crate) fn sums(
        &self,
        metric: &str,
        asked: &BTreeMap<String, String>,
        by: &[String],
    ) -> BTreeMap<Vec<String>, f64> {
        let mut sums = BTreeMap::new();
        for (labels, value) in self.of(metric, asked) {
            let values = by.iter().map(|name| label(labels, name).map(str::to_owned));
            if let Some(values) = values.collect::<Option<Vec<String>>>() {
                *sums.entry(values).or_insert(0.0) += value;
            }
        }
        sums
    }

    /// Returns the sum of a metric's samples that have the labels `asked`; `None` if there are
    /// none.
    pub(crate) fn sum(&self, metric: &str, asked: &BTreeMap<String, String>) -> Option<f64> {
        let values = self.of(metric, asked).map(|(_, value)| value);
        values.reduce(|sum, value| sum + value)
    }
}

fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => {
            let end = pairs(rest).last().map_or(0, |pair| pair.end);
            let (between, value) = rest[end..].split_once('}')?;
            let is_closed = between.trim_matches([' ', ',']).is_empty();
            (is_closed.then_some(&rest[..end])?, value)
        }
        None => ("", rest),
    };
    // A timestamp and an exemplar may follow the value.
    let value = value.split_whitespace().next()?.parse().ok()?;
    (!name.is_empty() && !name.starts_with('#')).then(|| Sample {
        name: name.into(),
        labels: labels.into(),
        value,
    })
}

/// Parses nginx's page, whose numbers have a fixed order.
fn stub_status(text: &str) -> Vec<Sample> {
    const NAMES: [&str; 7] = [
        "active", "accepts", "handled", "requests", "reading", "writing", "waiting",
    ];
    let words = text.split_whitespace();
    let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    if numbers.len() != NAMES.len() {
        return Vec::new();
    }
    let pairs = NAMES.into_iter().zip(numbers);
    pairs
        .map(|(name, value)| Sample {
            name: name.into(),
            labels: String::new(),
            value,
        })
        .collect()
}

/// A label: `name="value"`.
struct Pair<'l> {
    name: &'l str,
    /// The value as it is written, with its escape sequences.
    value: &'l str,
    /// The index of the byte after the closing quote.
    end: usize,
}

/// Returns the labels at the beginning of a text. A value may contain braces, commas, and quotes
/// after a backslash.
fn pairs(text: &str) -> impl Iterator<Item = Pair<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let (name, quoted) = rest.split_once("=\"")?;
        let name = name.trim_matches([' ', ',']);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let mut is_escaped = false;
        let is_end = |c: char| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        };
        let length = quoted.find(is_end)?;
        at = text.len() - quoted.len() + length + 1;
        Some(Pair {
            name,
            value: &quoted[..length],
            end: at,
        })
    })
}

/// Returns the value of exactly this label: `status_code="200"` has no label `code`.
fn label<'l>(labels: &'l str, name: &str) -> Option<&'l str> {
    let mut pairs = pairs(labels);
    let pair = pairs.find(|pair| pair.name == name);
    pair.map(|pair| pair.value)
}

/// Returns the upper bound of a bucket, from its label `le`.
pub(crate) fn bound(labels: &str) -> Option<f64> {
    match label(labels, "le")? {
        "+Inf" => Some(f64::INFINITY),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        Page::read(text, MetricsFormat::Prometheus).sum("rq_total", &labels.collect())
    }

    const TEXT: &str = "# HELP rq_total Requests.\n# TYPE rq_total counter\nrq_total{code=\"200\",side=\"in\"} 40\n\
                        rq_total{code=\"404\",side=\"in\"} 2 1700000000000\nrq_total{side=\"out\"} 4.1e+01\nrq_total_more 7\nup 1\n";

    #[test]
    fn samples_of_a_metric_are_added_up_by_their_labels() {
        assert_eq!(added(TEXT, &[]), Some(83.0));
        assert_eq!(added(TEXT, &[("side", "in")]), Some(42.0));
        assert_eq!(added("rq_total 9\n", &[]), Some(9.0));
        assert_eq!(added("other 9\n", &[]), None);
        let longer = "rq_total{status_code=\"200\"} 5\nrq_total{a=\"b\", code=\"200\"} 7\n";
        assert_eq!(added(longer, &[("code", "200")]), Some(7.0));
    }

    #[test]
    fn label_values_may_contain_any_characters() {
        let text = "rq_total{path=\"/{id}\",code=\"200\",} 5 # {trace_id=\"a}b\"} 0.67\n\
                    rq_total{path=\"a\\\",code=\\\"404\", code=\"500\" } 7\nrq_total{} 1\n\
                    rq_total{path=\"open} 9\n";
        assert_eq!(
            added(text, &[("code", "200"), ("path", "/{id}")]),
            Some(5.0)
        );
        assert_eq!(added(text, &[("code", "404")]), None);
        assert_eq!(added(text, &[("code", "500")]), Some(7.0));
        assert_eq!(added(text, &[]), Some(13.0));
    }

    #[test]
    fn a_bucket_has_a_bound() {
        assert_eq!(bound("route=\"a\",le=\"0.5\""), Some(0.5));
        assert_eq!(bound("le=\"+Inf\", a=\"b\""), Some(f64::INFINITY));
        assert_eq!(bound("scale=\"0.5\""), None);
    }

    #[test]
    fn the_page_of_nginx_is_read_by_position() {
        let text = "Active connections: 2 \nserver accepts handled requests\n 16 15 31 \n\
                    Reading: 0 Writing: 1 Waiting: 1 \n";
        let page = Page::read(text, MetricsFormat::StubStatus);
        let any = BTreeMap::new();
        assert_eq!(page.sum("requests", &any), Some(31.0));
        assert_eq!(page.sum("waiting", &any), Some(1.0));
        let other = Page::read("404 Not Found", MetricsFormat::StubStatus);
        assert_eq!(other.sum("requests", &any), None);
    }
}
