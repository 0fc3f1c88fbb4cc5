//! Which component runs on which cores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Which cores each component is pinned to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Cores of the gateway under test.
    pub gateway: Vec<usize>,
    /// Cores of the load engine, one worker each.
    pub engine: Vec<usize>,
    /// Cores of the upstream, one worker each.
    pub upstream: Vec<usize>,
    /// What the placement means for the reader, in one sentence.
    pub note: String,
    /// Whether the gateway's cores are those of another host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gateway_is_elsewhere: bool,
}

/// A number of gateway cores that a machine cannot give.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// This one cannot.
    #[error(
        "the gateway cannot have {asked} of {available} cores: ask for 1 to {most}, since engine and upstream need one as well"
    )]
    Here {
        /// Cores asked for.
        asked: usize,
        /// Cores there are.
        available: usize,
        /// Cores that a gateway can have.
        most: usize,
    },
    /// Another host cannot.
    #[error("the gateway cannot have {asked} of {available} cores of {host}")]
    Elsewhere {
        /// Cores asked for.
        asked: usize,
        /// Cores there are.
        available: usize,
        /// What the user calls it.
        host: String,
    },
}

/// Engine or upstream cores for each core of the gateway: an embedded part spends less on a request
/// than a gateway, so that two of its cores are never the limit and further ones would idle.
const CORES_PER_GATEWAY_CORE: usize = 2;

impl Placement {
    /// One core for the gateway, the others for engine and upstream.
    ///
    /// `cpus` are the cores that this process may use, in ascending order. The gateway gets the last
    /// one, since most kernels put interrupts and housekeeping on the first.
    pub fn automatic(cpus: &[usize]) -> Self {
        match cpus {
            [] => Self {
                gateway: vec![],
                engine: vec![],
                upstream: vec![],
                gateway_is_elsewhere: false,
                note: "No core could be read, so nothing is pinned and the figures compare only roughly.".into(),
            },
            [only] => Self {
                gateway: vec![*only],
                engine: vec![*only],
                upstream: vec![*only],
                gateway_is_elsewhere: false,
                note: "Gateway, engine and upstream share the only core: throughput and latency are those of all \
                       three together and compare with no other machine; CPU per request still stands."
                    .into(),
            },
            [rest @ .., last] => Self::split(rest, &[*last]),
        }
    }

    /// Whether the engine has cores that neither gateway nor upstream runs on.
    pub fn engine_is_alone(&self) -> bool {
        let gateway = self.gateway.iter().filter(|_| !self.gateway_is_elsewhere);
        let others = || gateway.clone().chain(&self.upstream);
        !self.engine.is_empty() && others().all(|core| !self.engine.contains(core))
    }

    /// The last `count` cores for the gateway, the others for engine and upstream.
    ///
    /// # Errors
    /// `count` is 0 or leaves no core for engine and upstream.
    pub fn with_gateway_cores(cpus: &[usize], count: usize) -> Result<Self, PlacementError> {
        let most = cpus.len().saturating_sub(1).max(1);
        match cpus.len().checked_sub(count) {
            Some(0) if count == 1 => Ok(Self::automatic(cpus)),
            Some(rest) if rest > 0 && count > 0 => {
                let (rest, gateway) = cpus.split_at(rest);
                Ok(Self::split(rest, gateway))
            }
            _ => Err(PlacementError::Here {
                asked: count,
                available: cpus.len(),
                most,
            }),
        }
    }

    /// The last `count` of the cores `there`, on another host, for the gateway; those of this machine for engine and
    /// upstream.
    ///
    /// # Errors
    /// `count` is 0, or the host does not have so many.
    pub fn with_gateway_elsewhere(
        here: &[usize],
        host: &str,
        there: &[usize],
        count: usize,
    ) -> Result<Self, PlacementError> {
        let first = there.len().checked_sub(count).filter(|_| count > 0);
        let first = first.ok_or_else(|| PlacementError::Elsewhere {
            asked: count,
            available: there.len(),
            host: host.into(),
        })?;
        let gateway = &there[first..];
        let (engine, upstream) = halves(here, count);
        let rest = if engine == upstream {
            format!(
                "engine and upstream share {} of this machine",
                cores(&engine)
            )
        } else {
            format!(
                "on this machine the engine has {}, the upstream {}",
                cores(&engine),
                cores(&upstream)
            )
        };
        Ok(Self {
            note: format!("The gateway has {} of {host}; {rest}.", cores(gateway)),
            gateway: gateway.into(),
            engine,
            upstream,
            gateway_is_elsewhere: true,
        })
    }

