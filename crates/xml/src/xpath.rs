//! Evaluates XPath 1.0 expressions.

#![allow(unsafe_code)]

use std::ffi::{CString, c_ulong};
use std::ptr::NonNull;

use crate::document::{Document, owned};
use crate::errors::{Collector, Complaints};
use crate::limits::Limits;
use crate::pool::Pool;
use crate::{ffi, process};

const EXPRESSION_BYTES_MAX: usize = 8 << 10;

/// The maximum nesting depth of parentheses and predicates, which libxml2 compiles recursively.
const NESTING_MAX: usize = 100;

/// A compiled expression with the namespaces of its prefixes.
#[derive(Debug)]
pub struct XPath {
    idle: Pool<Context>,
    raw: Expression,
    namespaces: Vec<(CString, CString)>,
}

#[derive(Debug)]
struct Expression(NonNull<ffi::Expression>);

// SAFETY: an evaluation only reads a compiled expression, except that it stores the function to
// which a call resolves, always the same one, as one word.
unsafe impl Send for Expression {}
// SAFETY: as above.
unsafe impl Sync for Expression {}

impl Drop for Expression {
    fn drop(&mut self) {
        // SAFETY: this value owns the expression.
        unsafe { ffi::xmlXPathFreeCompExpr(self.0.as_ptr()) }
    }
}

#[derive(Debug)]
struct Context(NonNull<ffi::XPathContext>);

// SAFETY: between evaluations a context refers to no document and no thread.
unsafe impl Send for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this value owns the context.
        unsafe { ffi::xmlXPathFreeContext(self.0.as_ptr()) }
    }
}

/// The reason why an evaluation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unevaluated {
    /// The document or the evaluation exceeds a limit.
    #[error("{0}")]
    BeyondLimit(Complaints),
    /// The expression cannot be evaluated for another reason, such as an unbound prefix.
    #[error("{0}")]
    Expression(Complaints),
}

impl XPath {
    /// `namespaces` contains pairs of a prefix and the name of its namespace.
    ///
    /// # Errors
    /// Fails if the expression is malformed, too long or too deeply nested. An unknown prefix is
    /// detected only during evaluation.
    pub fn compile(expression: &str, namespaces: &[(String, String)]) -> Result<Self, Complaints> {
        process::start();
        check(expression)?;
        let text = zero_free(expression)?;
        let mut collector = Collector::default();
        // SAFETY: the text outlives the call.
        let raw = collector.listen(|_| unsafe { ffi::shim_xpath(text.as_ptr()) });
        let Some(raw) = NonNull::new(raw) else {
            let fallback = format!("The XPath expression {expression} is malformed");
            return Err(collector.complaints.or(&fallback));
        };
        let raw = Expression(raw);
        let namespaces = namespaces.iter();
        let namespaces = namespaces.map(|(prefix, uri)| Ok((zero_free(prefix)?, zero_free(uri)?)));
        Ok(Self {
            idle: Pool::default(),
            raw,
            namespaces: namespaces.collect::<Result<_, Complaints>>()?,
        })
    }

    /// Returns the text of the first node, in document order, that the expression selects, or
    /// `None` if it selects none.
    ///
    /// # Errors
    /// Fails if the expression cannot be evaluated, or if the document or the evaluation exceeds a
    /// limit.
    pub fn first_text(
        &self,
        document: &Document,
        limits: &Limits,
    ) -> Result<Option<String>, Unevaluated> {
        let Some(context) = self.idle.take().or_else(|| self.context()) else {
            let why = Complaints::own(0, "There is not enough memory to evaluate the expression");
            return Err(Unevaluated::Expression(why));
        };
        let mut collector = Collector::default();
        let mut text = std::ptr::null_mut();
        // SAFETY: all pointers outlive the call; the context is used only by this call, and drops
        // its reference to the document; an evaluation does not change the tree.
        let evaluated = collector.listen(|report| unsafe {
            ffi::shim_xpath_first(
                context.0.as_ptr(),
                self.raw.0.as_ptr(),
                document.raw(),
                c_ulong::from(limits.operations),
                c_ulong::from(limits.rows),
                &mut text,
                report,
            )
        });
        let text = owned(text);
        if evaluated <= 0 || !collector.complaints.0.is_empty() {
            let fallback = "The XPath expression cannot be evaluated";
            let why = collector.complaints.or(fallback);
            return Err(match evaluated {
                ..0 => Unevaluated::BeyondLimit(why),
                _ => Unevaluated::Expression(why),
            });
        }
        self.idle.give(context);
        Ok(text)
    }

    fn context(&self) -> Option<Context> {
        // SAFETY: the call creates an object that refers to no other.
        let context = NonNull::new(unsafe { ffi::shim_xpath_context() }).map(Context)?;
        for (prefix, uri) in &self.namespaces {
            // SAFETY: the context is valid and not shared; both strings are copied.
            let added = unsafe {
                ffi::shim_xpath_namespace(context.0.as_ptr(), prefix.as_ptr(), uri.as_ptr())
            };
            if added == 0 {
                return None;
            }
        }
        Some(context)
    }
}

fn zero_free(text: &str) -> Result<CString, Complaints> {
    CString::new(text).map_err(|_| Complaints::own(0, "The text contains a NUL character"))
}

fn check(expression: &str) -> Result<(), Complaints> {
    if expression.len() > EXPRESSION_BYTES_MAX {
        let message = format!("An XPath expression is longer than {EXPRESSION_BYTES_MAX} bytes");
        return Err(Complaints::own(0, message));
    }
    let mut depth = 0_usize;
    for c in expression.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_MAX {
            let message = format!("An XPath expression is nested deeper than {NESTING_MAX}");
            return Err(Complaints::own(0, message));
        }
    }
    Ok(())
}
