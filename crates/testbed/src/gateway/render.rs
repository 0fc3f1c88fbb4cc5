//! Templates to files. An undefined name is an error, never an empty string.

mod credential;
mod level;
mod quote;

use std::collections::BTreeMap;
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

/// A file made from a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedFile {
    /// Where it is, relative to the working folder.
    pub path: PathBuf,
    /// SHA-256 of its text, in lower-case hexadecimal.
    pub sha256: String,
    /// Its text.
    pub text: String,
}

/// Renders all files of a folder, without writing them.
///
/// # Errors
/// [`DriverError::BadFolder`] with the template and its line.
pub fn render(folder: &Folder, input: &GatewayInput) -> Result<Vec<RenderedFile>, DriverError> {
    let renderer = Renderer::new(folder, input)?;
    let mut files = Vec::new();
    for file in &folder.spec.files {
        match &file.each {
            None => files.push(renderer.file(&file.template, file.to.clone())?),
            Some(kind) => files.extend(renderer.file_for_each(kind, file)?),
        }
    }
    Ok(files)
}

/// Renders what one folder holds from one input.
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
        // Quoting is the template's own, by filters: what is right depends on the gateway, not on the file's name.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        quote::add_filters(&mut environment);
        credential::add_filters(&mut environment);
        // Errors tell the place in the line only so.
        environment.set_debug(true);
        for (name, text) in folder.parts() {
            environment
                .add_template(name, text)
                .map_err(|error| wrong_part(folder, name, text, &error))?;
        }
        let misses = Misses::default();
        let context = serde_json::to_value(input)
            .map_err(|error| DriverError::io("describing the input")(error.into()))?;
        Ok(Self {
            folder,
            environment,
            context: level::value(with_all_policy_keys(context), &misses),
            misses,
        })
    }

    fn file(&self, template: &str, to: String) -> Result<RenderedFile, DriverError> {
        let text = self.text(template, self.folder.template(template)?)?;
        Ok(RenderedFile {
            path: PathBuf::from(to),
            sha256: sha256_of(text.as_bytes()),
            text,
        })
    }

    /// Renders a file for each different settings of a policy, of all routes.
    fn file_for_each(
        &self,
        kind: &str,
        file: &TemplateFile,
    ) -> Result<Vec<RenderedFile>, DriverError> {
        let routes = self.context.get_attr("all_routes");
        let all = routes.and_then(|routes| quote::settings_of(&routes, kind));
        let all = all.map_err(|error| self.told(&error, "").at(self.spec_path(), error.line()))?;
        let made = all.into_iter().zip(1..).map(|(settings, number)| {
            let one = Self {
                folder: self.folder,
                environment: self.environment.clone(),
                context: context! { settings, number, ..self.context.clone() },
                misses: self.misses.clone(),
            };
            one.file(&file.template, one.inline("files", &file.to)?)
        });
        made.collect()
    }

    /// The same with one more name, `route`.
    pub(crate) fn with_route(&self, route: &InputRoute) -> Result<Self, DriverError> {
        let route = serde_json::to_value(route)
            .map_err(|error| DriverError::io("describing a route")(error.into()))?;
        let route = level::value(route, &self.misses);
        Ok(Self {
            folder: self.folder,
            environment: self.environment.clone(),
            context: context! { route, ..self.context.clone() },
            misses: self.misses.clone(),
        })
    }

    fn spec_path(&self) -> PathBuf {
        self.folder.file_path(Path::new(SPEC_FILE))
    }

    /// Renders a file of the folder.
    fn text(&self, name: &str, source: &str) -> Result<String, DriverError> {
        self.environment
            .render_named_str(name, source, &self.context)
            .map_err(|error| {
                // A mistake may be in a file that this one extends or includes.
                let part = self
                    .folder
                    .parts()
                    .find(|(part, _)| error.name() == Some(part));
                let (name, source) = part.unwrap_or((name, source));
                let told = self.told(&error, source);
                let path = self.folder.file_path(Path::new(name));
                told.at(path, error.line())
            })
    }

    /// Renders the words of a command; `field` is where they stand in gateway.yaml.
    pub(crate) fn words(&self, field: &str, words: &[String]) -> Result<Vec<String>, DriverError> {
        words.iter().map(|word| self.inline(field, word)).collect()
    }

    /// Renders the values of the environment variables.
    pub(crate) fn variables(&self) -> Result<BTreeMap<String, String>, DriverError> {
        let variables = &self.folder.spec.environment;
        variables
            .iter()
            .map(|(name, value)| Ok((name.clone(), self.inline("environment", value)?)))
            .collect()
    }

    /// Renders a text of gateway.yaml; `field` is where it stands.
    pub(crate) fn inline(&self, field: &str, source: &str) -> Result<String, DriverError> {
        self.environment
            .render_str(source, &self.context)
            .map_err(|error| {
                let mut told = self.told(&error, source);
                told.message = format!("in {field}, '{source}': {}", told.message);
                told.at(self.spec_path(), None)
            })
    }

    /// What an error says, with the name that is not there where that is what is wrong.
    fn told(&self, error: &minijinja::Error, source: &str) -> Told {
        let line = error.line().and_then(|line| source.lines().nth(line - 1));
        let place = line.map_or(String::new(), |line| format!(", in `{}`", line.trim()));
        let undefined = error.kind() == ErrorKind::UndefinedError;
        let expression = error.range().and_then(|range| source.get(range));
        let miss = self.misses.take().filter(|miss| {
            undefined
                && expression
                    .or(line)
                    .is_none_or(|text| text.contains(&miss.name))
        });
        let Some(miss) = miss else {
            return Told {
                message: format!("{}{place}", describe(error)),
                remedy: "correct the file at that place".into(),
            };
        };
        let known = || miss.known.iter().map(String::as_str);
        let meant = nearest(&miss.name, known())
            .map_or(String::new(), |name| format!("did you mean `{name}`? "));
        Told {
            message: format!("there is no `{}`{place}", miss.name),
            remedy: format!("{meant}the names there are {}", listed(known(), "and")),
        }
    }
}

