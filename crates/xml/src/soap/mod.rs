//! The SOAP/XML policies: a chain of steps over one message, which is parsed only if a step needs
//! its tree.
//!
//! Request: XSLT before → envelope schema → API schema → SOAPAction → XSLT after → route by XPath.
//! Response: XSLT before → envelope schema → API schema → XSLT after. The first error ends the
//! chain and becomes a fault in the client's format. If a Saxon helper performs a step, the caller
//! can leave the chain and re-enter it with the result.

mod action;
mod chain;
mod client;
mod content;
mod definitions;
mod envelope;
mod fault;
mod gzip;
mod options;
mod policy;
mod refresh;
mod traversal;
mod wsdl;

pub use client::Client;
pub use envelope::{SOAP_1_1_SCHEMA, SOAP_1_2_SCHEMA, Version};
pub use fault::{Culprit, Fault};
pub use options::{Options, SoapAction, Source, Target};
pub use policy::{Passed, Request, Response, SoapPolicy, UnusableOptions};
pub use refresh::Refresher;
pub use traversal::{Paused, Progress};
