//! The keys of a plan in JSON that hold its study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AbTest, Capacity, ColdStart, Flame, Isolation, Shares, Soak, Specified, Study};

/// One key for each study; a plan has at most one of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct Keys {
    /// The comparison that it is made for; none where it is made to measure.
    #[serde(rename = "duel", default, skip_serializing_if = "Option::is_none")]
    ab_test: Option<AbTest>,
    /// The search that it is made for; each trial of a gateway is then a repeat of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<Capacity>,
    /// Shares of each gateway's own saturation at which it is measured after its loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Shares>,
    /// The endurance test that it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    soak: Option<Soak>,
    /// The profile that it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flame: Option<Flame>,
    /// The tests of isolation that it is made for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    isolation: Vec<Isolation>,
    /// The specification that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    specification: Option<Specified>,
    /// The study of starts that it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cold_start: Option<ColdStart>,
}

impl TryFrom<Keys> for Study {
    type Error = String;

    fn try_from(keys: Keys) -> Result<Self, String> {
        let isolation = Some(keys.isolation).filter(|tests| !tests.is_empty());
        let studies = [
            keys.ab_test.map(|it| ("duel", Self::Ab(it))),
            keys.capacity.map(|it| ("capacity", Self::Capacity(it))),
            keys.at.map(|it| ("at", Self::Measure(Some(it)))),
            keys.soak.map(|it| ("soak", Self::Soak(it))),
            keys.flame.map(|it| ("flame", Self::Profile(it))),
            isolation.map(|it| ("isolation", Self::Isolation(it))),
            keys.specification
                .map(|it| ("specification", Self::Versions(it))),
            keys.cold_start
                .map(|it| ("cold_start", Self::ColdStart(it))),
        ];
        let mut studies = studies.into_iter().flatten();
        match (studies.next(), studies.next()) {
            (None, _) => Ok(Self::default()),
            (Some((_, study)), None) => Ok(study),
            (Some((one, _)), Some((other, _))) => Err(format!(
                "a plan is made for one study, and this one has both '{one}' and '{other}'"
            )),
        }
    }
}

impl From<Study> for Keys {
    fn from(study: Study) -> Self {
        let mut keys = Self::default();
        match study {
            Study::Measure(shares) => keys.at = shares,
            Study::Ab(ab_test) => keys.ab_test = Some(ab_test),
            Study::Capacity(capacity) => keys.capacity = Some(capacity),
            Study::Soak(soak) => keys.soak = Some(soak),
            Study::Profile(flame) => keys.flame = Some(flame),
            Study::Isolation(tests) => keys.isolation = tests,
            Study::Versions(specified) => keys.specification = Some(specified),
            Study::ColdStart(study) => keys.cold_start = Some(study),
        }
        keys
    }
}
