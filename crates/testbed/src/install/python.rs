//! A program in a Python package.

use std::fs;
use std::process::Command;

use super::{Home, PythonProgram, Remedies, failed, run};
use crate::error::DriverError;
use crate::gateway::Folder;
use crate::system::command::display;

pub(super) fn program(folder: &Folder) -> Result<Option<PythonProgram>, DriverError> {
    let Some(package) = &folder.spec.install.pypi else {
        return Ok(None);
    };
    Ok(Some(PythonProgram {
        home: Home::of(folder, &package.version)?,
        package: package.clone(),
    }))
}

impl PythonProgram {
    pub(super) fn title(&self) -> String {
        format!(
            "{}: {} {} from PyPI, into {}",
            self.home.gateway,
            self.package.package,
            self.package.version,
            self.home.folder.display()
        )
    }

    pub(super) fn commands(&self) -> Vec<String> {
        let program = self.home.folder.join(&self.package.program);
        let link = self.home.bin.join(&self.home.name);
        let words = |words: &[String]| display(words);
        let folder = self.home.folder.display().to_string();
        let written = words(&["echo".into(), self.requirements()]);
        vec![
            words(&["mkdir".into(), "-p".into(), folder]),
            format!("{written} > {}", words(&[self.requirements_file()])),
            words(&[vec!["python3".to_owned()], self.arguments()].concat()),
            words(&[
                "ln".into(),
                "-s".into(),
                program.display().to_string(),
                link.display().to_string(),
            ]),
        ]
    }

    fn arguments(&self) -> Vec<String> {
        let fixed = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--require-hashes",
        ];
        let target = self.home.folder.display().to_string();
        let places = [
            "--target".into(),
            target,
            "--requirement".into(),
            self.requirements_file(),
        ];
        fixed.into_iter().map(String::from).chain(places).collect()
    }

    /// pip accepts required hashes only in a file.
    fn requirements_file(&self) -> String {
        let file = self.home.folder.join("requirements.txt");
        file.display().to_string()
    }

    fn requirements(&self) -> String {
        let package = &self.package;
        let hashes = package
            .sha256
            .iter()
            .map(|it| format!(" --hash=sha256:{it}"));
        let hashes: String = hashes.collect();
        format!("{}=={}{hashes}", package.package, package.version)
    }

    pub(super) fn perform(&self) -> Result<(), DriverError> {
        self.home.clear()?;
        let file = self.requirements_file();
        fs::write(&file, self.requirements())
            .map_err(DriverError::io(format!("writing {file}")))?;
        let remedies = Remedies {
            absent: "make this work: python3 -m pip --version (Debian's package is python3-pip)",
            failing: "make sure that install.pypi in gateway.yaml names a package, a version of it that PyPI has for this machine, \
                      and the SHA-256 of its wheel, and that this works: python3 -m pip --version (Debian's package is python3-pip)",
        };
        let mut pip = Command::new("python3");
        run(&self.home.gateway, pip.args(self.arguments()), &remedies)?;
        let program = self.home.folder.join(&self.package.program);
        if !program.is_file() {
            return Err(failed(
                &self.home.gateway,
                format!("the package contains no {}", self.package.program),
                "correct install.pypi.program in gateway.yaml",
            ));
        }
        self.home.link(&program)
    }
}
