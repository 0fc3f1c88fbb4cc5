//! Finds the tables of a document.

mod csv;
mod json;
mod markdown;
mod siege;
mod wrk;

use crate::AuditError;
use crate::table::Table;

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values whose first line, apart from comments, contains the headings.
    Csv,
    /// JSON that contains lists of objects, or objects of lists.
    Json,
    /// Text that contains Markdown tables, or output of wrk or siege.
    Markdown,
}

impl Form {
    /// Derives the format from a file's extension. Files with an unknown extension are treated as
    /// Markdown.
    pub fn of_name(name: &str) -> Self {
        match name.rsplit('.').next() {
            Some("csv") => Self::Csv,
            Some("json") => Self::Json,
            _ => Self::Markdown,
        }
    }
}

pub(crate) fn tables(text: &str, form: Form) -> Result<Vec<Table>, AuditError> {
    match form {
        Form::Csv => csv::table(text).map(|it| vec![it]),
        Form::Json => json::tables(text),
        Form::Markdown => {
            let mut tables = markdown::tables(text);
            tables.extend(wrk::table(text));
            tables.extend(siege::table(text));
            Ok(tables)
        }
    }
}
