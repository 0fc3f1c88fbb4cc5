//! Makes container images from the programs on this machine, without a registry or a container
//! engine.
//!
//! The result is a docker-archive with one layer, which `ctr images import`, `k3s ctr images
//! import`, `kind load image-archive`, `minikube image load`, `podman load` and `docker load` read.

mod contents;
mod tar;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use self::contents::Contents;
use self::tar::{Kind, Tar, archive_bytes};
use super::manifest::USER;
use crate::gateway::{Folder, FoundBinary};
use crate::process::Launcher;
use crate::system::digest::sha256_of;
use crate::system::installed;

/// The programs that a pod's first process and the transfer of gatebench need.
const TOOLS: [&str; 8] = ["sh", "chmod", "head", "mkdir", "mv", "rm", "sleep", "wc"];

/// Certificates of public authorities, if this machine has them.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

const LAYER: &str = "layer.tar";

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A failed operation on a file, a program or a package of an image.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}")]
pub struct ImageError {
    what: String,
    source: io::Error,
}

/// The files of an image, which [`Image::write`] writes to an archive.
#[derive(Debug)]
pub struct Image {
    contents: Contents,
    /// The folders of the gateways' programs.
    folders: Vec<PathBuf>,
}

/// The size of an image on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenImage {
    /// The number of files, folders and links.
    pub files: usize,
    pub bytes: u64,
}

impl Image {
    /// Returns an image for the upstream and the load generators. It contains the tools that a pod
    /// needs and gatebench's libraries, but not gatebench, which sends its own program to the pod.
    pub fn new(launcher: &Launcher) -> Result<Self, ImageError> {
        let mut contents = Contents::default();
        for tool in TOOLS {
            // /bin is searched first, even where it is a link to /usr/bin, because scripts begin
            // with `#!/bin/sh`.
            let system = ["/bin", "/usr/bin"].map(PathBuf::from).into_iter();
            let folders = system.chain(installed::path_folders());
            let mut programs = folders.map(|folder| folder.join(tool));
            let program = programs.find(|it| it.is_file()).unwrap_or_default();
            contents
                .add_program(&program)
                .map_err(failed("read the program", tool))?;
        }
        let program = &launcher.program;
        let added = contents.add_libraries(program);
        added.map_err(failed(
            "list the libraries of",
            &program.display().to_string(),
        ))?;
        if Path::new(CERTIFICATES).is_file() {
            let added = contents.add_path(Path::new(CERTIFICATES));
            added.map_err(failed("read", CERTIFICATES))?;
        }
        let users = [("root", 0), ("nobody", 65_534), ("gatebench", USER)];
        let passwd = users.map(|(name, id)| format!("{name}:x:{id}:{id}::/tmp:/bin/sh\n"));
        let groups = users.map(|(name, id)| format!("{name}:x:{id}:\n"));
        contents.add_text("/etc/passwd", passwd.concat());
        contents.add_text("/etc/group", groups.concat());
        contents.add_shared_folder("/tmp");
        Ok(Self {
            contents,
            folders: Vec::new(),
        })
    }

    /// Adds a gateway as it is installed on this machine, with its Debian packages and the extras
    /// that were found.
    pub fn add_gateway(&mut self, folder: &Folder, found: &FoundBinary) -> Result<(), ImageError> {
        self.add_program(&found.path)?;
        self.folders.extend(found.path.parent().map(Path::to_owned));
        let install = &folder.spec.install;
        // Debian packages of a gateway that Maven builds are needed only for the build.
        let packages = install.apt.iter().filter(|_| install.maven.is_none());
        for package in packages {
            let added = self.contents.add_package(package);
            added.map_err(failed("list the files of the package", package))?;
        }
        for file in found.extra_files(folder) {
            let added = self.contents.add_path(&file);
            added.map_err(failed("read", &file.display().to_string()))?;
        }
        Ok(())
    }

    /// Adds a program with everything that it loads.
    pub fn add_program(&mut self, program: &Path) -> Result<(), ImageError> {
        let added = self.contents.add_program(program);
        added.map_err(failed("read the program", &program.display().to_string()))
    }

