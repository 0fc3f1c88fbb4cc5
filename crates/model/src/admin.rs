//! The calls of a scenario to a gateway's admin interface, and the HTTP requests with which a
//! gateway folder implements them.

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::route::Route;

/// A route that is created, read, updated and deleted through the gateway's admin interface, in
/// repeated rounds, after the loads of a trial. After each change, the route is requested until the
/// change has taken effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminRounds {
    /// The maximum number of rounds. No round begins more than 60 s after the first (10 s with
    /// `--quick`).
    #[schemars(range(min = 1, max = 1_000))]
    pub rounds: u32,
    /// The route as it is created.
    pub route: Route,
    /// The path that the update sets.
    #[schemars(schema_with = "schema_fragments::path")]
    pub updated_path: String,
    /// The path to request, below the route's path. The upstream must respond with 200. If the
    /// route does not exist, the gateway must respond with 404.
    #[schemars(schema_with = "schema_fragments::path")]
    pub ask: String,
    /// The interval between calls during a load [default: no calls]. The calls are the same as in
    /// the rounds, in the same order. A call waits for the response to the previous call, but not
    /// for responses to the requests of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_load_every: Option<HumanDuration>,
}

impl AdminRounds {
    pub fn updated(&self) -> Route {
        Route {
            path: self.updated_path.clone(),
            ..self.route.clone()
        }
    }
}

/// A gateway's admin interface, which accepts HTTP requests on a Unix socket. Paths and bodies are
/// templates with the same input as the folder's files, plus `route`, the route that the call
/// concerns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// The socket, in the trial's working folder.
    pub socket: String,
    /// Creates the route.
    pub create: AdminCall,
    pub read: AdminCall,
    /// Changes the route's path.
    pub update: AdminCall,
    /// Deletes the route.
    pub delete: AdminCall,
}

/// A request to an admin interface. Any status from 200 to 299 is a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCall {
    #[schemars(schema_with = "schema_fragments::method")]
    pub method: String,
    #[schemars(schema_with = "schema_fragments::path")]
    pub path: String,
    /// The body, in JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// The operations on a route, in the order of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdminVerb {
    Create,
    Read,
    /// Changes the route's path.
    Update,
    Delete,
}

impl AdminVerb {
    pub const ALL: [Self; 4] = [Self::Create, Self::Read, Self::Update, Self::Delete];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

impl Admin {
    pub fn call(&self, verb: AdminVerb) -> &AdminCall {
        match verb {
            AdminVerb::Create => &self.create,
            AdminVerb::Read => &self.read,
            AdminVerb::Update => &self.update,
            AdminVerb::Delete => &self.delete,
        }
    }
}
