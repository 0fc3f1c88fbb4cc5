//! Rebuilds the crate if an embedded gateway folder changes.

fn main() {
    println!("cargo::rerun-if-changed=../../gateways");
}
