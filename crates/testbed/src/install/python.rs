//! A program in a Python package.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Home, PythonProgram, failed, run};
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
        let quoted = |path: &Path| display(&[path.display().to_string()]);
        vec![
            format!("mkdir -p {}", quoted(&self.home.folder)),
            format!(
                "{} > {}",
                display(&["echo".into(), self.requirements()]),
                display(&[self.requirements_file()])
            ),
            display(&[vec!["python3".to_owned()], self.arguments()].concat()),
            format!("ln -s {} {}", quoted(&program), quoted(&link)),
        ]
    }

    fn arguments(&self) -> Vec<String> {
        let fixed = "-m pip install --quiet --disable-pip-version-check --no-input --no-deps \
                     --only-binary :all: --require-hashes";
        let target = self.home.folder.display().to_string();
        let requirements = self.requirements_file();
        let places = [
            "--target".into(),
            target,
            "--requirement".into(),
            requirements,
        ];
        fixed.split(' ').map(String::from).chain(places).collect()
    }

    /// pip accepts required hashes only in a file.
    fn requirements_file(&self) -> String {
        let file = self.home.folder.join("requirements.txt");
        file.display().to_string()
    }

    fn requirements(&self) -> String {
        let package = &self.package;
        let hashes = package.sha256.iter();
        let hashes: String = hashes.map(|it| format!(" --hash=sha256:{it}")).collect();
        format!("{}=={}{hashes}", package.package, package.version)
    }

    pub(super) fn perform(&self) -> Result<(), DriverError> {
        self.home.clear()?;
        let file = self.requirements_file();
        fs::write(&file, self.requirements()).map_err(DriverError::at("write", file.as_ref()))?;
        let if_absent = "install pip (Debian's package is python3-pip), so that `python3 -m pip --version` works";
        let if_failing = "make sure that install.pypi in gateway.yaml names a package, a version of it that PyPI has for this machine, \
                          and the SHA-256 of its wheel, and that `python3 -m pip --version` works (Debian's package is python3-pip)";
        let (gateway, mut pip) = (&self.home.gateway, Command::new("python3"));
        run(gateway, pip.args(self.arguments()), if_absent, if_failing)?;
        let program = self.home.folder.join(&self.package.program);
        if !program.is_file() {
            let message = format!("the package does not contain {}", self.package.program);
            let remedy = "correct install.pypi.program in gateway.yaml";
            return Err(failed(gateway, message, remedy));
        }
        self.home.link(&program)
    }
}
