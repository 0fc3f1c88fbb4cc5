//! Tests which of several installed versions of a gateway is found.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::common::{folder, launcher};
use gatebench_model::{Blame, Culprit};
use gatebench_testbed::DriverError;
use gatebench_testbed::gateway::Folder;

/// Returns nginx's folder, with only these places for its program.
fn among(programs: &[PathBuf]) -> Folder {
    let mut folder = folder("nginx");
    folder.spec.binary.names = programs
        .iter()
        .map(|program| program.display().to_string())
        .collect();
    folder
}

/// Creates a program, in a separate prefix, that prints its version in nginx's form. Returns the
/// path of the program.
fn prefix(at: &Path, version: &str) -> PathBuf {
    let place = at.join(version).join("sbin/nginx");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let text = format!("#!/bin/sh\necho 'nginx version: nginx/{version}' >&2\n");
    fs::write(&place, text).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    place
}

#[test]
fn the_requested_version_is_found_among_several() {
    let at = tempfile::tempdir().unwrap();
    let programs = ["1.24.0", "1.26.2", "1.26.3"].map(|version| prefix(at.path(), version));
    let folder = among(&programs);
    let found = |wanted| folder.find_binary_of(wanted, &launcher()).unwrap().version;
    assert_eq!(found(None), "1.24.0");
    assert_eq!(found(Some("1.26")), "1.26.2");
    assert_eq!(found(Some("1.26.3")), "1.26.3");
}

#[test]
fn a_version_that_was_not_tested_with_the_folder_is_reported() {
    let nginx = folder("nginx");
    assert_eq!(nginx.unproven("1.22.1"), None);
    assert_eq!(nginx.unproven("1.22.1-9+deb12u1"), None);
    assert!(nginx.unproven("1.22.10").is_some());
    assert_eq!(
        nginx.unproven("1.30.0").as_deref(),
        Some("the gateway folder nginx was tested with nginx 1.22.1, not with 1.30.0")
    );
    let mut never_run = folder("nginx");
    never_run.spec.proven_with.clear();
    let warning = never_run.unproven("1.22.1").unwrap();
    assert!(
        warning.ends_with("the project has never tested it"),
        "{warning}"
    );
    assert_eq!(folder("reference").unproven("0.1.0"), None);
}

#[test]
fn a_missing_version_is_reported_with_those_that_exist() {
    let at = tempfile::tempdir().unwrap();
    let program = prefix(at.path(), "1.24.0");
    let folder = among(std::slice::from_ref(&program));
    let error = folder.find_binary_of(Some("1.2"), &launcher()).unwrap_err();
    assert!(matches!(error, DriverError::NoSuchVersion { .. }));
    let program = program.canonicalize().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "there is no nginx 1.2 here: {} is 1.24.0",
            program.display()
        )
    );
    assert!(
        error.remedy().contains("nginx@/opt/nginx-1.2"),
        "{}",
        error.remedy()
    );
    assert_eq!(error.culprit(), Culprit::Environment);
}

#[test]
fn a_place_is_a_program_or_its_prefix() {
    let at = tempfile::tempdir().unwrap();
    let program = prefix(at.path(), "1.27.4");
    let place = at.path().join("1.27.4");
    for place in [&program, &place] {
        let found = folder("nginx").find_binary_of(place.to_str(), &launcher());
        assert_eq!(found.unwrap().version, "1.27.4");
    }
    let error = folder("nginx")
        .find_binary_of(at.path().to_str(), &launcher())
        .unwrap_err();
    assert!(
        matches!(error, DriverError::BinaryMissing { .. }),
        "{error}"
    );
}

#[test]
fn a_program_that_is_not_that_gateway_prints_no_version() {
    let error = folder("nginx")
        .find_binary_of(Some("/bin/true"), &launcher())
        .unwrap_err();
    assert!(
        error.to_string().contains("true did not print its version"),
        "{error}"
    );
    assert_eq!(error.culprit(), Culprit::Gateway("nginx".into()));
}

/// The program may be a script that executes a missing file: the script exists, but the gateway
/// does not.
#[test]
fn a_program_without_the_files_it_needs_is_not_installed() {
    let mut folder = among(&["/bin/true".into()]);
    folder.spec.binary.needs = vec!["/no/such/file".into()];
    let error = folder.find_binary(&launcher()).unwrap_err();
    assert!(error.is_missing(), "{error}");
    assert!(
        error.to_string().contains("/no/such/file was not found"),
        "{error}"
    );
}

#[test]
fn a_version_that_the_folder_was_not_written_for_is_refused() {
    let at = tempfile::tempdir().unwrap();
    let program = prefix(at.path(), "0.9.1");
    let mut folder = among(&[program]);
    folder.spec.binary.version_min = Some("1.18".into());
    let error = folder.find_binary(&launcher()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is version 0.9.1, but the gateway folder nginx requires at least 1.18"),
        "{error}"
    );
    assert_eq!(error.culprit(), Culprit::Environment);
}