    /// Writes the image to a file. `name` includes the tag.
    ///
    /// # Errors
    /// A file cannot be read, or the image cannot be written.
    pub fn write(&self, name: &str, path: &Path) -> Result<WrittenImage, ImageError> {
        let written = File::create(path).and_then(|file| self.write_to(name, BufWriter::new(file)));
        written.map_err(failed("write", &path.display().to_string()))
    }

    fn write_to(&self, name: &str, out: impl Write) -> io::Result<WrittenImage> {
        let entries = self.entries();
        let bytes = archive_bytes(entries.iter().map(|(name, kind, _)| (name.as_str(), *kind)));
        let mut image = Tar::new(Counted { out, bytes: 0 });
        let layer = Kind::File {
            bytes,
            is_executable: false,
        };
        let mut digest = Sha256::new();
        image.add_written(LAYER, &layer, |out| {
            let mut layer = Tar::new(Digested {
                out,
                digest: &mut digest,
            });
            for (name, kind, path) in &entries {
                self.add_entry(&mut layer, name, kind, path)?;
            }
            layer.finish().map(drop)
        })?;
        let layer: String = digest
            .finalize()
            .iter()
            .map(|it| format!("{it:02x}"))
            .collect();
        let config = json!({
            "architecture": architecture(),
            "os": "linux",
            "config": {
                "User": USER.to_string(),
                "Env": self.environment(),
            },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        })
        .to_string();
        let config_name = format!("{}.json", sha256_of(config.as_bytes()));
        let manifest =
            json!([{ "Config": config_name, "RepoTags": [name], "Layers": [LAYER] }]).to_string();
        for (name, text) in [
            (config_name.as_str(), &config),
            ("manifest.json", &manifest),
        ] {
            let kind = Kind::File {
                bytes: text.len() as u64,
                is_executable: false,
            };
            image.add(name, &kind, text.as_bytes())?;
        }
        let mut out = image.finish()?;
        out.flush()?;
        Ok(WrittenImage {
            files: entries.len(),
            bytes: out.bytes,
        })
    }

    /// Returns the environment variables that let gatebench find the same programs in the image as
    /// on this machine.
    fn environment(&self) -> Vec<String> {
        let folders = self.folders.iter().map(|it| it.display().to_string());
        let path = folders.filter(|it| !PATH.split(':').any(|known| known == it));
        let path = Vec::from_iter(path.chain([PATH.to_owned()])).join(":");
        let data = installed::data_folder();
        let data = data.as_deref().and_then(Path::parent);
        let data = data.map(|it| format!("XDG_DATA_HOME={}", it.display()));
        std::iter::once(format!("PATH={path}"))
            .chain(data)
            .collect()
    }

    /// Returns the entries, with their names in the archive and their paths on this machine.
    fn entries(&self) -> Vec<(String, &Kind, &Path)> {
        let entries = self.contents.entries.iter();
        let named = entries.map(|(path, kind)| {
            let name = path.to_string_lossy();
            (
                name.trim_start_matches('/').to_owned(),
                kind,
                path.as_path(),
            )
        });
        named.collect()
    }

    fn add_entry<W: Write>(
        &self,
        layer: &mut Tar<W>,
        name: &str,
        kind: &Kind,
        path: &Path,
    ) -> io::Result<()> {
        match (kind, self.contents.texts.get(path)) {
            (_, Some(text)) => layer.add(name, kind, text.as_bytes()),
            (Kind::File { .. }, None) => layer.add(name, kind, File::open(path)?),
            _ => layer.add(name, kind, io::empty()),
        }
    }
}

fn failed(what: &str, object: &str) -> impl FnOnce(io::Error) -> ImageError {
    let what = format!("{what} {object}");
    move |source| ImageError { what, source }
}

/// Returns the name that images use for the processor architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Digested<'d, W> {
    out: W,
    digest: &'d mut Sha256,
}

impl<W: Write> Write for Digested<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