/// What is wrong in a file, and what to do.
struct Told {
    message: String,
    remedy: String,
}

impl Told {
    fn at(self, path: PathBuf, line: Option<usize>) -> DriverError {
        DriverError::BadFolder {
            path,
            line,
            message: self.message,
            remedy: self.remedy,
        }
    }
}

fn wrong_part(folder: &Folder, name: &str, text: &str, error: &minijinja::Error) -> DriverError {
    let line = error.line().and_then(|line| text.lines().nth(line - 1));
    let place = line.map_or(String::new(), |line| format!(", in `{}`", line.trim()));
    let told = Told {
        message: format!("{}{place}", describe(error)),
        remedy: "correct the file at that place".into(),
    };
    told.at(folder.file_path(Path::new(name)), error.line())
}

/// A line that holds only a block tag leaves no line in the file.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .expect("the delimiters are the default ones")
}

fn describe(error: &minijinja::Error) -> String {
    let detail = error.detail().map(|detail| format!(": {detail}"));
    format!("{}{}", error.kind(), detail.unwrap_or_default())
}

/// In templates a policy is a map with the key of every kind, of which one has a value and the others
/// are none: so `{% if policy.api_key %}` works, and a misspelt kind is an error.
fn with_all_policy_keys(mut input: Json) -> Json {
    for name in ["routes", "all_routes"] {
        let routes = input.get_mut(name).and_then(Json::as_array_mut);
        let policies = routes
            .into_iter()
            .flatten()
            .filter_map(|route| route.get_mut("policies")?.as_array_mut());
        for policy in policies.flatten().filter_map(Json::as_object_mut) {
            for kind in Policy::KINDS {
                policy.entry(kind).or_insert(Json::Null);
            }
        }
    }
    input
}