    /// Engine and upstream get halves of `rest` (never empty), the odd core going to the engine,
    /// which must not be the limit.
    fn split(rest: &[usize], gateway: &[usize]) -> Self {
        if let [shared] = rest {
            return Self {
                gateway: gateway.into(),
                engine: vec![*shared],
                upstream: vec![*shared],
                gateway_is_elsewhere: false,
                note: format!(
                    "The gateway has {} alone, engine and upstream share core {shared}: a gateway too fast for that \
                     is called limited, its CPU per request still standing.",
                    cores(gateway)
                ),
            };
        }
        let (engine, upstream) = halves(rest, gateway.len());
        let note = format!(
            "Gateway, engine and upstream share no core: the gateway has {}, the engine {}, the upstream {}.",
            cores(gateway),
            cores(&engine),
            cores(&upstream)
        );
        Self {
            gateway: gateway.into(),
            engine,
            upstream,
            note,
            gateway_is_elsewhere: false,
        }
    }
}

/// Cores of the engine and of the upstream beside a gateway with so many, the odd one going to the engine; both have the
/// only one.
fn halves(cpus: &[usize], gateway: usize) -> (Vec<usize>, Vec<usize>) {
    if let [shared] = cpus {
        return (vec![*shared], vec![*shared]);
    }
    let most = gateway * CORES_PER_GATEWAY_CORE;
    let (engine, upstream) = cpus.split_at(cpus.len().div_ceil(2));
    let some = |cpus: &[usize]| cpus.iter().copied().take(most).collect();
    (some(engine), some(upstream))
}

/// `core 3`, `cores 1-4`, `cores 0, 2-3`.
fn cores(cpus: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == cpu => *end = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let words: Vec<String> = ranges
        .into_iter()
        .map(|(start, end)| {
            if start == end {
                start.to_string()
            } else {
                format!("{start}-{end}")
            }
        })
        .collect();
    let noun = if cpus.len() == 1 { "core" } else { "cores" };
    format!("{noun} {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn lists(placement: &Placement) -> (&[usize], &[usize], &[usize]) {
        (&placement.gateway, &placement.engine, &placement.upstream)
    }

    #[test]
    fn small_machines_share() {
        let none: &[usize] = &[];
        assert_eq!(lists(&Placement::automatic(&[])), (none, none, none));
        assert_eq!(
            lists(&Placement::automatic(&[4])),
            (&[4][..], &[4][..], &[4][..])
        );
        let two = Placement::automatic(&[0, 1]);
        assert_eq!(lists(&two), (&[1][..], &[0][..], &[0][..]));
        assert_eq!(
            two.note,
            "The gateway has core 1 alone, engine and upstream share core 0: a gateway too fast for that is called \
             limited, its CPU per request still standing."
        );
    }

    #[test]
    fn larger_machines_do_not_share_and_leave_idle_what_nobody_needs() {
        assert_eq!(
            lists(&Placement::automatic(&[0, 1, 2])),
            (&[2][..], &[0][..], &[1][..])
        );
        assert_eq!(
            lists(&Placement::automatic(&[0, 1, 2, 3])),
            (&[3][..], &[0, 1][..], &[2][..])
        );
        let sixteen: Vec<usize> = (0..16).collect();
        assert_eq!(
            lists(&Placement::automatic(&sixteen)),
            (&[15][..], &[0, 1][..], &[8, 9][..])
        );
        let four = Placement::with_gateway_cores(&sixteen, 4).unwrap();
        assert_eq!(
            lists(&four),
            (
                &[12, 13, 14, 15][..],
                &[0, 1, 2, 3, 4, 5][..],
                &[6, 7, 8, 9, 10, 11][..]
            )
        );
        assert!(
            four.note
                .contains("the gateway has cores 12-15, the engine cores 0-5"),
            "{}",
            four.note
        );
    }

    #[test]
    fn beside_another_host_engine_and_upstream_have_this_machine() {
        let placement = |here: &[usize], count| {
            Placement::with_gateway_elsewhere(here, "far", &[0, 1, 2, 3], count)
        };
        let one = placement(&[0], 4).unwrap();
        assert_eq!(lists(&one), (&[0, 1, 2, 3][..], &[0][..], &[0][..]));
        assert_eq!(
            one.note,
            "The gateway has cores 0-3 of far; engine and upstream share core 0 of this machine."
        );
        let two = placement(&[0, 1], 1).unwrap();
        assert_eq!(lists(&two), (&[3][..], &[0][..], &[1][..]));
        assert!(two.engine_is_alone() && !one.engine_is_alone());
        let error = placement(&[0, 1], 5).unwrap_err().to_string();
        assert_eq!(error, "the gateway cannot have 5 of 4 cores of far");
    }

    #[test]
    fn what_the_machine_cannot_give_is_refused() {
        assert!(Placement::with_gateway_cores(&[0], 1).is_ok());
        assert!(Placement::with_gateway_cores(&[0, 1, 2], 2).is_ok());
        for (cpus, count) in [(&[0][..], 2), (&[0, 1], 0), (&[0, 1], 2), (&[], 1)] {
            let told = Placement::with_gateway_cores(cpus, count)
                .unwrap_err()
                .to_string();
            let part = format!("cannot have {count} of {} cores", cpus.len());
            assert!(told.contains(&part), "{told}");
        }
        let message = Placement::with_gateway_cores(&[0, 1, 2, 3], 4)
            .unwrap_err()
            .to_string();
        assert!(message.contains("ask for 1 to 3"), "{message}");
    }
}
