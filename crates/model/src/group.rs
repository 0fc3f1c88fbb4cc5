//! Groups of requests that are sent concurrently and reported separately.

use gatebench_config::schema_fragments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::load::{Closed, Open};
use crate::{Request, Shape, repeat};

/// The name of the group that contains the requests at the top level of a scenario.
pub const DEFAULT_GROUP: &str = "all";

/// Requests with their own load, or with a share of the phase's load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = repeat::describe)]
pub struct Group {
    /// The group's name, unique in the scenario.
    #[schemars(schema_with = "schema_fragments::name_template")]
    pub name: String,
    /// The share of the phase's connections or rate, relative to the other groups [default: equal
    /// shares].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.000_001, max = 1_000_000.0))]
    pub share: Option<f64>,
    /// A separate load, in addition to the phase's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Shape>,
    /// The order of the requests.
    #[serde(default, skip_serializing_if = "Order::is_in_turn")]
    pub order: Order,
    #[schemars(length(min = 1))]
    pub requests: Vec<Request>,
}

impl Group {
    pub fn of_all(requests: Vec<Request>) -> Self {
        Self {
            name: DEFAULT_GROUP.into(),
            requests,
            ..Self::default()
        }
    }
}

/// The order of requests. In both orders, requests are sent in proportion to their weights. Random
/// choices depend on the run's seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// In turn, with each request spread as evenly as its weight permits.
    #[default]
    InTurn,
    /// At random, independently of earlier requests.
    Random,
}

impl Order {
    // serde passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(crate) fn is_in_turn(&self) -> bool {
        *self == Self::InTurn
    }
}

/// The load is too small to be shared among the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{groups} groups cannot share {connections} connections; use at least {groups} connections, or \
     give groups their own `load`"
)]
pub struct TooFewConnections {
    pub groups: usize,
    pub connections: u32,
}

/// Returns each group's load in a phase of this shape, in the order of the groups. Rates are
/// divided in exact proportion to the shares. Connections and other whole numbers are divided with
/// the largest remainder method, so they add up to those of the phase. Each group that shares the
/// phase's load gets at least one connection, but stages may give it none later.
///
/// # Errors
///
/// There are fewer connections than groups that share them.
pub fn divide(shape: &Shape, groups: &[Group]) -> Result<Vec<Shape>, TooFewConnections> {
    let sharing = || groups.iter().filter(|group| group.load.is_none());
    let weights: Vec<f64> = sharing().map(|group| group.share.unwrap_or(1.0)).collect();
    let parts = match shape {
        _ if weights.len() == 1 => vec![shape.clone()],
        Shape::Closed(closed) => divide_closed(closed, &weights)?,
        Shape::Open(open) => divide_open(open, &weights)?,
    };
    let mut parts = parts.into_iter();
    let own_or_part = |group: &Group| group.load.clone().or_else(|| parts.next());
    Ok(groups.iter().filter_map(own_or_part).collect())
}

fn divide_closed(closed: &Closed, weights: &[f64]) -> Result<Vec<Shape>, TooFewConnections> {
    let connections = at_least_one(closed.connections, weights)?;
    let stages = closed.stages.iter();
    let stages = stages.map(|stage| apportion(stage.connections.into(), weights));
    let stages: Vec<Vec<u64>> = stages.collect();
    let requests_max = closed.requests_max.map(|most| apportion(most, weights));
    let part = |index: usize| {
        let mut part = closed.clone();
        part.connections = connections[index];
        for (stage, parts) in part.stages.iter_mut().zip(&stages) {
            stage.connections = narrow(parts[index]);
        }
        part.requests_max = requests_max.as_ref().map(|parts| parts[index]);
        scale(&mut part.connections_per_second, fraction(index, weights));
        Shape::Closed(part)
    };
    Ok((0..weights.len()).map(part).collect())
}

