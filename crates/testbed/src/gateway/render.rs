//! Renders the templates of a gateway folder. An undefined name is an error, never an empty string.

mod credential;
mod json;
mod level;
mod quote;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::{Path, PathBuf};

use gatebench_config::suggest::{listed, nearest};
use gatebench_model::gateway::{InputRoute, TemplateFile};
use gatebench_model::{GatewayInput, Policy};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value, context};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::level::Misses;
use super::folder::{Folder, SPEC_FILE};
use crate::error::DriverError;
use crate::system::digest::sha256_of;

/// The path and the text of a file, rendered from a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedFile {
    /// The path of the file, relative to the working folder.
    pub path: PathBuf,
    /// SHA-256 of the file's text, in lower-case hexadecimal.
    pub sha256: String,
    pub text: String,
    /// The ID of the group that may read the file if it contains secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

/// Renders the files of a folder, except those whose `when` is false. Writes nothing.
///
/// # Errors
/// [`DriverError::BadFile`] with the template and its line, or with `gateway.yaml`.
pub fn render(folder: &Folder, input: &GatewayInput) -> Result<Vec<RenderedFile>, DriverError> {
    let renderer = Renderer::new(folder, input)?;
    let mut files = Vec::new();
    for file in &folder.spec.files {
        if !renderer.exists(file)? {
            continue;
        }
        match &file.each {
            None => files.push(renderer.file(file, file.to().to_owned())?),
            Some(kind) => files.extend(renderer.file_for_each(kind, file)?),
        }
    }
    Ok(files)
}

pub(crate) struct Renderer<'a> {
    folder: &'a Folder,
    environment: Environment<'a>,
    context: Value,
    misses: Misses,
}

impl<'a> Renderer<'a> {
    pub(crate) fn new(folder: &'a Folder, input: &GatewayInput) -> Result<Self, DriverError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(syntax());
        // Templates quote their values with filters, because the correct quoting depends on the
        // gateway and not on the file's name.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        quote::add_filters(&mut environment);
        credential::add_filters(&mut environment);
        environment.add_filter("json", json::json);
        // Errors contain the position in the line only in debug mode.
        environment.set_debug(true);
        for (name, text) in folder.parts() {
            environment.add_template(name, text).map_err(|error| {
                let path = folder.file_path(Path::new(name));
                Fault::of(&error, text).at(path, error.line())
            })?;
        }
        let misses = Misses::default();
        let context = with_all_policy_keys(json_of(input)?);
        Ok(Self {
            folder,
            environment,
            context: level::value(context, &misses),
            misses,
        })
    }

    fn with(&self, context: Value) -> Self {
        Self {
            folder: self.folder,
            environment: self.environment.clone(),
            context,
            misses: self.misses.clone(),
        }
    }

    fn exists(&self, file: &TemplateFile) -> Result<bool, DriverError> {
        let Some(when) = &file.when else {
            return Ok(true);
        };
        let shown = self.inline("when", &format!("{{{{ 'yes' if {when} else '' }}}}"))?;
        Ok(!shown.is_empty())
    }

    fn file(&self, file: &TemplateFile, to: String) -> Result<RenderedFile, DriverError> {
        let template = &file.template;
        let text = self.text(template, self.folder.template(template)?)?;
        Ok(RenderedFile {
            path: PathBuf::from(to),
            sha256: sha256_of(text.as_bytes()),
            text,
            group: file.group,
        })
    }

    /// Renders a file once for each distinct setting that a policy has in the routes.
    fn file_for_each(
        &self,
        kind: &str,
        file: &TemplateFile,
    ) -> Result<Vec<RenderedFile>, DriverError> {
        let routes = self.context.get_attr("all_routes");
        let all = routes.and_then(|routes| quote::settings_of(&routes, kind));
        let all = all.map_err(|error| self.fault(&error, "").at(self.spec_path(), error.line()))?;
        let files = all.into_iter().zip(1..).map(|(settings, number)| {
            let one = self.with(context! { settings, number, ..self.context.clone() });
            one.file(file, one.inline("files", file.to())?)
        });
        files.collect()
    }

    /// Returns a renderer whose templates can use the name `route` in addition to the input's
    /// names.
    pub(crate) fn with_route(&self, route: &InputRoute) -> Result<Self, DriverError> {
        let route = level::value(json_of(route)?, &self.misses);
        Ok(self.with(context! { route, ..self.context.clone() }))
    }

    fn spec_path(&self) -> PathBuf {
        self.folder.file_path(Path::new(SPEC_FILE))
    }

