//! Imports the entities of Kong's declarative configuration or of a decK file.

mod access;
mod plugins;
mod routes;
mod soap;
mod transformers;

use std::collections::BTreeMap;

use gatebench_config::{Node, read_tree};
use gatebench_model::Consumer;

use crate::api::Api;
use crate::error::ImportError;
use crate::folder::Folder;
use crate::keys::Keys;
use crate::log::Log;
use crate::name::{check_user_name, slug};
use crate::options::Options;
use access::Groups;
use plugins::Plugin;
use routes::Reader;

/// The prefixes of the supported format versions.
const VERSIONS: [&str; 3] = ["1.", "2.", "3."];

/// Keys of a file that have no effect in a scenario.
const IGNORED: [&str; 13] = [
    "_transform",
    "_comment",
    "_ignore",
    "_info",
    "_konnect",
    "_workspace",
    "certificates",
    "ca_certificates",
    "snis",
    "vaults",
    "keys",
    "key_sets",
    "upstreams",
];

pub(crate) fn read(text: &str, file: &str, log: &mut Log<'_>) -> Result<Api, ImportError> {
    let root = read_tree(file, text).map_err(Box::new)?;
    let mut keys = Keys::of(&root, "the file", log);
    let version = keys.required("_format_version", log);
    if let Some(version) = version.filter(|it| !VERSIONS.iter().any(|known| it.starts_with(known)))
    {
        let message = format!("unknown format version {version}");
        let help = "convert the file to 3.0 with `deck file convert`";
        log.problem(&root.head(), message, help);
    }
    let services = keys.list("services", log);
    let routes = keys.list("routes", log);
    let consumers = keys.list("consumers", log);
    let plugins = keys.list("plugins", log);
    let acls = keys.list("acls", log);
    let mut of_file: Vec<(&str, &Node)> = Vec::new();
    for kind in CREDENTIALS {
        of_file.extend(keys.list(kind, log).iter().map(|node| (kind, node)));
    }
    keys.ignore(&IGNORED);
    let mut api = Api {
        not_understood: keys.not_understood("", log),
        ..Api::default()
    };
    let mut credentials = Credentials::default();
    for consumer in consumers {
        credentials.read_consumer(consumer, &mut api, log);
    }
    for (kind, node) in of_file {
        let name = node.get("consumer").and_then(name_in).map(slug);
        credentials.read(kind, node, &name.unwrap_or_default(), &mut api, log);
    }
    api.consumers = credentials.consumers.into_values().collect();
    for acl in acls {
        let name = acl.get("consumer").and_then(name_in).map(slug);
        credentials.groups.add(acl, [name.unwrap_or_default()], log);
    }
    let plugins = Plugin::read_all(plugins, log);
    let mut reader = Reader::new(plugins, credentials.secrets, credentials.groups);
    for service in services {
        reader.service(service, &mut api, log);
    }
    for route in routes {
        reader.route_at_top(route, &mut api, log);
    }
    reader.finish(&mut api, log);
    Ok(api)
}

/// The secrets that consumers sign tokens with, each with the issuer of those tokens.
pub(crate) type TokenSecrets = Vec<(String, Option<String>)>;

/// Returns the name or identifier in a reference to an entity: a plain name, `{name: ...}` or
/// `{id: ...}`.
pub(crate) fn name_in(node: &Node) -> Option<&str> {
    let named = node.get("name").or_else(|| node.get("id"));
    named.unwrap_or(node).text()
}

/// The keys under which a consumer or the file lists credentials.
const CREDENTIALS: [&str; 3] = [
    "keyauth_credentials",
    "basicauth_credentials",
    "jwt_secrets",
];

#[derive(Default)]
struct Credentials {
    consumers: BTreeMap<String, Consumer>,
    secrets: TokenSecrets,
    groups: Groups,
}

impl Credentials {
    fn consumer(&mut self, name: &str) -> &mut Consumer {
        let new = || Consumer {
            name: name.to_owned(),
            ..Consumer::default()
        };
        self.consumers.entry(name.to_owned()).or_insert_with(new)
    }

    fn read(&mut self, kind: &str, node: &Node, name: &str, api: &mut Api, log: &mut Log<'_>) {
        let mut keys = Keys::of(node, "the credential", log);
        match kind {
            "keyauth_credentials" => {
                let key = keys.required("key", log);
                self.consumer(name).keys.extend(key);
            }
            "basicauth_credentials" => {
                let (user, password) = (keys.required("username", log), keys.text("password", log));
                // In the policy, the user name is the name of a consumer.
                if let Some(user) = user {
                    check_user_name(&user, &keys.span, log);
                    self.consumer(&user).password = password;
                }
            }
            _ => {
                let issuer = keys.text("key", log);
                let algorithm = keys.text("algorithm", log);
                let algorithm = algorithm.as_deref().unwrap_or("HS256");
                match keys.text("secret", log) {
                    Some(secret) if algorithm == "HS256" => self.secrets.push((secret, issuer)),
                    _ => {
                        let what =
                            format!("tokens signed with {algorithm}, of the consumer {name}");
                        let words = log.not_understood(&keys.span, what);
                        api.not_understood.push(words);
                    }
                }
            }
        }
    }

    fn read_consumer(&mut self, node: &Node, api: &mut Api, log: &mut Log<'_>) {
        let mut keys = Keys::of(node, "the consumer", log);
        let name = keys.text("username", log);
        let name = name.or_else(|| keys.text("custom_id", log));
        let name = slug(&name.unwrap_or_default());
        let mut names = vec![name.clone()];
        for kind in CREDENTIALS {
            for credential in keys.list(kind, log) {
                self.read(kind, credential, &name, api, log);
                names.extend(credential.text_of("username").map(str::to_owned));
            }
        }
        for acl in keys.list("acls", log) {
            self.groups.add(acl, names.clone(), log);
        }
        keys.ignore(&["id", "tags", "custom_id", "created_at", "_comment"]);
        let of = format!(" of the consumer {name}");
        api.not_understood.extend(keys.not_understood(&of, log));
    }
}

pub(crate) fn import(text: &str, options: &Options) -> Result<Folder, ImportError> {
    let mut log = Log::new(&options.file, text);
    let api = read(text, &options.file, &mut log)?;
    api.write_with_config(log, "kong", "kong.yml", text, options)
}
