//! Finds libxml2 and libxslt with pkg-config and compiles the shim against their own headers, so
//! that Rust does not duplicate their layouts.

const LIBRARIES: [&str; 2] = ["libxml-2.0", "libxslt"];

const SOURCES: [&str; 9] = [
    "native/memory.c",
    "native/process.c",
    "native/parse.c",
    "native/tree.c",
    "native/canonical.c",
    "native/definitions.c",
    "native/functions.c",
    "native/output.c",
    "native/version.c",
];

fn main() {
    let mut shim = cc::Build::new();
    for name in LIBRARIES {
        match pkg_config::probe_library(name) {
            Ok(library) => {
                shim.includes(library.include_paths);
            }
            Err(_) => {
                eprintln!(
                    "error: environment: pkg-config finds no {name}; install the Debian packages \
                     libxml2-dev and libxslt1-dev (scripts/install-deps), or build without SOAP: \
                     --no-default-features"
                );
                std::process::exit(1);
            }
        }
    }
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        shim.file(source);
    }
    println!("cargo::rerun-if-changed=native/shim.h");
    if std::env::var_os("CARGO_FEATURE_PLAIN_MEMORY").is_some() {
        shim.define("SHIM_PLAIN_MEMORY", None);
    }
    // xmlLastError and a few other names are deprecated, but their replacements are still too new
    // to rely on.
    shim.std("c11")
        .warnings(true)
        .extra_warnings(true)
        .flag_if_supported("-Wno-deprecated-declarations")
        .compile("gatebench_xml");
}
