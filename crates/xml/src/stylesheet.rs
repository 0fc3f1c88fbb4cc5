//! XSLT 1.0 by libxslt, without extensions and without access to anything but the input.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_ulong};
use std::ptr::NonNull;

use crate::document::Document;
use crate::errors::{Collector, Complaints, text_of};
use crate::imports::{Files, lend};
use crate::limits::Limits;
use crate::output::{Sink, append};
use crate::{ffi, process};

/// A compiled stylesheet with all its imports.
#[derive(Debug)]
pub struct Stylesheet {
    raw: NonNull<ffi::Style>,
    pub output: Output,
}

/// The settings of `xsl:output`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// True if the method is `text` or `html`, so the result is not XML.
    pub is_text_or_html: bool,
    /// The declaration at the beginning of an XML result; empty if it is omitted.
    pub declaration: String,
    pub encoding: Option<String>,
    pub media_type: Option<String>,
}

// SAFETY: after compilation, a stylesheet is only read: libxslt documents that it "can be used by
// several threads", and tests this. A transformation keeps its variables, keys and node marks in
// its own context and in its input; names go to its own dictionary, below the stylesheet's. There
// is one write: libxml2 stores in a compiled call which function it found (always the same one,
// since every context has the same functions), as one word, which readers never see half-written.
// Each new context also rewrites XPath's NaN and infinities, with the same values.
unsafe impl Send for Stylesheet {}
// SAFETY: as above.
unsafe impl Sync for Stylesheet {}

impl Drop for Stylesheet {
    fn drop(&mut self) {
        // SAFETY: this value owns the stylesheet, and results do not refer to it, since their names
        // are in reference-counted dictionaries.
        unsafe { ffi::xsltFreeStylesheet(self.raw.as_ptr()) }
    }
}

impl Stylesheet {
    /// Compiles a stylesheet at `location`. Imports and includes come from `files`.
    ///
    /// # Errors
    /// Returns the mistakes in the stylesheet. A version above 1.1 is also a mistake.
    pub fn parse(
        text: &[u8],
        location: Option<&str>,
        files: &dyn Files,
        limits: &Limits,
    ) -> Result<Self, Complaints> {
        let document = Document::parse_definition(text, limits, location)?;
        let mut collector = Collector::default();
        let style = lend(files, || {
            // SAFETY: the shim takes ownership of the document, even on failure.
            let raw = collector.listen(|_| unsafe { ffi::shim_stylesheet(document.into_raw()) });
            NonNull::new(raw).map(|raw| Self {
                raw,
                output: output_of(raw),
            })
        })?;
        match style {
            // libxslt only warns about unknown instructions and continues, but the results would be
            // wrong.
            Some(style) if collector.complaints.0.is_empty() => Ok(style),
            _ => Err(collector
                .complaints
                .or("Unable to create a style sheet parser")),
        }
    }

    /// Transforms a document. This needs exclusive access to the input, because `xsl:strip-space`
    /// edits it.
    ///
    /// # Errors
    /// Returns the failure, or the limit that ended the transformation. `xsl:message` with
    /// `terminate` is an error; other messages are dropped.
    pub fn apply(
        &self,
        input: &mut Document,
        parameters: &Parameters,
        limits: &Limits,
    ) -> Result<Document, Complaints> {
        let mut collector = Collector::default();
        let bounds = ffi::TransformLimits {
            depth_max: c_int::from(limits.transform_depth),
            sorted_max: c_int::from(limits.sorted),
            operations_max: c_ulong::from(limits.operations),
            rows_max: c_ulong::from(limits.rows),
        };
        // SAFETY: stylesheet, input, parameters and bounds outlive the call, and the input is used
        // only by this call.
        let raw = collector.listen(|report| unsafe {
            ffi::shim_transform(
                self.raw.as_ptr(),
                input.raw(),
                parameters.pointers.as_ptr(),
                &bounds,
                report,
            )
        });
        Document::own(raw).ok_or_else(|| {
            let fallback = "Unable to apply the style sheet to the XML document";
            collector.complaints.or(fallback)
        })
    }

    /// Appends a result in the form that `xsl:output` sets, which is not XML for the methods `text`
    /// and `html`.
    ///
    /// # Errors
    /// Fails if memory runs out or the result is longer than a document may be.
    pub fn write(
        &self,
        result: &Document,
        out: &mut Vec<u8>,
        limits: &Limits,
    ) -> Result<(), Complaints> {
        let mut collector = Collector::default();
        let mut sink = Sink::new(out, limits.document_bytes);
        // SAFETY: the result and the stylesheet are valid; the sink is what `append` expects, and
        // outlives the call.
        let written = collector.listen(|_| unsafe {
            let data = std::ptr::from_mut(&mut sink).cast();
            ffi::shim_save_result(result.raw(), self.raw.as_ptr(), append, data)
        });
        sink.end(written != 0, collector.complaints)
    }
}

fn output_of(style: NonNull<ffi::Style>) -> Output {
    let mut facts = ffi::OutputFacts {
        text_or_html: 0,
        omit_declaration: 0,
        standalone: 0,
        indent: 0,
        version: std::ptr::null(),
        encoding: std::ptr::null(),
        media_type: std::ptr::null(),
    };
    // SAFETY: the stylesheet is valid, and its strings are copied below.
    unsafe { ffi::shim_style_output(style.as_ptr(), &mut facts) };
    let is_text_or_html = facts.text_or_html != 0;
    let mut declaration = String::new();
    if !is_text_or_html && facts.omit_declaration == 0 {
        let version = text_of(facts.version).unwrap_or_else(|| "1.0".into());
        // The canonical form is always UTF-8. Keep the stylesheet's spelling if it also sets UTF-8.
        let encoding = text_of(facts.encoding)
            .filter(|encoding| encoding.eq_ignore_ascii_case("utf-8"))
            .unwrap_or_else(|| "utf-8".into());
        let standalone = match facts.standalone {
            0 => "",
            _ => " standalone=\"yes\"",
        };
        let end = if facts.indent != 0 { "?>\n" } else { "?>" };
        declaration =
            format!("<?xml version=\"{version}\" encoding=\"{encoding}\"{standalone}{end}");
    }
    Output {
        is_text_or_html,
        declaration,
        encoding: text_of(facts.encoding),
        media_type: text_of(facts.media_type),
    }
}

/// The parameters of a stylesheet: plain strings, which are never evaluated.
#[derive(Debug)]
pub struct Parameters {
    /// Owns the strings that `pointers` refers to.
    _texts: Vec<CString>,
    /// Alternating names and values, terminated by a null pointer.
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers refer to the strings next to them, which are never changed.
unsafe impl Send for Parameters {}
// SAFETY: as above.
unsafe impl Sync for Parameters {}

impl Default for Parameters {
    /// Creates an empty list, which still needs the null pointer that libxslt reads up to.
    fn default() -> Self {
        Self {
            _texts: Vec::new(),
            pointers: vec![std::ptr::null()],
        }
    }
}

/// The name or the value of a parameter contains a NUL character.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parameter {name} contains a NUL character")]
pub struct NulCharacter {
    pub name: String,
}

impl Parameters {
    /// # Errors
    /// Fails if a string contains a NUL character.
    pub fn new<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, NulCharacter> {
        process::start();
        let mut texts = Vec::new();
        for (name, value) in pairs {
            for text in [name, value] {
                let text = CString::new(text).map_err(|_| NulCharacter { name: name.into() })?;
                texts.push(text);
            }
        }
        let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Ok(Self {
            _texts: texts,
            pointers,
        })
    }
}
