//! Rebuilds when a gateway folder changes: the folders are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../gateways");
}
