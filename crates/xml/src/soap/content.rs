//! The content that passes through a chain: bytes, a tree, or both. Each is derived from the other
//! when it is needed.

use std::borrow::Cow;

use crate::document::Document;
use crate::errors::Complaints;
use crate::limits::Limits;
use crate::saxon::{Order, SaxonStylesheet};
use crate::stylesheet::{Output, Parameters, Stylesheet};

const EMPTY_NAMESPACE: &[u8] = b" xmlns=\"\"";

pub(crate) struct Content<'a> {
    form: Form<'a>,
    limits: &'a Limits,
    /// True if every ` xmlns=""` is removed from the output of transformations.
    removes_empty_namespaces: bool,
}

enum Form<'a> {
    /// Bytes, with their tree if a step has needed it.
    Text {
        bytes: Cow<'a, [u8]>,
        tree: Option<Document>,
    },
    Result {
        tree: Document,
        declaration: &'a str,
        /// True once the tree is known to represent the output text. If empty namespace
        /// declarations are removed, the tree then no longer contains any.
        is_edited: bool,
    },
}

impl<'a> Content<'a> {
    pub fn new(bytes: Cow<'a, [u8]>, limits: &'a Limits, removes_empty_namespaces: bool) -> Self {
        let form = Form::Text { bytes, tree: None };
        Self {
            form,
            limits,
            removes_empty_namespaces,
        }
    }

    /// Returns the tree that parsing the content's text yields.
    ///
    /// # Errors
    /// Fails if the text is not well-formed or exceeds a limit.
    pub fn tree(&mut self) -> Result<&mut Document, Complaints> {
        self.settle()?;
        match &mut self.form {
            Form::Result { tree, .. } => Ok(tree),
            Form::Text { bytes, tree } => {
                let parsed = match tree.take() {
                    Some(parsed) => parsed,
                    None => Document::parse(bytes, self.limits)?,
                };
                Ok(tree.insert(parsed))
            }
        }
    }

    /// Replaces a result with its text if the tree alone cannot represent the result.
    fn settle(&mut self) -> Result<(), Complaints> {
        let Form::Result {
            tree, is_edited, ..
        } = &mut self.form
        else {
            return Ok(());
        };
        if *is_edited {
            return Ok(());
        }
        *is_edited = if self.removes_empty_namespaces {
            tree.drop_empty_namespaces()
        } else {
            tree.root().is_some()
        };
        if !*is_edited {
            let bytes = Cow::Owned(self.render()?);
            self.form = Form::Text { bytes, tree: None };
        }
        Ok(())
    }

    /// Reports whether the line numbers of the tree are those of the text.
    pub fn has_lines(&self) -> bool {
        matches!(self.form, Form::Text { .. })
    }

    /// Parses the text into a new tree, whose nodes have line numbers.
    ///
    /// # Errors
    /// Fails if the text is not well-formed or exceeds a limit.
    pub fn tree_with_lines(&self) -> Result<Document, Complaints> {
        Document::parse(&self.render()?, self.limits)
    }

    /// Replaces the content with the result of a transformation.
    ///
    /// # Errors
    /// Fails if the content cannot be parsed, or if the stylesheet cannot be applied within the
    /// limits.
    pub fn transform(
        &mut self,
        stylesheet: &'a Stylesheet,
        parameters: &Parameters,
    ) -> Result<(), Complaints> {
        let limits = self.limits;
        let result = stylesheet.apply(self.tree()?, parameters, limits)?;
        let Output {
            is_text_or_html,
            declaration,
            ..
        } = &stylesheet.output;
        if *is_text_or_html {
            let mut bytes = Vec::new();
            stylesheet.write(&result, &mut bytes, limits)?;
            let bytes = Cow::Owned(bytes);
            self.form = Form::Text { bytes, tree: None };
        } else {
            self.form = Form::Result {
                tree: result,
                declaration,
                is_edited: false,
            };
        }
        Ok(())
    }

    /// Returns the order for a transformation of the text outside this process, whose result
    /// replaces this content.
    ///
    /// # Errors
    /// See [`SaxonStylesheet::order`]. Also fails if the tree has no canonical form.
    pub fn order(&self, stylesheet: &SaxonStylesheet) -> Result<Order, Complaints> {
        match &self.form {
            Form::Text { bytes, .. } => stylesheet.order(bytes, self.limits),
            Form::Result { .. } => stylesheet.order(&self.render()?, self.limits),
        }
    }

    /// Creates the content that results from a transformation outside this process.
    pub fn ordered(
        mut result: Vec<u8>,
        limits: &'a Limits,
        removes_empty_namespaces: bool,
    ) -> Self {
        if removes_empty_namespaces && result.first() == Some(&b'<') {
            remove_empty_namespaces(&mut result);
        }
        Self::new(Cow::Owned(result), limits, removes_empty_namespaces)
    }

    /// # Errors
    /// Fails if the tree has no canonical form or its text exceeds a limit.
    pub fn render(&self) -> Result<Vec<u8>, Complaints> {
        match &self.form {
            Form::Text { bytes, .. } => Ok(bytes.to_vec()),
            Form::Result {
                tree, declaration, ..
            } => {
                let mut out = Vec::with_capacity(1024);
                out.extend_from_slice(declaration.as_bytes());
                tree.write_canonical(&mut out, self.limits)?;
                if self.removes_empty_namespaces {
                    remove_empty_namespaces(&mut out);
                }
                Ok(out)
            }
        }
    }

    /// Returns the text, borrowed if the message is unchanged.
    ///
    /// # Errors
    /// See [`render`](Self::render).
    pub fn into_text(self) -> Result<Cow<'a, [u8]>, Complaints> {
        match self.form {
            Form::Text { bytes, .. } => Ok(bytes),
            Form::Result { .. } => self.render().map(Cow::Owned),
        }
    }
}

fn remove_empty_namespaces(text: &mut Vec<u8>) {
    let mut kept = 0;
    let mut read = 0;
    while read < text.len() {
        if text[read] == b' ' && text[read..].starts_with(EMPTY_NAMESPACE) {
            read += EMPTY_NAMESPACE.len();
        } else {
            text[kept] = text[read];
            kept += 1;
            read += 1;
        }
    }
    text.truncate(kept);
}

#[cfg(test)]
mod tests;
