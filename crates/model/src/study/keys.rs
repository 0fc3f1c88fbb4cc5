//! The keys of a plan in JSON that hold its study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AbTest, Capacity, ColdStart, Flame, Isolation, Shares, Soak, Specified, Study};

/// Makes one key for each study from the list of keys with the settings and the study of each.
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
                        "a plan is made for one study, and this one has both '{one}' and '{other}'"
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
    /// The comparison that it is made for; none where it is made to measure.
    duel: AbTest = [Study::Ab(settings)],
    /// The search that it is made for; each trial of a gateway is then a repeat of it.
    capacity: Capacity = [Study::Capacity(settings)],
    /// Shares of each gateway's own saturation at which it is measured after its loads.
    at: Shares = [Study::Measure(Some(settings))],
    /// The endurance test that it is made for.
    soak: Soak = [Study::Soak(settings)],
    /// The profile that it is made for.
    flame: Flame = [Study::Profile(settings)],
    /// The tests of isolation that it is made for.
    isolation: Vec<Isolation> = [Study::Isolation(settings)],
    /// The specification that it was made from.
    specification: Specified = [Study::Versions(settings)],
    /// The study of starts that it is made for.
    cold_start: ColdStart = [Study::ColdStart(settings)],
}
