//! Stylesheets that transform XML responses.

use gatebench_model::policy::XsltPolicy;
use gatebench_xml::{Limits, Transform};

use super::chains::OnDisk;
use crate::config::ConfigError;
use crate::message::{Collected, Refusal};

#[derive(Debug, Default)]
pub(crate) struct Stylesheets(Vec<Transform>);

impl Stylesheets {
    /// Adds the stylesheet of a policy, for responses of at most this many bytes.
    pub(crate) fn add(
        &mut self,
        policy: &XsltPolicy,
        body_bytes: usize,
    ) -> Result<(), Vec<ConfigError>> {
        let params = policy.params.iter();
        let params = params.map(|(name, value)| (name.as_str(), value.as_str()));
        let limits = Limits::for_bodies_of(body_bytes);
        let compiled = Transform::compile(&policy.stylesheet, params, &OnDisk, limits)
            .map_err(|why| ConfigError::unusable(why.to_string()).below("/stylesheet"))?;
        self.0.push(compiled);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Transforms a response with all stylesheets, one after another. An empty body is kept.
    pub(crate) fn transform(&self, response: &mut Collected) -> Result<(), Box<Refusal>> {
        if self.is_empty() || response.body.is_empty() {
            return Ok(());
        }
        let made = Transform::apply_all(&self.0, &response.body);
        let made = made.map_err(|why| {
            let failed = "a stylesheet failed on the upstream's response";
            Refusal::new(500, format!("{failed}: {why}"))
        })?;
        response.body = made.body;
        if made.media_type.is_some() || made.charset.is_some() {
            let before = response.field("Content-Type").unwrap_or_default();
            let now = content_type(before, made.media_type.as_deref(), made.charset.as_deref());
            response.set_field("Content-Type", &now);
        }
        Ok(())
    }
}

/// Replaces the media type, the charset, or both in a Content-Type, and drops other parameters.
fn content_type(before: &str, media_type: Option<&str>, charset: Option<&str>) -> String {
    let (essence, parameters) = before.split_once(';').unwrap_or((before, ""));
    let said = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.eq_ignore_ascii_case("charset")
            .then(|| value.trim_matches('"'))
    });
    let media_type = media_type.unwrap_or(essence.trim());
    match charset.or(said) {
        Some(charset) => format!("{media_type}; charset={charset}"),
        None => media_type.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::content_type;

    #[test]
    fn settings_that_a_stylesheet_omits_are_kept() {
        let latin = "text/xml; charset=\"ISO-8859-1\"";
        let html = Some("text/html");
        for (before, media_type, charset, expected) in [
            ("text/xml", html, None, "text/html"),
            (latin, html, None, "text/html; charset=ISO-8859-1"),
            (latin, None, Some("UTF-8"), "text/xml; charset=UTF-8"),
            ("", html, Some("UTF-8"), "text/html; charset=UTF-8"),
        ] {
            assert_eq!(content_type(before, media_type, charset), expected);
        }
    }
}
