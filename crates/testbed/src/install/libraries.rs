//! The libraries that Maven copies into a build, pinned by one digest of all their files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gatebench_model::gateway::MavenProject;

use super::failed;
use crate::error::DriverError;
use crate::system::command::display;
use crate::system::digest::{sha256_of, sha256_of_file};

/// The file in the build's folder that lists the digests of all library files, in the format of
/// `sha256sum --check`.
const LIST_FILE: &str = "libraries.sha256";

pub(super) struct Libraries<'a> {
    pub gateway: &'a str,
    pub build: &'a Path,
    pub project: &'a MavenProject,
}

impl Libraries<'_> {
    pub(super) fn pinned(&self) -> &'static str {
        match &self.project.libraries_sha256 {
            _ if self.project.libraries.is_empty() => "not pinned by hash",
            None => "their hash is not recorded",
            Some(_) => "libraries pinned by SHA-256",
        }
    }

    /// Returns a shell command that computes the digest and, if one is recorded, compares the two;
    /// none if `gateway.yaml` names no libraries to pin.
    pub(super) fn command(&self) -> Option<String> {
        if self.project.libraries.is_empty() {
            return None;
        }
        let build = display(&[self.build.display().to_string()]);
        let folders = display(&self.folders());
        let digest = self.project.libraries_sha256.as_ref();
        let compared = digest.map_or_else(
            || format!("sha256sum {LIST_FILE}"),
            |digest| format!("echo '{digest}  {LIST_FILE}' | sha256sum --check"),
        );
        Some(format!(
            "cd {build} && find {folders} -type f -print0 | LC_ALL=C sort -zu | xargs -0 sha256sum > {LIST_FILE} && {compared}"
        ))
    }

    /// Compares the digest of the libraries with the recorded one. Also writes the list that the
    /// digest is computed from, so that a user can find the file that differs.
    ///
    /// # Errors
    /// [`DriverError::Install`] if the digests differ, no digest is recorded, a folder contains no
    /// files, or a file cannot be pinned; [`DriverError::Io`] if a file cannot be read or written.
    pub(super) fn check(&self) -> Result<(), DriverError> {
        if self.project.libraries.is_empty() {
            return Ok(());
        }
        let list = self.list()?;
        let file = self.build.join(LIST_FILE);
        fs::write(&file, &list).map_err(DriverError::at("write", &file))?;
        let computed = sha256_of(list.as_bytes());
        match &self.project.libraries_sha256 {
            Some(recorded) if *recorded == computed => Ok(()),
            Some(recorded) => Err(self.changed(recorded, &computed, &file)),
            None => Err(self.unrecorded(&computed, &file)),
        }
    }

    /// Returns the lines that sha256sum prints for all files, sorted by the bytes of their paths.
    fn list(&self) -> Result<String, DriverError> {
        let mut files = BTreeSet::new();
        for folder in self.folders() {
            let below = self.files_below(&folder)?;
            if below.is_empty() {
                return Err(failed(
                    self.gateway,
                    format!("Maven put no files in {folder}"),
                    "correct install.maven.libraries in gateway.yaml, or the pom.xml that fills this folder",
                ));
            }
            files.extend(below);
        }
        files.iter().map(|file| self.line(file)).collect()
    }

    fn line(&self, file: &str) -> Result<String, DriverError> {
        let path = self.build.join(file);
        let digest = sha256_of_file(&path).map_err(DriverError::at("read", &path))?;
        Ok(format!("{digest}  {file}\n"))
    }

    /// Returns the paths in `libraries` without redundant slashes, because the paths of the files
    /// in the list begin with these paths.
    fn folders(&self) -> Vec<String> {
        let shortest = |folder: &String| {
            let parts: PathBuf = Path::new(folder).components().collect();
            parts.display().to_string()
        };
        self.project.libraries.iter().map(shortest).collect()
    }

    /// Returns the paths of all files below a folder, relative to the build; empty if there is no
    /// such folder.
    fn files_below(&self, folder: &str) -> Result<Vec<String>, DriverError> {
        let is_folder = fs::symlink_metadata(self.build.join(folder)).is_ok_and(|it| it.is_dir());
        let mut folders = Vec::from_iter(is_folder.then(|| folder.to_owned()));
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            let path = self.build.join(&folder);
            let failed = || DriverError::at("read", &path);
            for entry in fs::read_dir(&path).map_err(failed())? {
                let entry = entry.map_err(failed())?;
                let kind = entry.file_type().map_err(failed())?;
                let name = format!("{folder}/{}", self.name(&entry)?);
                if kind.is_dir() {
                    folders.push(name);
                } else if kind.is_file() {
                    files.push(name);
                } else {
                    return Err(self.unfit(&entry, "is neither a file nor a folder"));
                }
            }
        }
        Ok(files)
    }

    /// Fails for a name that sha256sum would escape or that is not UTF-8.
    fn name(&self, entry: &fs::DirEntry) -> Result<String, DriverError> {
        let name = entry.file_name().into_string().ok();
        let plain = name.filter(|name| !name.contains(['\\', '\n', '\r']));
        plain.ok_or_else(|| {
            self.unfit(
                entry,
                "has a backslash, a line break or bytes that are not UTF-8 in its name",
            )
        })
    }

    fn unfit(&self, entry: &fs::DirEntry, why: &str) -> DriverError {
        failed(
            self.gateway,
            format!("{} {why}, so it cannot be pinned", entry.path().display()),
            "have the build copy libraries as regular files with plain names, or correct install.maven.libraries in gateway.yaml",
        )
    }

    fn changed(&self, recorded: &str, computed: &str, list: &Path) -> DriverError {
        let list = list.display();
        failed(
            self.gateway,
            format!(
                "the libraries that Maven downloaded are not those that gateway.yaml pins, so nothing was installed\n\
                 recorded SHA-256: {recorded}\n\
                 computed SHA-256: {computed}\n\
                 digests of all files: {list}"
            ),
            format!(
                "if you did not change any version, do not run the result of the build: compare {list} with the list from another \
                 machine or version, and compare the files that differ with the checksums and signatures in Maven Central; \
                 after an intended change, check the new files in the same way, then write under install.maven in \
                 gateway.yaml: libraries_sha256: {computed}"
            ),
        )
    }

    fn unrecorded(&self, computed: &str, list: &Path) -> DriverError {
        let list = list.display();
        failed(
            self.gateway,
            format!(
                "gateway.yaml names libraries to pin but has no install.maven.libraries_sha256, so nothing was installed\n\
                 computed SHA-256: {computed}\n\
                 digests of all files: {list}"
            ),
            format!(
                "compare the files in {list} with the checksums and signatures in Maven Central, then write under \
                 install.maven in gateway.yaml: libraries_sha256: {computed}"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use gatebench_model::Blame as _;

    use super::*;

    /// The digests that sha256sum prints for the list of [`build`], and for the list of
    /// `target/lib` alone.
    const ALL: &str = "7a43adefb7b608cce090d718138aa96da69a4b2c22dd2b6715bd133e507990b5";
    const LIB: &str = "384faacadfc65fc645e92706f4549a7a8467f245c3d7ea279cab6c57244aacfa";

    /// The list of [`build`], as sha256sum writes it.
    const LINES: &str = "\
ab929fcd5594037960792ea0b98caf5fdaf6b60645e4ef248c28db74260f393e  target/lib-x/c.zip
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  target/lib/Z.jar
ac169f9fb7cb48d431466d7b3bf2dc3e1d2e7ad6630f6b767a1ac1801c496b35  target/lib/a b.jar
2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806  target/lib/a.jar
3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  target/lib/sub/b.jar
f6936912184481f5edd4c304ce27c5a1a827804fc7f329f43d273b8621870776  target/lib/é.jar
";

    fn build() -> tempfile::TempDir {
        let build = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("gateway.jar", "x"),
            ("lib/a.jar", "one\n"),
            ("lib/Z.jar", ""),
            ("lib/sub/b.jar", "two"),
            ("lib/é.jar", "three\n"),
            ("lib/a b.jar", "five\n"),
            ("lib-x/c.zip", "four\n"),
        ] {
            let path = build.path().join("target").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        build
    }

    fn project(libraries: &[&str], digest: Option<&str>) -> MavenProject {
        MavenProject {
            files: vec!["pom.xml".into()],
            jar: "target/gateway.jar".into(),
            libraries: libraries.iter().map(|&it| it.to_owned()).collect(),
            libraries_sha256: digest.map(str::to_owned),
            version: "1".into(),
            java: None,
        }
    }

    fn libraries<'a>(build: &'a Path, project: &'a MavenProject) -> Libraries<'a> {
        Libraries {
            gateway: "mine",
            build,
            project,
        }
    }

    fn refusal(build: &Path, folders: &[&str], digest: Option<&str>) -> (String, String) {
        let project = project(folders, digest);
        let error = libraries(build, &project).check().unwrap_err();
        assert!(matches!(error, DriverError::Install { .. }), "{error:?}");
        (error.to_string(), error.remedy())
    }

    #[test]
    fn the_digest_is_that_of_sha256sum() {
        let build = build();
        let cases: [(&[&str], &str); 4] = [
            (&["target/lib", "target/lib-x"], ALL),
            (&["target/lib-x", "target/lib"], ALL),
            (&["target/lib/", "target/lib/sub", "target//lib-x"], ALL),
            (&["target/lib"], LIB),
        ];
        for (folders, digest) in cases {
            let project = project(folders, Some(digest));
            libraries(build.path(), &project).check().unwrap();
        }
    }

    #[test]
    fn the_list_is_that_of_sha256sum() {
        let build = build();
        let project = project(&["target/lib", "target/lib-x"], Some(ALL));
        libraries(build.path(), &project).check().unwrap();
        let list = fs::read_to_string(build.path().join(LIST_FILE)).unwrap();
        assert_eq!(list, LINES);
    }

    #[test]
    fn the_command_computes_the_same_digest() {
        let build = build();
        for digest in [ALL, LIB] {
            let project = project(&["target/lib", "target/lib-x/"], Some(digest));
            let command = libraries(build.path(), &project).command().unwrap();
            let mut shell = std::process::Command::new("sh");
            let finished = shell.args(["-c", &command]).output().unwrap();
            assert_eq!(finished.status.success(), digest == ALL, "{finished:?}");
        }
        let list = fs::read_to_string(build.path().join(LIST_FILE)).unwrap();
        assert_eq!(list, LINES);
    }

    #[test]
    fn a_file_with_other_bytes_or_another_name_is_refused_with_both_digests() {
        let changes: [fn(&Path); 4] = [
            |lib| fs::write(lib.join("sub/b.jar"), "tw0").unwrap(),
            |lib| fs::rename(lib.join("a.jar"), lib.join("c.jar")).unwrap(),
            |lib| fs::write(lib.join("sub/more.jar"), "").unwrap(),
            |lib| fs::remove_file(lib.join("Z.jar")).unwrap(),
        ];
        for change in changes {
            let build = build();
            change(&build.path().join("target/lib"));
            let folders = ["target/lib", "target/lib-x"];
            let (what, remedy) = refusal(build.path(), &folders, Some(ALL));
            let list = build.path().join(LIST_FILE);
            let computed = sha256_of_file(&list).unwrap();
            assert_ne!(computed, ALL);
            let words: [&str; 4] = ["mine", ALL, &computed, list.to_str().unwrap()];
            for word in words {
                assert!(what.contains(word), "{word}: {what}");
            }
            let digest = format!("libraries_sha256: {computed}");
            assert!(remedy.contains(&digest), "{remedy}");
        }
    }

    #[test]
    fn libraries_without_a_digest_are_refused_with_the_digest_to_record() {
        let build = build();
        let (what, remedy) = refusal(build.path(), &["target/lib"], None);
        assert!(what.contains("mine") && what.contains(LIB), "{what}");
        let digest = format!("libraries_sha256: {LIB}");
        assert!(remedy.contains(&digest), "{remedy}");
    }

    #[test]
    fn a_folder_that_the_build_did_not_fill_is_refused() {
        let build = build();
        let target = build.path().join("target");
        fs::create_dir_all(target.join("empty/empty")).unwrap();
        symlink(target.join("lib"), target.join("link")).unwrap();
        for name in [
            "target/empty",
            "target/absent",
            "target/link",
            "target/gateway.jar",
        ] {
            let (what, _) = refusal(build.path(), &["target/lib", name], Some(LIB));
            assert!(what.contains(&format!("no files in {name}")), "{what}");
        }
    }

    #[test]
    fn names_that_sha256sum_skips_or_escapes_are_refused() {
        let build = build();
        let link = build.path().join("target/lib/sub/link.jar");
        symlink(build.path().join("target/gateway.jar"), &link).unwrap();
        let (what, _) = refusal(build.path(), &["target/lib"], Some(LIB));
        assert!(
            what.contains("link.jar is neither a file nor a folder"),
            "{what}"
        );
        fs::remove_file(link).unwrap();
        for name in ["a\\b.jar", "a\nb.jar", "a\rb.jar"] {
            let path = build.path().join("target/lib").join(name);
            fs::write(&path, "").unwrap();
            let (what, _) = refusal(build.path(), &["target/lib"], Some(LIB));
            assert!(what.contains("in its name"), "{what}");
            fs::remove_file(path).unwrap();
        }
        let project = project(&["target/lib"], Some(LIB));
        libraries(build.path(), &project).check().unwrap();
    }

    #[test]
    fn a_build_without_pinned_libraries_is_reported_as_not_pinned() {
        let build = build();
        let unpinned = project(&[], None);
        let unpinned = libraries(build.path(), &unpinned);
        unpinned.check().unwrap();
        assert_eq!(unpinned.pinned(), "not pinned by hash");
        assert_eq!(unpinned.command(), None);
        assert!(!build.path().join(LIST_FILE).exists());
        let pinned = project(&["target/lib"], Some(LIB));
        let pinned = libraries(build.path(), &pinned).pinned();
        assert_eq!(pinned, "libraries pinned by SHA-256");
    }
}
