//! A small HTTP/2 server over cleartext, for conformance tools and trials by hand.
//!
//! `cargo run --release -p gatebench-net --example h2_server -- 127.0.0.1:8080`

mod serve;

use std::error::Error;
use std::sync::atomic::AtomicBool;

use gatebench_net::run;

use serve::Serve;

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args()
        .nth(1)
        .ok_or("say where to listen, for example 127.0.0.1:8080")?;
    let serve = Serve {
        address: address.parse()?,
        stop: &AtomicBool::new(false),
        on_listening: |address| println!("listening on {address}"),
    };
    run(None, serve)??;
    Ok(())
}
