//! The pages: each module reads what its page shows and fills in its template.

pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod run;
pub(crate) mod start;
pub(crate) mod trial;
