//! Measures the bare work of chains: a C program, and for Saxon a Python program, calls the
//! libraries directly for the steps of a scenario's policies. Both run on the gateway's core, while
//! the other core is busy, as in a trial.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::busy::Busy;
use super::trials::Ran;
use super::word;
use crate::SERVER_CORE;
use crate::client::pinned;
use crate::programs::Programs;

const PROGRAM: &str = include_str!("bare.c");
const SAXON: &str = include_str!("bare_saxon.py");
const ENVELOPE: &str = include_str!("../../../crates/xml/src/soap/soap-1.1.xsd");

/// The calculator's response to the addition of 5 and 7.
const RESPONSE: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"><soap:Body><AddResponse xmlns=\"http://tempuri.org/\"><AddResult>12</AddResult></AddResponse></soap:Body></soap:Envelope>";

const RESPONSE_FILE: &str = "upstream-response";

/// The CPU time of one measurement, in seconds.
const SECONDS: &str = "0.5";

/// The compiled program.
pub struct Bare<'a> {
    program: PathBuf,
    programs: &'a Programs,
}

impl<'a> Bare<'a> {
    /// Compiles the program in the same way as the gateway's shim: with the system's compiler,
    /// against the libraries' headers.
    pub fn compile(folder: &Path, programs: &'a Programs) -> Result<Self, String> {
        let (source, program) = (folder.join("bare.c"), folder.join("bare"));
        let wrote = std::fs::write(&source, PROGRAM);
        wrote.map_err(|error| format!("{} cannot be written: {error}", source.display()))?;
        let flags = printed(Command::new("pkg-config").args([
            "--cflags",
            "--libs",
            "libxml-2.0",
            "libxslt",
        ]))?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-o", &word(&program), &word(&source)]);
        printed(compiler.args(flags.split_whitespace()))?;
        Ok(Self { program, programs })
    }

    fn by_libxml2(&self, chain: &Chain) -> Option<Vec<String>> {
        let steps = chain.of_libxml2();
        let is_empty = !steps.iter().any(|step| step[0] != "response");
        let fixed = [word(&self.program), SECONDS.into(), chain.message.clone()];
        (!is_empty).then(|| fixed.into_iter().chain(steps.concat()).collect())
    }

    /// Returns the CPU time per message in µs for each scenario with a chain: the sum of Saxon's
    /// part and libxml2's, each of which is the minimum of `trials` measurements.
    pub fn measure(
        &self,
        ran: &Ran,
        trials: usize,
        folder: &Path,
    ) -> Result<Vec<(String, f64)>, String> {
        let mut measured = Vec::new();
        let mut neighbor = None;
        for scenario in &ran.scenarios {
            let name = scenario["scenario"].as_str().unwrap_or("?");
            let Some(chain) = Chain::of(scenario, &folder.join(name))? else {
                continue;
            };
            if neighbor.is_none() {
                neighbor = Some(Busy::start(self.programs)?);
            }
            // Saxon runs first, because libxml2 validates its results.
            let mut cost = 0.0;
            if let Some(words) = chain.by_saxon(&between(scenario, &chain.folder))? {
                cost += least(&words, trials)?;
            }
            if let Some(words) = self.by_libxml2(&chain) {
                cost += least(&words, trials)?;
            }
            measured.push((name.to_owned(), cost));
        }
        Ok(measured)
    }
}

/// Runs a command `trials` times and returns the smallest figure that it printed.
fn least(words: &[String], trials: usize) -> Result<f64, String> {
    let mut least = f64::INFINITY;
    for _ in 0..trials {
        let output = pinned(SERVER_CORE, &[], words, 5)?;
        let printed = output.trim().parse::<f64>();
        least = least.min(printed.map_err(|_| format!("the bare work printed '{output}'"))?);
    }
    Ok(least)
}

/// Returns the argument of bare_saxon.py that selects the upstream's response: httpbin sends the
/// message back, and the calculator sends a sum.
fn between(scenario: &Value, folder: &Path) -> String {
    match scenario["upstream"].as_str() {
        Some("httpbin") => "ECHO".into(),
        _ => format!("RESPONSE={}", word(&folder.join(RESPONSE_FILE))),
    }
}

/// The work that a scenario does for each message.
struct Chain {
    folder: PathBuf,
    message: String,
    /// Each step is a name with its arguments, in the form that bare.c reads, except for the step
    /// `saxon`, which bare.c does not have.
    steps: Vec<Vec<String>>,
}

impl Chain {
    /// Returns the chain of the scenario's first route, if it has one.
    fn of(scenario: &Value, folder: &Path) -> Result<Option<Self>, String> {
        let policies = scenario["routes"][0]["policies"].as_array();
        let soap = policies.and_then(|all| all.iter().find_map(|policy| policy.get("soap")));
        let Some(soap) = soap else {
            return Ok(None);
        };
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let request = &scenario["requests"][0];
        let message = file(folder, "message", request["body"].as_str().unwrap_or(""))?;
        let response = file(folder, RESPONSE_FILE, RESPONSE)?;
        let mut steps = Vec::new();
        for direction in ["request", "response"] {
            let chain = &soap[direction];
            if chain.is_object() {
                if direction == "response" {
                    steps.push(vec!["response".to_owned(), response.clone()]);
                }
                steps.extend(of_chain(chain, &folder.join(direction))?);
            }
        }
        Ok(Some(Self {
            folder: folder.to_owned(),
            message,
            steps,
        }))
    }

