//! The cells of the matrix: the loads, the tools that run them, and the requirements for gatebench.

use crate::tools::ab::AB;
use crate::tools::bare::BARE;
use crate::tools::external::{H2LOAD, WRK};
use crate::tools::oha::OHA;
use crate::tools::ours::OURS;
use crate::tools::{Method, Protocol, Tool, Work};

/// One kind of load and the tools that are compared under it, beginning with gatebench.
pub struct Cell {
    pub name: &'static str,
    pub title: String,
    pub work: Work,
    pub tools: Vec<&'static Tool>,
    pub goals: Vec<Goal>,
    /// The minimum length of a run in seconds, so that opening many connections does not take most
    /// of it.
    pub seconds_min: u32,
}

/// A requirement for the engine: the minimum ratio of a peer's CPU time per request to gatebench's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    pub peer: &'static str,
    pub at_least: f64,
}

/// gatebench may take at most 15 % more CPU time than the client that parses nothing.
const NEAR_BARE: Goal = Goal {
    peer: "bare",
    at_least: 1.0 / 1.15,
};

const PLAIN: Work = Work::plain(64);

pub fn all() -> Vec<Cell> {
    let mut cells = vec![
        get(
            "get-16",
            16,
            &[goal("wrk", 1.5), goal("ab", 1.25), NEAR_BARE],
        ),
        get(
            "get-64",
            64,
            &[goal("wrk", 1.5), goal("ab", 1.25), NEAR_BARE],
        ),
        get(
            "get-256",
            256,
            &[goal("wrk", 1.5), goal("ab", 1.25), NEAR_BARE],
        ),
        get("get-4000", 4000, &[goal("wrk", 1.8), NEAR_BARE]),
        Cell {
            name: "post-64",
            title: "POST of 350 B, 64 connections".into(),
            work: Work {
                method: Method::Post,
                ..PLAIN
            },
            tools: vec![&OURS, &BARE, &WRK, &AB, &H2LOAD, &OHA],
            goals: vec![goal("wrk", 1.5), NEAR_BARE],
            seconds_min: 1,
        },
        tls("tls-64", 64),
        tls("tls-256", 256),
        Cell {
            name: "epoll-64",
            title: "GET, 64 connections, gatebench on epoll".into(),
            work: Work {
                epoll: true,
                ..PLAIN
            },
            tools: vec![&OURS, &WRK],
            goals: vec![goal("wrk", 1.3)],
            seconds_min: 1,
        },
    ];
    cells.extend(
        [("h2-1", 1), ("h2-10", 10), ("h2-100", 100)].map(|(name, streams)| http2(name, streams)),
    );
    cells.push(Cell {
        name: "connect-64",
        title: "a new connection per GET, 64 at a time".into(),
        work: Work {
            keep_alive: false,
            ..PLAIN
        },
        tools: vec![&OURS, &WRK, &AB, &OHA],
        goals: vec![goal("wrk", 1.0)],
        seconds_min: 1,
    });
    cells
}

fn goal(peer: &'static str, at_least: f64) -> Goal {
    Goal { peer, at_least }
}

fn get(name: &'static str, connections: u32, goals: &[Goal]) -> Cell {
    Cell {
        name,
        title: format!("GET, {connections} connections"),
        work: Work {
            connections,
            ..PLAIN
        },
        tools: vec![&OURS, &BARE, &WRK, &AB, &H2LOAD, &OHA],
        goals: goals.to_vec(),
        seconds_min: 1 + connections / 1000,
    }
}

fn tls(name: &'static str, connections: u32) -> Cell {
    Cell {
        name,
        title: format!("GET over TLS 1.3, {connections} connections"),
        work: Work {
            connections,
            protocol: Protocol::Tls,
            ..PLAIN
        },
        tools: vec![&OURS, &WRK, &AB, &H2LOAD, &OHA],
        goals: vec![goal("wrk", 1.6)],
        seconds_min: 1,
    }
}

fn http2(name: &'static str, streams: u32) -> Cell {
    let plural = if streams == 1 { "stream" } else { "streams" };
    Cell {
        name,
        title: format!("GET over HTTP/2 in cleartext, 16 connections of {streams} {plural}"),
        work: Work {
            connections: 16,
            protocol: Protocol::Http2 { streams },
            ..PLAIN
        },
        tools: vec![&OURS, &H2LOAD, &OHA],
        goals: vec![goal("h2load", 1.0)],
        seconds_min: 1,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ours_is_first_and_every_goal_has_its_peer() {
        let cells = all();
        let names: BTreeSet<_> = cells.iter().map(|cell| cell.name).collect();
        assert_eq!(names.len(), cells.len());
        for cell in cells {
            assert_eq!(cell.tools[0].name, OURS.name);
            for goal in cell.goals {
                assert!(
                    cell.tools.iter().any(|tool| tool.name == goal.peer),
                    "{}",
                    cell.name
                );
            }
        }
    }
}
