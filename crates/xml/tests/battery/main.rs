//! Tests that each message of the battery has the expected outcome, and that it stays within the
//! limits on CPU time and memory whether it passes or not.
//!
//! This is a separate binary because memory is measured for the whole process.
#![allow(clippy::unwrap_used)]

mod memory;
#[path = "../it/common/processor.rs"]
mod processor;
mod search;
mod shapes;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatebench_xml::{Limits, NoFiles, Transform};
use memory::Idle;
use processor::{cpu, cpu_of};
use shapes::ways::sheet;
use shapes::{Shape, Verdict, Ways};

/// The maximum time for which one message may occupy its worker while others wait. Debug builds get
/// more, because the Rust code of other crates, such as decompression, is not optimized in them.
const TIME_MAX: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 250 });

/// The maximum growth of the process for one message.
const GROWTH_MAX: u64 = 64 << 20;

/// The running test holds this lock, because nothing else may use memory at the same time.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other test is running, even if the last one failed.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The verdict on a shape, with its cost in CPU time and bytes.
struct Taken {
    name: &'static str,
    verdict: Verdict,
    time: Duration,
    growth: u64,
}

fn take(shape: &Shape, ways: &Ways, idle: &Idle) -> Taken {
    let (body, is_gzip) = shape.bytes();
    let mut time = Duration::ZERO;
    let mut outcome = Ok(());
    let growth = idle.growth_of(|| {
        let before = cpu();
        outcome = ways.take(shape.way, &body, is_gzip);
        time = cpu() - before;
    });
    let verdict = shape.verdict(&outcome);
    if verdict == Verdict::Wrong {
        let words = outcome.err().unwrap_or_else(|| "it passes".to_owned());
        println!(
            "{} ({}): {:?}, but: {words}",
            shape.name, shape.source, shape.end
        );
    }
    Taken {
        name: shape.name,
        verdict,
        time,
        growth,
    }
}

fn print_report(all: &[Taken]) {
    let count = |verdict| all.iter().filter(|one| one.verdict == verdict).count();
    let longest = all.iter().max_by_key(|one| one.time).unwrap();
    let largest = all.iter().max_by_key(|one| one.growth).unwrap();
    println!(
        "| tried | correctly rejected | correctly passed | wrong | longest time | most memory |"
    );
    println!(
        "|--:|--:|--:|--:|---|---|\n| {} | {} | {} | {} | {} ms ({}) | {} MiB ({}) |",
        all.len(),
        count(Verdict::Rejected),
        count(Verdict::Passed),
        count(Verdict::Wrong),
        longest.time.as_millis(),
        longest.name,
        largest.growth >> 20,
        largest.name,
    );
}

#[test]
fn no_message_takes_more_time_or_memory_than_allowed() {
    if cfg!(feature = "plain-memory") {
        // Times and memory are meaningless under valgrind.
        return;
    }
    let _alone = alone();
    let shapes = shapes::all();
    assert!(shapes.len() >= 120, "{}", shapes.len());
    let ways = Ways::compile();
    // Allocations made once per thread are part of the idle state.
    assert_eq!(ways.take(shapes::Way::Transformed, b"<a/>", false), Ok(()));
    let idle = Idle::now();
    let all: Vec<Taken> = shapes.iter().map(|one| take(one, &ways, &idle)).collect();
    print_report(&all);
    for one in &all {
        println!(
            "{:>5} ms {:>3} MiB  {}",
            one.time.as_millis(),
            one.growth >> 20,
            one.name
        );
    }
    let beyond: Vec<&str> = all
        .iter()
        .filter(|one| {
            one.verdict == Verdict::Wrong || one.time > TIME_MAX || one.growth > GROWTH_MAX
        })
        .map(|one| one.name)
        .collect();
    assert!(beyond.is_empty(), "{beyond:?}");
}

/// In a step to a parent or an ancestor, libxml2 compares each node that it finds with all nodes
/// found before, without allocating memory.
#[test]
fn steps_to_the_parents_of_many_nodes_end_at_the_time_limit() {
    if cfg!(feature = "plain-memory") {
        return;
    }
    let _alone = alone();
    let repeated = |unit: &str, count: usize| format!("<a>{}</a>", unit.repeat(count));
    let deep = format!("{}{}", "<i>".repeat(190), "</i>".repeat(190));
    let none: [(&str, &str); 0] = [];
    for (expression, message) in [
        ("//*[not(*)]/ancestor::*", repeated(&deep, 257)),
        ("//i/..", repeated("<b><i/></b>", 24_000)),
    ] {
        let templates = format!(
            r#"<xsl:template match="/"><r><xsl:value-of select="count({expression})"/></r></xsl:template>"#
        );
        let transform =
            Transform::compile(&sheet(&templates), none, &NoFiles, Limits::MESSAGES).unwrap();
        let mut result = None;
        let time = cpu_of(|| result = Some(transform.apply(message.as_bytes())));
        println!("{expression}: {} ms, {result:?}", time.as_millis());
        assert!(time < TIME_MAX, "{time:?}");
        assert!(transform.apply(b"<a><i/></a>").is_ok());
    }
}
