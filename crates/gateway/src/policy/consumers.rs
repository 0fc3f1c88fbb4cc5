//! The consumers, numbered in the order of the configuration.

use std::collections::HashMap;

use super::credential_store::CredentialStore;
use crate::config::Consumer;

/// The credentials and names of all consumers.
#[derive(Debug)]
pub(crate) struct Consumers {
    /// The consumers by API key.
    pub(crate) keys: CredentialStore,
    /// The consumers by `name:password`.
    pub(crate) credentials: CredentialStore,
    numbers: HashMap<String, u32>,
    /// The names by the number of the consumer.
    names: Vec<String>,
}

impl Consumers {
    pub(crate) fn new(consumers: &[Consumer]) -> Self {
        let numbered = || (0..).zip(consumers);
        let keys =
            numbered().flat_map(|(number, one)| one.keys.iter().map(move |key| (key, number)));
        let credentials = numbered().filter_map(|(number, one)| {
            let password = one.password.as_ref()?;
            Some((format!("{}:{password}", one.name), number))
        });
        Self {
            keys: CredentialStore::new(keys),
            credentials: CredentialStore::new(credentials),
            numbers: numbered()
                .map(|(number, one)| (one.name.clone(), number))
                .collect(),
            names: consumers.iter().map(|one| one.name.clone()).collect(),
        }
    }

    /// The number of a consumer.
    pub(crate) fn named(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// All names, by number.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of the consumer with that number.
    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str)
    }
}
