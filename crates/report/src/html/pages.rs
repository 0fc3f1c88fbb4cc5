//! Fills in the templates of all kinds of pages.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::svg::is_forbidden;
use crate::text::{is_direction, with_units_kept};

macro_rules! templates {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../templates/", $name)))),*]
    };
}

const TEMPLATES: [(&str, &str); 5] = templates!(
    "head.html",
    "page.html",
    "chapters.html",
    "table.html",
    "method.html"
);
/// The style sheet of every page.
pub const STYLE: &str = include_str!("../../templates/style.css");

/// Fills in a template of the report or one of the `further` templates, which are pairs of name and
/// text and may include templates of the report. Templates can use `page`, and the style sheet as
/// `style`.
///
/// # Panics
/// Panics if a template is invalid or missing, or uses a field that `page` lacks.
pub fn fill(
    further: &[(&'static str, &'static str)],
    template: &str,
    page: &impl Serialize,
) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("these settings do not depend on each other");
    environment.set_syntax(syntax);
    for (name, source) in TEMPLATES.iter().chain(further).copied() {
        environment
            .add_template(name, source)
            .expect("the templates are part of the program and tested");
    }
    environment.add_filter("with_units_kept", with_units_kept);
    let page = Serde(page);
    let text = environment
        .get_template(template)
        .and_then(|template| template.render(context! { style => STYLE, page }))
        .expect("the templates use only fields that every view has");
    without_hostile(&text)
}

/// Replaces characters that may occur in a gateway's log but must not occur in a page: those that
/// XML forbids, and those that would change the direction of the text after them.
fn without_hostile(text: &str) -> String {
    text.replace(|c| is_forbidden(c) || is_direction(c), "\u{fffd}")
}
