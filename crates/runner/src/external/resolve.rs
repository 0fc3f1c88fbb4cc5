//! Finds an external load generator, its version, and the load that its script sets.

use std::path::Path;
use std::time::Duration;

use gatebench_external::{Generator, ScriptError, has_own_load, locate, read_execution};
use gatebench_model::load::Closed;
use gatebench_model::{HumanDuration, Phase, Plan, Shape};
use gatebench_store::{ExternalGenerator, FileDigest, Manifest};
use gatebench_testbed::services::ask_generator;

use super::{GeneratorChoice, NOWHERE, PreparedGenerator};
use crate::error::RunnerError;
use crate::warning::Warning;

/// The timeout for a command of the load generator. k6 may have to compile a script.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// The name of the only phase of a script with its own load.
const SCRIPT_PHASE: &str = "script";

/// Finds the requested load generator, and checks that it supports the plan. A script with its own
/// load replaces the plan's phases.
///
/// # Errors
/// The load generator is not installed, its script has errors, or it does not support the plan.
pub(crate) fn resolve(
    choice: &GeneratorChoice,
    plan: &mut Plan,
) -> Result<(PreparedGenerator, Vec<Warning>), RunnerError> {
    let engine = find(choice.generator, choice.script.as_deref(), Some(plan))?;
    let warnings = engine.check(plan)?;
    Ok((engine, warnings))
}

/// Finds the external load generator of a resumed run, with warnings about changes; `None` if the
/// run uses the built-in one.
///
/// # Errors
/// The load generator or its script is missing, the script has errors, or this version of gatebench
/// does not support the load generator.
pub(crate) fn again(
    manifest: &Manifest,
) -> Result<Option<(PreparedGenerator, Vec<Warning>)>, RunnerError> {
    let Some(before) = &manifest.external_generator else {
        return Ok(None);
    };
    let generator: Generator = before.name.parse().map_err(|_| {
        RunnerError::words(
            format!(
                "the run used the load generator '{}', which this version of gatebench does not support",
                before.name
            ),
            "finish it with the version of gatebench that started it",
        )
    })?;
    let script = before.script.as_ref().map(|script| Path::new(&script.path));
    let mut engine = find(generator, script, None)?;
    if let (Generator::K6, Some(script)) = (generator, &engine.identity.script) {
        engine.own_load = had_own_load(&engine.identity.binary, script, &manifest.plan)?;
    }
    let changes = changes(before, &engine.identity);
    Ok(Some((engine, changes)))
}

/// Reports whether the plan has the load of a script. A phase of a user's load may have the same
/// name as the script's phase, so the script itself must also set a load.
fn had_own_load(program: &str, script: &FileDigest, plan: &Plan) -> Result<bool, RunnerError> {
    let mut phases = plan.load.phases.iter();
    if !phases.all(|phase| phase.name == SCRIPT_PHASE) {
        return Ok(false);
    }
    sets_load(Path::new(program), script)
}

fn changes(before: &ExternalGenerator, now: &ExternalGenerator) -> Vec<Warning> {
    let version = || format!("{} {} instead of {}", now.name, now.version, before.version);
    let version = (before.version != now.version).then(version);
    let script = (before.script != now.script).then(|| "the script has changed".into());
    let changes = version.into_iter().chain(script);
    changes
        .map(|what| Warning::InstrumentChanged { what })
        .collect()
}

fn find(
    generator: Generator,
    script: Option<&Path>,
    plan: Option<&mut Plan>,
) -> Result<PreparedGenerator, RunnerError> {
    let program = locate(generator).ok_or_else(|| {
        RunnerError::environment(format!("{generator} is not installed"), generator.install())
    })?;
    let version = version(generator, &program)?;
    let script = script.map(script_of).transpose()?;
    let own_load = match (&script, generator, plan) {
        (Some(script), Generator::K6, Some(plan)) => load_of(&program, script, plan)?,
        _ => false,
    };
    Ok(PreparedGenerator {
        generator,
        identity: ExternalGenerator {
            name: generator.as_str().into(),
            version,
            binary: program.display().to_string(),
            script,
        },
        own_load,
    })
}

