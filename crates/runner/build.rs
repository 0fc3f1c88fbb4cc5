//! Rebuilds the crate if an embedded scenario, load or suite changes.

fn main() {
    println!("cargo::rerun-if-changed=../../scenarios");
}
