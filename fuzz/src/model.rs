//! Files and templates: no text may make a parser panic, and mistakes must point into the text.

use gatebench_config::{Diagnostics, Document, parse};
use gatebench_model::template::{Piece, Template};
use gatebench_model::{GatewayFolder, LoadProfile, Published, Scenario, Suite};

/// Parses text as a scenario, a load profile, a suite, a published document and a gateway folder.
pub fn files(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    file::<Scenario>(text);
    file::<LoadProfile>(text);
    file::<Suite>(text);
    file::<Published>(text);
    file::<GatewayFolder>(text);
}

fn file<T: Document>(text: &str) {
    let Err(mistakes) = parse::<T>("any.yaml", text) else {
        return;
    };
    mistakes_of(&mistakes, text);
}

pub(crate) fn mistakes_of(mistakes: &Diagnostics, text: &str) {
    assert!(!mistakes.all().is_empty());
    for mistake in mistakes.all() {
        let span = text.get(mistake.offset..mistake.offset + mistake.length);
        assert!(span.is_some_and(|it| !it.contains('\n')), "{mistake:?}");
        assert!(!mistake.message.is_empty() && !mistake.help.is_empty());
    }
}

/// Parses text as a template. The spans of its values, or of its mistake, must be inside the text.
pub fn templates(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Template::parse(text) {
        Err(error) => assert!(text.get(error.span).is_some()),
        Ok(template) => {
            for piece in template.pieces() {
                match piece {
                    Piece::Text(piece) => assert!(!piece.is_empty()),
                    Piece::Value(value) => {
                        let span = text
                            .get(value.span.clone())
                            .expect("a span inside the text");
                        assert!(span.contains(&value.source), "{span}");
                    }
                }
            }
        }
    }
}
