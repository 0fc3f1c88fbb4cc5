//! Creates the pods and other objects of a run in Kubernetes, through the user's `kubectl`, and
//! deletes them.
//!
//! One object, a ConfigMap, is the anchor of the run and owns all others, which are deleted with
//! it. The anchor is deleted even if gatebench is killed. The pods satisfy Pod Security
//! `restricted`, have no token for the API, and do nothing until gatebench connects to them.
//!
//! Objects are JSON values made from small types with the fields that gatebench sets. No client
//! library is used, because kubectl already handles the user's contexts, credential plug-ins and
//! proxies.

mod attach;
mod check;
mod complaint;
mod image;
mod kubectl;
mod manifest;
mod objects;
mod pods;
mod rights;
mod session;
mod testrun;

pub(crate) use attach::Watcher;
pub use check::{MINOR_MIN, NamespaceState, Node, Survey, Version, survey};
pub use image::{Image, ImageError, WrittenImage};
pub use kubectl::Kubectl;
pub(crate) use kubectl::not_found;
pub(crate) use manifest::CONTAINER;
pub use objects::{Demand, GatewayPod, Role};
pub use pods::Pods;
pub(crate) use pods::no_pod;
pub use rights::{Right, role};
pub(crate) use session::last_words;
pub use session::{Pod, Session, clean, run_name};
pub use testrun::{K6_IMAGE, K6Script, testrun};
