//! A program that Maven builds from libraries and a few files of the gateway folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::libraries::Libraries;
use super::{Home, JavaProgram, failed, jdk, run};
use crate::error::DriverError;
use crate::gateway::Folder;
use crate::system::command::display;

pub(super) fn program(folder: &Folder) -> Result<Option<JavaProgram>, DriverError> {
    let Some(project) = &folder.spec.install.maven else {
        return Ok(None);
    };
    let file = |name: &String| Ok((name.clone(), folder.template(name)?.to_owned()));
    let files: Result<_, DriverError> = project.files.iter().map(file).collect();
    Ok(Some(JavaProgram {
        home: Home::of(folder, &project.version)?,
        files: files?,
        project: project.clone(),
    }))
}

impl JavaProgram {
    pub(super) fn title(&self) -> String {
        format!(
            "{} {}: built by Maven with libraries from Maven Central ({}), into {} (takes minutes)",
            self.home.gateway,
            self.project.version,
            self.libraries().pinned(),
            self.home.folder.display()
        )
    }

    pub(super) fn commands(&self) -> Vec<String> {
        let maven = std::iter::once(self.maven());
        maven.chain(self.libraries().command()).collect()
    }

    fn maven(&self) -> String {
        display(&[vec!["mvn".to_owned()], self.arguments()].concat())
    }

    fn libraries(&self) -> Libraries<'_> {
        Libraries {
            gateway: &self.home.gateway,
            build: &self.home.folder,
            project: &self.project,
        }
    }

    fn arguments(&self) -> Vec<String> {
        let pom = self.home.folder.join("pom.xml").display().to_string();
        // With --strict-checksums, Maven rejects a download that is damaged or has no checksum in
        // the repository.
        let fixed = "--batch-mode --quiet --strict-checksums -DskipTests --file";
        let words = fixed.split(' ').map(String::from);
        let version = format!("-Dgateway.version={}", self.project.version);
        words.chain([pom, version, "package".into()]).collect()
    }

    pub(super) fn perform(&self) -> Result<(), DriverError> {
        let gateway = &self.home.gateway;
        let jdk = self.project.java;
        let jdk = jdk.map(|first| jdk::home_of(gateway, first)).transpose()?;
        self.home.clear()?;
        for (name, text) in &self.files {
            write(&self.home.folder.join(name), text)?;
        }
        let if_absent = "install Maven (Debian's packages are maven and default-jdk-headless), so that `mvn --version` works";
        let if_failing = format!(
            "make sure that Maven can download libraries, and correct pom.xml and the other files of install.maven; \
             to see Maven's whole output, run: {}",
            self.maven()
        );
        let mut maven = Command::new("mvn");
        maven.args(self.arguments());
        if let Some(home) = &jdk {
            maven.env("JAVA_HOME", home);
        }
        run(gateway, &mut maven, if_absent, &if_failing)?;
        let jar = self.home.folder.join(&self.project.jar);
        if !jar.is_file() {
            let message = format!("Maven did not build {}", self.project.jar);
            let remedy = "correct install.maven.jar in gateway.yaml";
            return Err(failed(gateway, message, remedy));
        }
        self.libraries().check()?;
        // The launcher is written last. Until then, the program cannot be found, not even through
        // the link of an earlier installation of this version.
        let java = jdk.map_or_else(|| "java".into(), |home| home.join("bin/java"));
        let launcher = self.launcher(&java, &jar)?;
        self.home.link(&launcher)
    }

    /// Writes a script that runs the JAR file. With `--version`, the script prints the gateway's
    /// name and version, because the JAR file may lack such an option.
    fn launcher(&self, java: &Path, jar: &Path) -> Result<PathBuf, DriverError> {
        let path = self.home.folder.join(&self.home.name);
        let version = &self.project.version;
        let [java, jar] = [java, jar].map(|path| display(&[path.display().to_string()]));
        let text = format!(
            "#!/bin/sh\n# JVM_OPTIONS is split into options for Java.\n\
             [ \"$1\" = --version ] && echo '{} {version}' && exit\n\
             exec {java} $JVM_OPTIONS -jar {jar} \"$@\"\n",
            self.home.gateway
        );
        write(&path, &text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .map_err(DriverError::at("set the permissions of", &path))?;
        Ok(path)
    }
}

fn write(path: &Path, text: &str) -> Result<(), DriverError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(path, text));
    written.map_err(DriverError::at("write", path))
}
