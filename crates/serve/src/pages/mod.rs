//! The pages. Each module reads the data of a page and fills in its template.

pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod run;
pub(crate) mod start;
pub(crate) mod trial;