    fn text(&self, name: &str, source: &str) -> Result<String, DriverError> {
        self.environment
            .render_named_str(name, source, &self.context)
            .map_err(|error| {
                let error = innermost(&error);
                // The mistake may be in a file that the template extends, includes or imports.
                let mut parts = self.folder.parts();
                let part = parts.find(|(part, _)| error.name() == Some(part));
                let (name, source) = part.unwrap_or((name, source));
                let path = self.folder.file_path(Path::new(name));
                self.fault(error, source).at(path, error.line())
            })
    }

    /// Renders the words of a command; `field` is the command's key in gateway.yaml.
    pub(crate) fn words(&self, field: &str, words: &[String]) -> Result<Vec<String>, DriverError> {
        words.iter().map(|word| self.inline(field, word)).collect()
    }

    /// Renders the environment variables of gateway.yaml. Those of `environment` override those of
    /// `binary.environment`.
    pub(crate) fn variables(&self) -> Result<BTreeMap<String, String>, DriverError> {
        let spec = &self.folder.spec;
        let variables = spec.binary.environment.iter().chain(&spec.environment);
        variables
            .map(|(name, value)| Ok((name.clone(), self.inline("environment", value)?)))
            .collect()
    }

    /// Renders a string of gateway.yaml; `field` is its key.
    pub(crate) fn inline(&self, field: &str, source: &str) -> Result<String, DriverError> {
        self.environment
            .render_str(source, &self.context)
            .map_err(|error| {
                let mut fault = self.fault(&error, source);
                fault.message = format!("in {field}, '{source}': {}", fault.message);
                fault.at(self.spec_path(), None)
            })
    }

    fn fault(&self, error: &minijinja::Error, source: &str) -> Fault {
        let is_undefined = error.kind() == ErrorKind::UndefinedError;
        let expression = error.range().and_then(|range| source.get(range));
        let text = expression.or_else(|| line_of(error, source));
        let miss = self
            .misses
            .take()
            .filter(|miss| is_undefined && text.is_none_or(|text| text.contains(&miss.name)));
        let Some(miss) = miss else {
            return Fault::of(error, source);
        };
        let place = place_of(error, source);
        let known = || miss.known.iter().map(String::as_str);
        let meant = nearest(&miss.name, known())
            .map_or(String::new(), |name| format!("did you mean `{name}`? "));
        Fault {
            message: format!("there is no `{}`{place}", miss.name),
            remedy: format!("{meant}the known names are {}", listed(known(), "and")),
        }
    }
}

/// Returns the innermost error, which names the file with the mistake.
fn innermost(error: &minijinja::Error) -> &minijinja::Error {
    let cause = error.source().and_then(|it| it.downcast_ref());
    cause.map_or(error, innermost)
}

struct Fault {
    message: String,
    remedy: String,
}

impl Fault {
    fn of(error: &minijinja::Error, source: &str) -> Self {
        let detail = error.detail().map_or(String::new(), |it| format!(": {it}"));
        Self {
            message: format!("{}{detail}{}", error.kind(), place_of(error, source)),
            remedy: "correct the file at that place".into(),
        }
    }

    fn at(self, path: PathBuf, line: Option<usize>) -> DriverError {
        DriverError::BadFile {
            path,
            line,
            message: self.message,
            remedy: self.remedy,
        }
    }
}

fn line_of<'s>(error: &minijinja::Error, source: &'s str) -> Option<&'s str> {
    source.lines().nth(error.line()?.checked_sub(1)?)
}

fn place_of(error: &minijinja::Error, source: &str) -> String {
    let line = line_of(error, source);
    line.map_or(String::new(), |line| format!(", in `{}`", line.trim()))
}

fn json_of(input: &impl Serialize) -> Result<Json, DriverError> {
    serde_json::to_value(input)
        .map_err(|error| DriverError::io("convert the input to JSON")(error.into()))
}

/// Returns the default syntax, except that a line with only a block tag leaves no line in the
/// output, and that the newline at the end of a template is kept.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .expect("the delimiters are the default ones")
}

/// Gives each policy a key for every kind; only one of them has a value. In templates, `{% if
/// policy.api_key %}` then works, and a misspelled kind is an error.
fn with_all_policy_keys(mut input: Json) -> Json {
    complete(&mut input["global_policies"]);
    for name in ["routes", "all_routes", "later_routes"] {
        let routes = input.get_mut(name).and_then(Json::as_array_mut);
        for route in routes.into_iter().flatten() {
            complete(&mut route["policies"]);
            complete(&mut route["own_policies"]);
        }
    }
    input
}

fn complete(policies: &mut Json) {
    let policies = policies.as_array_mut().into_iter().flatten();
    for policy in policies.filter_map(Json::as_object_mut) {
        for kind in Policy::KINDS {
            policy.entry(kind).or_insert(Json::Null);
        }
    }
}
