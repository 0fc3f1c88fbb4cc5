//! A program that a Python package carries.

use std::process::Command;

use super::{Home, PythonProgram, Remedies, failed, program_name, run};
use crate::command::display;
use crate::error::DriverError;
use crate::folder::Folder;

pub(super) fn program(folder: &Folder) -> Result<Option<PythonProgram>, DriverError> {
    let Some(package) = &folder.spec.install.pypi else {
        return Ok(None);
    };
    let gateway = folder.spec.gateway.clone();
    Ok(Some(PythonProgram {
        home: Home::of(&gateway, &package.version)?,
        gateway,
        name: program_name(folder),
        package: package.clone(),
    }))
}

impl PythonProgram {
    pub(super) fn title(&self) -> String {
        format!(
            "{}: {} {} from PyPI, into {}",
            self.gateway,
            self.package.package,
            self.package.version,
            self.home.folder.display()
        )
    }

    pub(super) fn commands(&self) -> Vec<String> {
        let program = self.home.folder.join(&self.package.program);
        let link = self.home.bin.join(&self.name);
        let words = |words: &[String]| display(words);
        vec![
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
            "--target",
        ];
        let target = self.home.folder.display().to_string();
        let package = format!("{}=={}", self.package.package, self.package.version);
        fixed
            .into_iter()
            .map(String::from)
            .chain([target, package])
            .collect()
    }

    pub(super) fn perform(&self) -> Result<(), DriverError> {
        self.home.clear()?;
        let remedies = Remedies {
            absent: "make this work: python3 -m pip --version (Debian's package is python3-pip)",
            failing: "see that install.pypi in gateway.yaml names a package and a version of it that PyPI has for this \
                      machine, and that this works: python3 -m pip --version (Debian's package is python3-pip)",
        };
        let mut pip = Command::new("python3");
        run(&self.gateway, pip.args(self.arguments()), &remedies)?;
        let program = self.home.folder.join(&self.package.program);
        if !program.is_file() {
            return Err(failed(
                &self.gateway,
                format!("the package holds no {}", self.package.program),
                "correct install.pypi.program in gateway.yaml",
            ));
        }
        self.home.link(&self.name, &program)
    }
}
