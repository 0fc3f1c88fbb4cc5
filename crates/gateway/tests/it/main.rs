//! The integration tests of this crate in one binary, with a module for each subject.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod bounds;
mod common;
mod delays;
mod document;
mod doubles;
mod drain;
mod failures;
mod faults;
mod forwarding;
mod hostile;
mod http2;
mod openapi;
mod openapi_cases;
mod page;
mod paths;
mod policies;
mod redis;
mod reload;
mod resp;
mod routing;
#[cfg(feature = "soap")]
mod saxon;
mod schema;
mod serving;
mod slow;
#[cfg(feature = "soap")]
mod soap;
#[cfg(feature = "soap")]
mod soap_hostile;
#[cfg(feature = "soap")]
mod soap_memory;
mod spellings;
mod splice;
mod targets;
mod unread;
mod unread_memory;
mod unread_waiting;
mod upstream_tls;
mod validation;
#[cfg(feature = "soap")]
mod xslt;
