//! A configuration's file: read with every mistake at once, and asked for its places again when mistakes
//! show later.

use gatebench_config::{Diagnostics, Sheet, SheetKind};

use super::check;
use crate::config::{ConfigErrors, GatewayConfig, schema};

/// A configuration and the file that it stands in.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it says.
    pub config: GatewayConfig,
    sheet: Sheet,
}

impl Document {
    /// The word of `gatebench schema`.
    pub const SCHEMA_WORD: &str = "reference-gateway";

    /// Reads YAML text. `file` is the name that mistakes are reported under.
    ///
    /// # Errors
    /// All mistakes, of form and of meaning, each with its place and its remedy.
    pub fn read(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::judged(file, text, GatewayConfig::validate)
    }

    /// The same for a text that is only looked at: what shows when a configuration is made ready comes with the rest.
    ///
    /// # Errors
    /// As [`Gateway::check`](crate::Gateway::check), each at its place.
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

    /// Mistakes that showed only when the configuration was made ready, at their places.
    pub fn mistakes(&self, wrong: &ConfigErrors) -> Option<Diagnostics> {
        let mut sheet = self.sheet.clone();
        report(&mut sheet, wrong);
        sheet.finish().err()
    }
}

fn report(sheet: &mut Sheet, wrong: &ConfigErrors) {
    for mistake in &wrong.0 {
        let (what, help) = mistake.parts();
        sheet.report(&mistake.at, what, help);
    }
}

impl GatewayConfig {
    /// Reads a configuration, YAML or JSON, whose file nobody asks for again.
    ///
    /// # Errors
    /// As [`Document::read`].
    pub fn parse(text: &str) -> Result<Self, Diagnostics> {
        Ok(Document::read("gateway.yaml", text)?.config)
    }

    /// The JSON Schema of the file. It refuses what reading refuses, but for what no schema can say: what one part says
    /// of another, and what stands in files and texts of other languages.
    pub fn json_schema() -> serde_json::Value {
        schema::whole()
    }
}
