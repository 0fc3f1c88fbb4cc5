//! Batteries: tables of input that clients may send to a gateway. Each vector states the verdict
//! that the standards require, and each flood has limits on CPU time and memory. The gateway runs
//! in a separate process, so that a crash is noticed, and only the gateway's memory and CPU time
//! are measured. The requests that it forwards are read by an HTTP/1.1 reader that shares no code
//! with the gateway.
//!
//! This is a separate binary because the tests limit how long another client waits, so no other
//! test of this crate may run at the same time.
//!
//! The vectors are derived from the RFCs. These public lists show which kinds of input are worth
//! testing:
//! - the mutations of smuggler, <https://github.com/defparam/smuggler>
//! - HTTP Desync Attacks,
//!   <https://portswigger.net/research/http-desync-attacks-request-smuggling-reborn>
//! - HTTP/2: The Sequel is Always Worse, <https://portswigger.net/research/http2>
//! - HTTP/1.1 must die, <https://portswigger.net/research/http1-must-die>
//! - the HTTP Garden, <https://github.com/narfindustries/http-garden>
//! - h2spec, <https://github.com/summerwind/h2spec>
//! - JWT attacks, <https://portswigger.net/web-security/jwt>
//! - floods: CVE-2016-6581, CVE-2019-9511 to CVE-2019-9518, CVE-2023-44487, CVE-2024-27316,
//!   CVE-2025-8671
//!
//! Nothing is copied from these lists.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod child;
mod client;
mod contracts;
mod downgrade;
mod floods;
mod frames;
mod judge;
mod lane;
mod origin;
mod reader;
mod smuggling;
mod tokens;
mod vector;

#[path = "../it/common/event_loops.rs"]
mod event_loops;
#[path = "../it/common/programs.rs"]
mod programs;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use judge::Tally;

/// The maximum time that another client may wait for its response during a battery. It allows for
/// machines with few cores.
const NEIGHBOR_WAITS_MAX: Duration = Duration::from_secs(1);

/// Held by the running battery, so that no other battery delays its neighbor.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other battery is running, even if the last one failed.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hold(tally: &Tally, tried_min: usize) {
    tally.print();
    assert!(
        tally.tried >= tried_min,
        "{}: only {} of at least {tried_min} vectors were tried",
        tally.battery,
        tally.tried
    );
    assert!(tally.wrong.is_empty(), "wrong:\n{}", tally.wrong.join("\n"));
    assert!(tally.hangs.is_empty(), "hangs:\n{}", tally.hangs.join("\n"));
    assert_eq!(tally.crashes, 0, "{}: the gateway crashed", tally.battery);
    assert!(
        tally.longest_delay < NEIGHBOR_WAITS_MAX,
        "{}: another client waited for {:?} ({})",
        tally.battery,
        tally.longest_delay,
        tally.slowest
    );
}

#[test]
fn no_request_hides_in_another() {
    let _alone = alone();
    let battery = smuggling::battery();
    assert!(battery.vectors.len() >= 500, "{}", battery.vectors.len());
    hold(&lane::run(&battery), 2 * battery.vectors.len());
}

#[test]
fn no_request_hides_in_a_stream() {
    let _alone = alone();
    let battery = downgrade::battery();
    assert!(battery.vectors.len() >= 150, "{}", battery.vectors.len());
    hold(&lane::run(&battery), 2 * battery.vectors.len());
}

#[test]
fn floods_end_and_affect_no_other_client() {
    let _alone = alone();
    hold(&floods::run(), 19);
}

#[test]
fn forged_tokens_are_refused() {
    let _alone = alone();
    let battery = tokens::battery();
    assert!(battery.vectors.len() >= 60, "{}", battery.vectors.len());
    hold(&lane::run(&battery), 2 * battery.vectors.len());
}

#[test]
fn contracts_and_edits_read_what_the_upstream_reads() {
    let _alone = alone();
    let battery = contracts::battery();
    assert!(battery.vectors.len() >= 50, "{}", battery.vectors.len());
    hold(&lane::run(&battery), 2 * battery.vectors.len());
}

/// Serves as the gateway's process, which the batteries start. If run directly, it does nothing.
#[test]
fn in_the_child() {
    if let Ok(parent) = std::env::var(child::PARENT) {
        child::serve(&parent);
    }
}
