//! Folders of the reference gateway with deliberate faults.

use std::fs;
use std::path::{Path, PathBuf};

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../gateways/reference");

/// Returns the path of the reference gateway with faults, which a build of the workspace puts next
/// to `gatebench`.
fn faulty() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_gatebench")).with_file_name("gatebench-faulty");
    assert!(
        program.is_file(),
        "{} is not built; build it: cargo build --package gatebench-faulty",
        program.display()
    );
    program
}

/// Creates a gateway's folder below `folder`: the faulty reference gateway, started with these
/// flags, which are separated by commas.
pub fn flawed(folder: &Path, name: &str, flags: &str) {
    let gateway = folder.join(name);
    fs::create_dir(&gateway).unwrap();
    for entry in fs::read_dir(REFERENCE).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), gateway.join(entry.file_name())).unwrap();
    }
    let spec = gateway.join("gateway.yaml");
    let text = fs::read_to_string(&spec).unwrap();
    let replaced = |text: String, from: &str, to: &str| {
        let with = text.replace(from, to);
        assert_ne!(text, with, "{from}");
        with
    };
    let text = replaced(text, "gateway: reference", &format!("gateway: {name}"));
    let program = format!("names: [{:?}]", faulty());
    let text = replaced(text, "names: [gatebench]", &program);
    let text = replaced(
        text,
        "/gateway.json\" ]",
        &format!("/gateway.json\", {flags} ]"),
    );
    fs::write(spec, text).unwrap();
}
