//! The work that a handicap adds to a number of responses, and nothing else: `handicap 300,0.5
//! 1000000`. Its processor time, as the system accounts for it, is the cost of the handicap.

use std::process::ExitCode;

use gatebench_gateway::Handicap;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let handicap = words.next().and_then(|it| it.parse::<Handicap>().ok());
    let responses = words.next().and_then(|it| it.parse().ok());
    let (Some(handicap), Some(responses)) = (handicap, responses) else {
        eprintln!("error: name a handicap and a number of responses, as in 300,0.5 1000000");
        return ExitCode::from(2);
    };
    handicap.alone(responses);
    ExitCode::SUCCESS
}
