//! Rebuilds the crate if one of the files in `scenarios`, which it embeds, changes.

fn main() {
    println!("cargo::rerun-if-changed=../../scenarios");
}
