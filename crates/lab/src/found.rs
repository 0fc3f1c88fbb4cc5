//! The gateways of a run: found, missing, or already running.

use std::collections::BTreeMap;
use std::path::Path;

use gatebench_drivers::{Catalogue, DriverError, Folder, Launcher};
use gatebench_model::Variant;

use crate::error::LabError;
use crate::library::is_path;
use crate::prepare::{Attach, PreparedGateway};
use crate::warning::Warning;

/// The word for every gateway that is found.
const ALL: &str = "all";
/// The label of a gateway that someone else started.
const ATTACHED: &str = "attached";

/// The variants found so far.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) variants: Vec<Variant>,
    pub(crate) gateways: BTreeMap<String, PreparedGateway>,
    pub(crate) warnings: Vec<Warning>,
}

impl Found {
    /// Adds what a word names. What the user did not name may be missing.
    pub(crate) fn add_word(
        &mut self,
        word: &str,
        named: bool,
        catalogue: &Catalogue,
        launcher: &Launcher,
    ) -> Result<(), LabError> {
        if word == ALL {
            for folder in catalogue.list()? {
                let word = folder.spec.gateway.clone();
                self.add_folder(&word, folder, false, launcher)?;
            }
            return Ok(());
        }
        if !is_path(word)
            && let Some((name, _)) = word.split_once('@')
        {
            return Err(LabError::words(
                format!("'{word}' asks for a version, and versions cannot be chosen yet"),
                format!("install the version wanted and write {name}"),
            ));
        }
        let folder = catalogue.resolve(word)?;
        // The plan is read again from another directory when a run is resumed.
        let word = if is_path(word) {
            absolute(word)
        } else {
            word.to_owned()
        };
        self.add_folder(&word, folder, named, launcher)
    }

    /// Adds a gateway that someone else started.
    pub(crate) fn add_attached(&mut self, attach: &Attach) {
        let name = self.unique_label(ATTACHED);
        self.variants.push(Variant::Attached {
            name,
            url: attach.url.clone(),
            pid: attach.pid,
        });
    }

    fn add_folder(
        &mut self,
        word: &str,
        folder: Folder,
        named: bool,
        launcher: &Launcher,
    ) -> Result<(), LabError> {
        let gateway = folder.spec.gateway.clone();
        match folder.find_binary(launcher) {
            Ok(binary) => {
                let name = self.unique_label(&gateway);
                self.variants.push(Variant::Gateway {
                    name: name.clone(),
                    folder: word.to_owned(),
                });
                self.gateways
                    .insert(name, PreparedGateway { folder, binary });
                Ok(())
            }
            Err(error @ (DriverError::BinaryMissing { .. } | DriverError::NoVersion { .. }))
                if !named =>
            {
                let (reason, remedy) = (error.to_string(), error.remedy());
                self.warnings.push(Warning::GatewayMissing {
                    gateway,
                    reason,
                    remedy,
                });
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The name itself, or with a number: the same gateway twice is how a run measures its own noise.
    fn unique_label(&self, name: &str) -> String {
        let taken = |label: &str| {
            label == Variant::Floor.label()
                || self.variants.iter().any(|known| known.label() == label)
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|label| !taken(label))
            .unwrap_or_default()
    }

    /// Sees that there is something to measure.
    pub(crate) fn must_not_be_empty(&self) -> Result<(), LabError> {
        if !self.variants.is_empty() {
            return Ok(());
        }
        let remedies: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
        Err(LabError::environment(
            "no gateway of this suite is installed",
            remedies.join("; "),
        ))
    }
}

fn absolute(path: &str) -> String {
    Path::new(path)
        .canonicalize()
        .map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}
