//! Rebuilds when a scenario, a load or a suite changes: they are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../scenarios");
}
