//! The cells of the benchmark that are not in `case.rs`: one connection, evenness of arrivals, and
//! a limit on connections.

use std::process::Command;

use gatebench_upstream::fault_server::{AtRate, truth_through};

use super::Bench;
use super::case::{Job, WARM_UP_SECONDS};
use super::external;
use super::judge::{self, QUANTILES, Verdict, count_mismatches};
use super::origin::Origin;
use super::tool;
use crate::server::Server;
use crate::spread::{self, Spread, spread};
use crate::table::{Table, ms, ms_or_dash};

pub const NAMES: [&str; 3] = ["one-connection", "evenness", "cap"];

/// The highest permitted ratio of gatebench's median response time on one connection to that of a
/// client that polls.
const ONE_CONNECTION_MAX: f64 = 1.05;
/// The maximum share of evenly spaced requests that may arrive back to back, that is, within a
/// tenth of the interval after the previous request.
const BACK_TO_BACK_MAX: f64 = 0.15;

type Found = (&'static str, Verdict);
type Cell = fn(&Bench<'_>) -> Result<Verdict, String>;

pub fn run(bench: &Bench<'_>) -> Result<Vec<Found>, String> {
    let cells: [Cell; 3] = [one_connection, evenness, cap];
    let mut found = Vec::new();
    for (name, cell) in NAMES.into_iter().zip(cells) {
        if bench.options.wants(name) {
            found.push((name, cell(bench)?));
        }
    }
    Ok(found)
}

/// Compares the load generator with a client that only polls one socket. They run in turn, each on
/// one connection.
fn one_connection(bench: &Bench<'_>) -> Result<Verdict, String> {
    let (pairs, seconds) = if bench.options.quick { (3, 1) } else { (7, 3) };
    let server = Server::upstream(bench.programs, &["ping"])?;
    let url = format!("http://{}/ping", server.address);
    let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..=pairs {
        eprintln!("one-connection: pair {pair} of {pairs}");
        let spinning = spinning_p50_ns(bench, &url, seconds)?;
        let engine = tool::gatebench_closed(bench.programs, &url, seconds)?;
        // The first pair is a warm-up.
        if pair > 0 {
            bare.push(spinning / 1e3);
            ours.push(engine / 1e3);
            ratios.push(engine / spinning);
        }
    }
    let all = [spread(&ours), spread(&bare), spread::ratios(&ratios)];
    let [Some(ours), Some(bare), Some(ratio)] = all else {
        return Err("no pair was measured".into());
    };
    println!(
        "One connection, p50 in µs: gatebench {ours}, bare polling client {bare}, ratio {ratio}\n"
    );
    Ok(one_connection_verdict(&ratio))
}

/// A ratio above the limit is wrong, unless its interval extends below the limit. In that case, the
/// machine is too noisy for a verdict.
fn one_connection_verdict(ratio: &Spread) -> Verdict {
    let median = ratio.median;
    match ratio.interval {
        _ if median <= ONE_CONNECTION_MAX => Verdict::Right,
        Some((low, high)) if low <= ONE_CONNECTION_MAX => Verdict::Noisy(format!(
            "the ratio is {median:.2}, with an interval from {low:.2} to {high:.2}"
        )),
        _ => Verdict::Wrong(vec![format!(
            "the ratio is {median:.3}, above {ONE_CONNECTION_MAX}"
        )]),
    }
}

fn spinning_p50_ns(bench: &Bench<'_>, url: &str, seconds: u64) -> Result<f64, String> {
    let mut command = Command::new(&bench.programs.bare);
    command.args(["spin", url, "1", &seconds.to_string()]);
    let text = tool::output(&mut command)?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| format!("the bare client printed no JSON ({error}): {text}"))?;
    value["p50_ns"]
        .as_f64()
        .ok_or_else(|| "the bare client printed no median".into())
}

fn evenness(bench: &Bench<'_>) -> Result<Verdict, String> {
    let job = Job {
        target: "/constant?service=1ms".into(),
        rate_per_second: 1_000.0,
        seconds: if bench.options.quick { 3 } else { 14 },
        warm_up_seconds: WARM_UP_SECONDS,
        connections: None,
    };
    let origin = Origin::start(bench.programs)?;
    let mut table = Table::new(
        1,
        ["", "back to back %", "lag p50 ms", "lag p99 ms", "requests"],
    );
    let mut share = |name: &str| -> Result<f64, String> {
        let account = origin.account()?;
        let AtRate {
            back_to_back,
            lag_ns,
            ..
        } = account.at_rate.unwrap_or_default();
        let share = back_to_back as f64 / account.received.max(2).saturating_sub(1) as f64;
        table.row([
            name.to_owned(),
            format!("{:.1}", share * 100.0),
            ms(lag_ns.p50 as f64),
            ms(lag_ns.p99 as f64),
            account.received.to_string(),
        ]);
        Ok(share)
    };
    eprintln!("evenness: {job}");
    origin.begin(&job, job.warm_up())?;
    let said = tool::gatebench(bench.programs, &origin.url(&job.target), &job)?;
    let account = origin.account()?;
    let ours = share("gatebench")?;
    let external = if !bench.options.no_external {
        external::installed(bench.programs)
    } else {
        Vec::new()
    };
    // Variants with a comma in their names are skipped: plain wrk cannot send at a fixed rate, and
    // oha's correction changes only the figures that it prints.
    for it in external.iter().filter(|it| !it.name.contains(',')) {
        it.run(&origin, &job)?;
        share(it.name)?;
    }
    bench.print("Evenness of arrivals at 1,000 requests/s", &table);
    let reason = format!("{:.1} % of requests are sent back to back", ours * 100.0);
    let is_over = ours > BACK_TO_BACK_MAX;
    let reasons = is_over.then_some(reason).into_iter().collect();
    Ok(judge::excused(reasons, &said, &account, false))
}

/// Runs loads of one and of three seconds on two connections, although they need five. Every
/// arrival must be accounted for. If no request failed or was dropped, the response times, which
/// include the wait for a connection, must also agree with the ledger.
fn cap(bench: &Bench<'_>) -> Result<Verdict, String> {
    let head = ["", "truth", "ledger", "gatebench"];
    let mut table = Table::new(1, head);
    let mut verdicts = Vec::new();
    for seconds in [1, 3] {
        verdicts.push(capped(bench, seconds, &mut table)?);
    }
    bench.print(
        "Two connections where five are needed; times in milliseconds",
        &table,
    );
    let is_worse = |it: &Verdict| matches!(it, Verdict::Wrong(_));
    let worst = verdicts.iter().position(is_worse);
    let worst = worst.or_else(|| verdicts.iter().position(|it| *it != Verdict::Right));
    Ok(worst.map_or(Verdict::Right, |at| verdicts.swap_remove(at)))
}

fn capped(bench: &Bench<'_>, seconds: u64, table: &mut Table) -> Result<Verdict, String> {
    const CONNECTIONS: u32 = 2;
    let job = Job {
        target: "/constant?service=5ms".into(),
        rate_per_second: 1_000.0,
        seconds,
        // The requests that a warm-up leaves in the queue would delay the measured ones.
        warm_up_seconds: 0,
        connections: Some(CONNECTIONS),
    };
    eprintln!("cap: {job}, {CONNECTIONS} connections");
    let origin = Origin::start(bench.programs)?;
    origin.begin(&job, job.warm_up())?;
    let said = tool::gatebench(bench.programs, &origin.url(&job.target), &job)?;
    let (account, arrivals) = (origin.account()?, job.arrivals());
    // A request that is in flight at the end of the drain counts as failed, although the upstream
    // did not reset it. If requests failed or were dropped, only the numbers of requests are
    // compared.
    let is_cut = said.dropped + said.failed > 0;
    let counts = count_mismatches(&said, &account, &job).into_iter();
    let mut reasons: Vec<_> = counts
        .filter(|it| !is_cut || it.starts_with("requests"))
        .collect();
    if said.queued_max == 0 {
        reasons.push("gatebench reported no queue".into());
    }
    let name = |what: &str| format!("{seconds} s: {what}");
    table.row([
        name("completed + failed + dropped"),
        arrivals.count.to_string(),
        account.received.to_string(),
        format!("{} + {} + {}", said.completed, said.failed, said.dropped),
    ]);
    let queue = said.queued_max.to_string();
    table.row([name("longest queue"), String::new(), String::new(), queue]);
    if let Some(seen) = judge::seen(&account).filter(|_| !is_cut) {
        let truth = truth_through(CONNECTIONS as usize, &job.illness()?, &arrivals);
        for (number, (quantile, q, pick)) in QUANTILES.iter().enumerate() {
            let true_ns = truth.quantile_ns(*q) as f64;
            let printed = ms_or_dash(pick(&said.times));
            table.row([name(quantile), ms(true_ns), ms(seen[number]), printed]);
        }
        let off = judge::quantiles_off(&said.times, arrivals.count, |number| seen[number]);
        reasons.extend(off);
    }
    Ok(judge::excused(reasons, &said, &account, true))
}
