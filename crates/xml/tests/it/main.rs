//! The integration tests of this crate in one binary, with a module for each subject.
#![allow(clippy::unwrap_used)]

mod canonical_oracle;
mod chain;
mod common;
mod concurrency;
mod document_types;
mod encodings;
mod functions;
mod hostile;
mod imports;
mod limits;
mod options;
mod saxon;
mod soap_action;
mod transform;
mod transform_oracle;
mod validation_oracle;
mod ways_of_reading;
mod wsdl_2;