    /// Returns the steps for bare.c. A result of Saxon is read from a file, and text that only
    /// Saxon reads is not parsed.
    fn of_libxml2(&self) -> Vec<Vec<String>> {
        let mut steps: Vec<Vec<String>> = Vec::new();
        let mut made = 0;
        for (at, step) in self.steps.iter().enumerate() {
            let next = self.steps.get(at + 1).map(|step| step[0].as_str());
            match step[0].as_str() {
                "parse" if next == Some("saxon") => {}
                "saxon" => {
                    made += 1;
                    let text = word(&self.folder.join(made.to_string()));
                    steps.push(vec!["response".into(), text]);
                    if next.is_some_and(|next| next != "response") {
                        steps.push(vec!["parse".into()]);
                    }
                }
                _ => steps.push(step.clone()),
            }
        }
        steps
    }

    /// Returns the command for the part of the chain that uses Saxon, if there is one. With two
    /// stylesheets, `between` is the upstream's response to the result of the first.
    fn by_saxon(&self, between: &str) -> Result<Option<Vec<String>>, String> {
        let of_saxon = self.steps.iter().filter(|step| step[0] == "saxon");
        let mut styles: Vec<String> = of_saxon.map(|step| step[1].clone()).collect();
        if styles.is_empty() {
            return Ok(None);
        }
        styles.insert(1, between.to_owned());
        let home = std::env::var("XDG_DATA_HOME")
            .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.local/share")));
        let data = home.map_err(|_| {
            "HOME is not set; set it to the folder below which `make saxon` installed Saxon"
                .to_owned()
        })?;
        let package = format!("{data}/gatebench/saxonche");
        let made = word(&self.folder);
        let fixed = [
            "python3",
            "-E",
            "-s",
            "-c",
            SAXON,
            &package,
            SECONDS,
            &made,
            &self.message,
        ];
        Ok(Some([fixed.map(String::from).to_vec(), styles].concat()))
    }
}

fn of_chain(chain: &Value, folder: &Path) -> Result<Vec<Vec<String>>, String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let xslt = match chain["xslt_library"] == "saxon" {
        true => "saxon",
        false => "xslt",
    };
    // If the chain has no schema for the envelope, the built-in one applies.
    let envelope = chain["xsd_soap_schema"].as_str().or(Some(ENVELOPE));
    let parts = [
        (xslt, "before", chain["xslt_transform_before"].as_str()),
        ("envelope", "envelope", envelope),
        ("body", "body", chain["xsd_api_schema"].as_str()),
        (xslt, "after", chain["xslt_transform_after"].as_str()),
    ];
    let mut steps = vec![vec!["parse".to_owned()]];
    for (step, name, text) in parts {
        if let Some(text) = text {
            steps.push(vec![step.to_owned(), file(folder, name, text)?]);
        }
    }
    let target = &chain["route_xpath_targets"][0];
    if let Some(xpath) = target["xpath"].as_str() {
        let names = chain["route_xpath_register_ns"].as_object();
        let (prefix, uri) = names
            .and_then(|names| names.iter().next())
            .ok_or("a route's XPath expression has no namespace")?;
        let uri = uri.as_str().unwrap_or_default();
        steps.push(["xpath", xpath, prefix, uri].map(String::from).to_vec());
    }
    if steps.iter().any(|step| step[0] == "xslt") {
        steps.push(vec!["serialize".into()]);
    }
    Ok(steps)
}

fn file(folder: &Path, name: &str, text: &str) -> Result<String, String> {
    let path = folder.join(name);
    std::fs::write(&path, text)
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    Ok(word(&path))
}

fn printed(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{:?} cannot be started: {error}", command.get_program()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{:?} failed: {}",
            command.get_program(),
            errors.trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(words: &str) -> Vec<String> {
        words.split(' ').map(String::from).collect()
    }

    #[test]
    fn results_of_saxon_are_parsed_where_they_are_validated() {
        let chain = Chain {
            folder: "made".into(),
            message: "message".into(),
            steps: [
                "parse",
                "envelope company.xsd",
                "saxon to-json",
                "response echo",
                "parse",
                "saxon from-json",
                "envelope company.xsd",
            ]
            .map(step)
            .to_vec(),
        };
        let expected = [
            "parse",
            "envelope company.xsd",
            "response made/1",
            "response echo",
            "response made/2",
            "parse",
            "envelope company.xsd",
        ];
        assert_eq!(chain.of_libxml2(), expected.map(step));
    }
}
