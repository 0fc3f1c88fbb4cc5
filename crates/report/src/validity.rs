//! The validity of figures.

use gatebench_stats::Estimate;
use serde::Serialize;

/// The extent to which a figure may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    Valid,
    /// The figure may be used, but something other than the gateway bounds or disturbs it.
    Limited,
    Invalid,
}

impl Validity {
    /// Returns the worst validity of the usable values: invalid if no value is usable, `None` if
    /// there are no values.
    pub fn worst_usable(all: impl Iterator<Item = Self> + Clone) -> Option<Self> {
        let usable = all.clone().filter(|it| *it != Self::Invalid);
        usable.max().or_else(|| all.max())
    }

    /// Returns the name, which is also the CSS class.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Limited => "limited",
            Self::Invalid => "invalid",
        }
    }

    /// Returns the mark that follows a limited figure, or an empty string.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Limited => "*",
            Self::Valid | Self::Invalid => "",
        }
    }
}

/// Returns the estimate over the usable values, and [`Validity::worst_usable`] of all values.
pub fn estimate_of(
    values: impl IntoIterator<Item = (Validity, f64)>,
) -> (Option<Estimate>, Option<Validity>) {
    let all: Vec<(Validity, f64)> = values.into_iter().collect();
    let usable = all.iter().filter(|(it, _)| *it != Validity::Invalid);
    let usable: Vec<f64> = usable.map(|(_, value)| *value).collect();
    let validity = Validity::worst_usable(all.iter().map(|(validity, _)| *validity));
    (Estimate::of_blocks(&usable), validity)
}