fn version(generator: Generator, program: &Path) -> Result<String, RunnerError> {
    // Some programs print their version and still exit with an error status.
    let (_, output) = ask_generator(program, generator.version_arguments(), RESPONSE_TIMEOUT)?;
    generator.version_in(&output).ok_or_else(|| {
        let output = output.lines().next().unwrap_or_default();
        RunnerError::environment(
            format!(
                "{} printed '{output}' instead of its version",
                program.display()
            ),
            format!(
                "put {generator} on PATH before other programs of that name, or install it again: {}",
                generator.install()
            ),
        )
    })
}

/// Returns the digest of a script, with the script's absolute path.
fn script_of(path: &Path) -> Result<FileDigest, RunnerError> {
    let read = path.canonicalize().and_then(|path| {
        let bytes = std::fs::read(&path)?;
        Ok(FileDigest::of(path.display().to_string(), &bytes))
    });
    read.map_err(|error| RunnerError::File {
        path: path.into(),
        message: format!("cannot read the script: {error}"),
        remedy: "check the path given with --script or in the specification".into(),
    })
}

/// Reports whether a script sets its own load. If it does, the load becomes the plan's only phase.
fn load_of(program: &Path, script: &FileDigest, plan: &mut Plan) -> Result<bool, RunnerError> {
    if !sets_load(program, script)? {
        return Ok(false);
    }
    let output = inspect(program, script, &["--execution-requirements"])?;
    let wrong = |error: ScriptError| wrong_script(script, error.to_string());
    let execution = read_execution(&output).map_err(wrong)?;
    plan.scenario_loads.clear();
    let shape = Shape::Closed(Closed::new(execution.users_max));
    plan.load.phases = vec![Phase {
        drain: HumanDuration::default(),
        timeout: HumanDuration(Duration::from_secs(60)),
        ..Phase::new(SCRIPT_PHASE, shape, HumanDuration(execution.takes))
    }];
    Ok(true)
}

fn sets_load(program: &Path, script: &FileDigest) -> Result<bool, RunnerError> {
    let own = has_own_load(&inspect(program, script, &[])?);
    own.map_err(|error| wrong_script(script, error.to_string()))
}

/// Returns the output of `k6 inspect`, which compiles the script.
fn inspect(program: &Path, script: &FileDigest, more: &[&str]) -> Result<String, RunnerError> {
    let environment = format!("GATEBENCH_URL={NOWHERE}");
    let words = [&["inspect", "--env", &environment], more, &[&script.path]].concat();
    let (is_success, output) = ask_generator(program, &words, RESPONSE_TIMEOUT)?;
    if is_success {
        return Ok(output);
    }
    let message = format!("k6 rejects the script: {}", output.trim());
    Err(wrong_script(script, message))
}

fn wrong_script(script: &FileDigest, message: String) -> RunnerError {
    RunnerError::File {
        path: script.path.clone().into(),
        message,
        remedy: "correct the script until `k6 inspect` accepts it".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn plan(phase: &str) -> Plan {
        serde_json::from_value(serde_json::json!({
            "suite": "s", "title": "t", "seed": 7, "blocks": 1, "scenarios": [],
            "load": { "profile": "l", "title": "t", "phases": [
                { "name": phase, "closed": { "connections": 1 }, "measure": "1s" }
            ] },
            "variants": [{ "kind": "direct" }],
            "placement": { "gateway": [1], "engine": [0], "upstream": [0], "note": "shared" },
            "trials": []
        }))
        .unwrap()
    }

    #[test]
    fn a_users_load_with_the_name_of_the_scripts_phase_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let k6 = folder.path().join("k6");
        // The stub for `k6 inspect` prints the file named by its last argument, so the script file
        // contains the output of the stub.
        fs::write(&k6, "#!/bin/sh\nfor last; do :; done\nexec cat \"$last\"\n").unwrap();
        fs::set_permissions(&k6, fs::Permissions::from_mode(0o755)).unwrap();
        let of = |options: &str, phase: &str| {
            let path = folder.path().join("script.js").display().to_string();
            fs::write(&path, options).unwrap();
            let script = FileDigest::of(path, options.as_bytes());
            had_own_load(&k6.display().to_string(), &script, &plan(phase)).unwrap()
        };
        assert!(of(r#"{"vus": 3}"#, SCRIPT_PHASE));
        assert!(!of(r#"{"vus": null}"#, SCRIPT_PHASE));
        assert!(!of(r#"{"vus": 3}"#, "steady"));
    }
}
