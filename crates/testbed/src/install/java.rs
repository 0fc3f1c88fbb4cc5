//! A program that Maven builds from libraries and a few files of the gateway folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::libraries::Libraries;
use super::{Home, JavaProgram, Remedies, failed, jdk, run};
use crate::error::DriverError;
use crate::gateway::Folder;
use crate::system::command::display;

pub(super) fn program(folder: &Folder) -> Result<Option<JavaProgram>, DriverError> {
    let Some(project) = &folder.spec.install.maven else {
        return Ok(None);
    };
    let file = |name: &String| Ok((name.clone(), folder.template(name)?.to_owned()));
    Ok(Some(JavaProgram {
        home: Home::of(folder, &project.version)?,
        files: project
            .files
            .iter()
            .map(file)
            .collect::<Result<_, DriverError>>()?,
        project: project.clone(),
    }))
}

impl JavaProgram {
    pub(super) fn title(&self) -> String {
        format!(
            "{} {}: built by Maven from Maven Central ({}), into {} (minutes)",
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

    /// The build as a shell command.
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
        // Maven then refuses a download that is damaged or has no checksum in the repository.
        let fixed = [
            "--batch-mode",
            "--quiet",
            "--strict-checksums",
            "-DskipTests",
            "--file",
        ];
        let words = fixed.into_iter().map(String::from);
        words.chain([pom, "package".into()]).collect()
    }

    pub(super) fn perform(&self) -> Result<(), DriverError> {
        let jdk = self.project.java;
        let jdk = jdk
            .map(|first| jdk::home_of(&self.home.gateway, first))
            .transpose()?;
        self.home.clear()?;
        for (name, text) in &self.files {
            write(&self.home.folder.join(name), text)?;
        }
        let by_hand = format!(
            "correct pom.xml and the other files of install.maven according to the output of Maven; to try again: {}",
            self.maven()
        );
        let remedies = Remedies {
            absent: "make this work: mvn --version (Debian's packages are maven and default-jdk-headless)",
            failing: &by_hand,
        };
        let mut maven = Command::new("mvn");
        maven.args(self.arguments());
        if let Some(home) = &jdk {
            maven.env("JAVA_HOME", home);
        }
        run(&self.home.gateway, &mut maven, &remedies)?;
        let jar = self.home.folder.join(&self.project.jar);
        if !jar.is_file() {
            return Err(failed(
                &self.home.gateway,
                format!("Maven built no {}", self.project.jar),
                "correct install.maven.jar in gateway.yaml",
            ));
        }
        // The launcher is written last. Until then the program is not found, not even through the
        // link of an earlier installation.
        self.libraries().check()?;
        let java = jdk.map_or_else(|| "java".into(), |home| home.join("bin/java"));
        let launcher = self.launcher(&java, &jar)?;
        self.home.link(&launcher)
    }

    /// Writes a program that runs the archive, because Java itself prints only its own version.
    fn launcher(&self, java: &Path, jar: &Path) -> Result<PathBuf, DriverError> {
        let path = self.home.folder.join(&self.home.name);
        let version = &self.project.version;
        let [java, jar] = [java, jar].map(|path| display(&[path.display().to_string()]));
        let text = format!(
            "#!/bin/sh\n# JVM_OPTIONS are words for Java.\n\
             [ \"$1\" = --version ] && echo '{} {version}' && exit\n\
             exec {java} $JVM_OPTIONS -jar {jar} \"$@\"\n",
            self.home.gateway
        );
        write(&path, &text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(DriverError::io(
            format!("making {} a program", path.display()),
        ))?;
        Ok(path)
    }
}

fn write(path: &Path, text: &str) -> Result<(), DriverError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(path, text))
        .map_err(DriverError::io(format!("writing {}", path.display())))
}
