//! The page: one file that needs no network and no script, in light and dark, for screens of any
//! width and for paper. It is well-formed XML as well as HTML, so that a parser can prove that
//! nothing escaped its element.

mod costs;
mod evidence;
mod figures;
mod forest;
mod results;
mod told;
mod view;
mod wire;

use gatebench_analysis::Findings;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, context};

use crate::svg::is_forbidden;
use crate::text::is_direction;

const TEMPLATES: [(&str, &str); 7] = [
    ("page.html", include_str!("../../templates/page.html")),
    (
        "verdicts.html",
        include_str!("../../templates/verdicts.html"),
    ),
    ("costs.html", include_str!("../../templates/costs.html")),
    ("scale.html", include_str!("../../templates/scale.html")),
    ("table.html", include_str!("../../templates/table.html")),
    ("results.html", include_str!("../../templates/results.html")),
    (
        "evidence.html",
        include_str!("../../templates/evidence.html"),
    ),
];
const STYLE: &str = include_str!("../../templates/style.css");

/// Writes the page.
pub fn render(findings: &Findings) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("these settings do not depend on each other");
    environment.set_syntax(syntax);
    for (name, source) in TEMPLATES {
        environment
            .add_template(name, source)
            .expect("the templates are part of the program and tested");
    }
    let page = Serde(view::Page::of(findings));
    let text = environment
        .get_template("page.html")
        .and_then(|template| template.render(context! { style => STYLE, page }))
        .expect("the templates name only what the view has, whatever the findings");
    without_hostile(text)
}

/// Replaces what a gateway's log may hold and a page may not: characters that XML forbids, and those
/// that would turn the reading direction of everything after them.
fn without_hostile(text: String) -> String {
    let hostile = |character| is_forbidden(character) || is_direction(character);
    if text.contains(hostile) {
        text.replace(hostile, "\u{fffd}")
    } else {
        text
    }
}
