//! Rebuilds the crate if a file in `scenarios` changes, because the crate embeds these files.

fn main() {
    println!("cargo::rerun-if-changed=../../scenarios");
}