fn divide_open(open: &Open, weights: &[f64]) -> Result<Vec<Shape>, TooFewConnections> {
    let connections = at_least_one(open.connections_max, weights)?;
    let queue = apportion(open.queue_max.into(), weights);
    let requests_max = open.requests_max.map(|most| apportion(most, weights));
    let part = |index: usize| {
        let fraction = fraction(index, weights);
        let mut part = open.clone();
        part.rate_per_second *= fraction;
        scale(&mut part.ramp_to_per_second, fraction);
        for stage in &mut part.stages {
            stage.rate_per_second *= fraction;
        }
        part.connections_max = connections[index];
        part.queue_max = narrow(queue[index]);
        part.requests_max = requests_max.as_ref().map(|parts| parts[index]);
        scale(&mut part.connections_per_second, fraction);
        Shape::Open(part)
    };
    Ok((0..weights.len()).map(part).collect())
}

fn fraction(index: usize, weights: &[f64]) -> f64 {
    weights[index] / weights.iter().sum::<f64>()
}

fn scale(rate: &mut Option<f64>, fraction: f64) {
    if let Some(rate) = rate {
        *rate *= fraction;
    }
}

fn narrow(part: u64) -> u32 {
    u32::try_from(part).unwrap_or(u32::MAX)
}

fn at_least_one(connections: u32, weights: &[f64]) -> Result<Vec<u32>, TooFewConnections> {
    let groups = weights.len();
    let too_few = TooFewConnections {
        groups,
        connections,
    };
    let rest = (connections as usize).checked_sub(groups).ok_or(too_few)?;
    let parts = apportion(connections.into(), weights);
    if parts.iter().all(|part| *part > 0) {
        return Ok(parts.into_iter().map(narrow).collect());
    }
    let parts = apportion(rest as u64, weights);
    Ok(parts.into_iter().map(|part| narrow(part + 1)).collect())
}

/// Divides a whole number in proportion to weights, with the largest remainder method (Hamilton).
/// Among equal remainders, the first take precedence.
fn apportion(total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let quota = |weight: &f64| total as f64 * weight / sum;
    let quotas: Vec<f64> = weights.iter().map(quota).collect();
    let mut parts: Vec<u64> = quotas.iter().map(|quota| quota.floor() as u64).collect();
    let given: u64 = parts.iter().sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| quotas[*b].fract().total_cmp(&quotas[*a].fract()));
    let left = usize::try_from(total.saturating_sub(given)).unwrap_or(usize::MAX);
    for index in order.into_iter().take(left) {
        parts[index] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, share: Option<f64>) -> Group {
        Group {
            name: name.into(),
            share,
            ..Group::of_all(vec![Request::new("GET", "/")])
        }
    }

    fn connections(shapes: &[Shape]) -> Vec<u32> {
        let of = |shape: &Shape| match shape {
            Shape::Closed(closed) => closed.connections,
            Shape::Open(open) => open.connections_max,
        };
        shapes.iter().map(of).collect()
    }

    #[test]
    fn connections_are_divided_completely_and_each_group_has_at_least_one() {
        let shape = Shape::Closed(Closed::new(10));
        let equal = [group("a", None), group("b", None), group("c", None)];
        assert_eq!(connections(&divide(&shape, &equal).unwrap()), [4, 3, 3]);
        let unequal = [
            group("a", Some(98.0)),
            group("b", Some(1.0)),
            group("c", Some(1.0)),
        ];
        assert_eq!(connections(&divide(&shape, &unequal).unwrap()), [8, 1, 1]);
        let few = divide(&Shape::Closed(Closed::new(2)), &equal).unwrap_err();
        assert_eq!((few.groups, few.connections), (3, 2));
    }

    #[test]
    fn rates_are_divided_exactly_and_separate_loads_are_unchanged() {
        let shape = Shape::Open(Open::new(1000.0));
        let own = Shape::Closed(Closed::new(3));
        let mut groups = [
            group("a", Some(3.0)),
            group("own", None),
            group("b", Some(1.0)),
        ];
        groups[1].load = Some(own.clone());
        let parts = divide(&shape, &groups).unwrap();
        let rate = |index: usize| match &parts[index] {
            Shape::Open(open) => open.rate_per_second,
            Shape::Closed(_) => 0.0,
        };
        assert_eq!((rate(0), rate(2)), (750.0, 250.0));
        assert_eq!(parts[1], own);
        assert_eq!(connections(&parts), [48, 3, 16]);
    }

    #[test]
    fn a_single_group_has_the_whole_load() {
        let shape = Shape::Open(Open::new(0.1));
        assert_eq!(divide(&shape, &[group("a", Some(0.3))]), Ok(vec![shape]));
    }
}
