//! A configuration file. All its mistakes are reported together, and the file is kept so that later
//! mistakes can be reported at their places.

use gatebench_config::{Diagnostics, Sheet, SheetKind};

use super::check;
use crate::config::{ConfigErrors, GatewayConfig, schema};

/// A configuration together with the file that it was read from.
#[derive(Clone, Debug)]
pub struct Document {
    pub config: GatewayConfig,
    sheet: Sheet,
}

impl Document {
    /// The name of the file format in `gatebench schema`.
    pub const SCHEMA_WORD: &str = "reference-gateway";

    /// Parses YAML text. Mistakes are reported under the name `file`.
    ///
    /// # Errors
    /// Returns all mistakes in form and meaning, each with its place.
    pub fn read(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::judged(file, text, GatewayConfig::validate)
    }

    /// Parses YAML text, and also reports mistakes that are found only when the configuration is
    /// compiled.
    ///
    /// # Errors
    /// See [`Gateway::check`](crate::Gateway::check). Each mistake has its place.
    pub fn check(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::judged(file, text, check)
    }

    fn judged(
        file: &str,
        text: &str,
        judge: impl FnOnce(&GatewayConfig) -> Result<(), ConfigErrors>,
    ) -> Result<Self, Diagnostics> {
        let kind = SheetKind {
            title: "gateway's configuration",
            word: Self::SCHEMA_WORD,
            schema: schema::form(),
        };
        let mut sheet = Sheet::open(file, text, kind)?;
        let config: Option<GatewayConfig> = sheet.value();
        if let Some(config) = &config
            && let Err(wrong) = judge(config)
        {
            report(&mut sheet, &wrong);
        }
        sheet.finish()?;
        let config = config.expect("a sheet without a mistake has a value");
        Ok(Self { config, sheet })
    }

    /// Adds places in the file to mistakes that were found only when the configuration was
    /// compiled; returns `None` if there are no mistakes.
    pub fn mistakes(&self, wrong: &ConfigErrors) -> Option<Diagnostics> {
        let mut sheet = self.sheet.clone();
        report(&mut sheet, wrong);
        sheet.finish().err()
    }
}

fn report(sheet: &mut Sheet, wrong: &ConfigErrors) {
    for mistake in &wrong.0 {
        sheet.report(&mistake.at, &mistake.message, mistake.remedy.as_deref());
    }
}

impl GatewayConfig {
    /// Parses a YAML or JSON configuration without keeping its file.
    ///
    /// # Errors
    /// See [`Document::read`].
    pub fn parse(text: &str) -> Result<Self, Diagnostics> {
        Ok(Document::read("gateway.yaml", text)?.config)
    }

    /// Returns the JSON Schema of the file. It accepts some files that [`Document::read`] rejects,
    /// because a schema cannot express every rule, for example that a route's upstream must be
    /// defined.
    pub fn json_schema() -> serde_json::Value {
        schema::whole()
    }
}
