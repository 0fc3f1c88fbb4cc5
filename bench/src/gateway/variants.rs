//! Variants of scenario soap-5-routes with other TTLs and other numbers of routes.

use std::path::{Path, PathBuf};

const SCENARIO: &str = include_str!("../../../scenarios/published/soap/soap-5-routes.yaml");

/// The changes to scenario soap-5-routes.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub name: &'static str,
    /// The time after which definitions are compiled again, such as `60s`.
    pub ttl: &'static str,
    pub routes: u32,
}

impl Variant {
    /// Writes the variant's file into a folder that [`link_definitions`] has prepared, and returns
    /// the path of the file.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        let path = folder.join(format!("{}.yaml", self.name));
        std::fs::write(&path, self.text())
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(path)
    }

    fn text(&self) -> String {
        SCENARIO
            .replace(
                "scenario: soap-5-routes",
                &format!("scenario: {}", self.name),
            )
            .replace("cache_ttl: 1h", &format!("cache_ttl: {}", self.ttl))
            .replace("repeat: 100", &format!("repeat: {}", self.routes))
    }
}

/// Links the definitions that the scenario names into the folder of its variants.
pub fn link_definitions(folder: &Path) -> Result<(), String> {
    let definitions =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/published/soap/definitions");
    std::os::unix::fs::symlink(definitions, folder.join("definitions"))
        .map_err(|error| format!("{} cannot be written: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_differ_by_name_ttl_and_routes() {
        let variant = Variant {
            name: "other",
            ttl: "1s",
            routes: 100,
        };
        let text = variant.text();
        assert!(text.contains("\nscenario: other\n"));
        assert_eq!(text.matches("cache_ttl: 1s").count(), 2);
        assert_eq!(text.matches("repeat: 100").count(), 3);
        let alone = Variant {
            routes: 1,
            ..variant
        };
        assert_eq!(alone.text().matches("repeat: 1\n").count(), 3);
    }
}
