//! The JSON keys of a plan that contain its study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AbTest, Capacity, ColdStart, Flame, Isolation, Shares, Soak, Specified, Study};

/// Generates the JSON keys from a list with the settings and the study of each key.
macro_rules! keys {
    ($it:ident => $($(#[$doc:meta])* $key:ident: $settings:ty = [$($study:tt)*],)*) => {
        /// One key for each study; a plan has at most one of them.
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        pub(super) struct Keys {
            $(
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                $key: Option<$settings>,
            )*
        }

        impl TryFrom<Keys> for Study {
            type Error = String;

            fn try_from(keys: Keys) -> Result<Self, String> {
                let studies = [$(keys.$key.map(|$it| (stringify!($key), $($study)*))),*];
                let mut studies = studies.into_iter().flatten();
                match (studies.next(), studies.next()) {
                    (None, _) => Ok(Self::default()),
                    (Some((_, study)), None) => Ok(study),
                    (Some((one, _)), Some((other, _))) => Err(format!(
                        "a plan is for one study, but this one has both '{one}' and '{other}'"
                    )),
                }
            }
        }

        impl From<Study> for Keys {
            fn from(study: Study) -> Self {
                let mut keys = Self::default();
                match study {
                    Study::Measure(None) => {}
                    $($($study)* => keys.$key = Some($it),)*
                }
                keys
            }
        }
    };
}

keys! { settings =>
    /// The settings of an A/B test.
    #[serde(alias = "duel")]
    ab_test: AbTest = [Study::Ab(settings)],
    /// The settings of a capacity search; each trial of a gateway is a repeat of the search.
    capacity: Capacity = [Study::Capacity(settings)],
    /// Shares of each gateway's saturation at which the gateway is measured after its loads.
    at: Shares = [Study::Measure(Some(settings))],
    /// The settings of a soak.
    soak: Soak = [Study::Soak(settings)],
    /// The settings of a profile of CPU time.
    flame: Flame = [Study::Profile(settings)],
    /// The isolation tests, at least one.
    isolation: Vec<Isolation> = [Study::Isolation(settings)],
    /// The specification that the plan runs.
    specification: Specified = [Study::Versions(settings)],
    /// The settings of a cold-start study.
    cold_start: ColdStart = [Study::ColdStart(settings)],
}
