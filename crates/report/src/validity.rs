//! The validity of figures.

use gatebench_stats::Estimate;
use serde::Serialize;

/// May it be used?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// Yes.
    Valid,
    /// With the limit that is named.
    Limited,
    /// No.
    Invalid,
}

impl Validity {
    /// The worst validity of the values that may be used; invalid if there are only others.
    pub fn worst_usable(all: impl Iterator<Item = Self> + Clone) -> Option<Self> {
        let usable = all.clone().filter(|it| *it != Self::Invalid);
        usable.max().or_else(|| all.max())
    }

    /// Its name, which is also its class in the style sheet.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Limited => "limited",
            Self::Invalid => "invalid",
        }
    }

    /// The mark behind a figure that is limited, or nothing.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Limited => "*",
            Self::Valid | Self::Invalid => "",
        }
    }
}

/// Returns the estimate of the values that may be used, and the validity of the whole.
pub fn estimate_of(
    values: impl IntoIterator<Item = (Validity, f64)>,
) -> (Option<Estimate>, Option<Validity>) {
    let all: Vec<(Validity, f64)> = values.into_iter().collect();
    let usable = all.iter().filter(|(it, _)| *it != Validity::Invalid);
    let usable: Vec<f64> = usable.map(|(_, value)| *value).collect();
    let validity = Validity::worst_usable(all.iter().map(|(validity, _)| *validity));
    (Estimate::of_blocks(&usable), validity)
}
