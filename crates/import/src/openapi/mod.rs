//! Imports an OpenAPI document: creates a request for each operation, and the policy that checks
//! requests against the document.

mod operation;
mod resolve;
mod sample;
mod security;

use gatebench_config::{Node, read_tree};
use gatebench_model::policy::OpenapiPolicy;
use gatebench_model::{Check, ParityCase, Policy, Request, Scenario, UpstreamKind};
use serde_json::Value;

use crate::api::{Api, ApiRoute, route_path};
use crate::defaults;
use crate::error::ImportError;
use crate::folder::{Folder, SUITE_FILE};
use crate::keys::Keys;
use crate::log::Log;
use crate::name::path_of_url;
use crate::options::Options;
use operation::Operation;
use resolve::Document;

/// The gateways of the suite, which support the `openapi` policy.
const GATEWAYS: [&str; 1] = ["reference"];

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

const COPY: &str = "openapi.yaml";

/// The maximum number of operations with parity cases.
const PROVEN_MAX: usize = 50;

pub(crate) fn import(text: &str, options: &Options) -> Result<Folder, ImportError> {
    let mut log = Log::new(&options.file, text);
    let root = read_tree(&options.file, text).map_err(Box::new)?;
    let document = Document {
        root: root.to_json(),
    };
    let base = read_head(&root, &document, &mut log);
    let operations = operations(&root, &document, &base, &mut log);
    let (mut policies, consumers, not_understood) = security::read(&document, &root, &mut log);
    policies.push(Policy::Openapi(OpenapiPolicy {
        document: COPY.into(),
        requests: true,
        responses: false,
    }));
    let notes = log.finish()?;
    if operations.is_empty() {
        let message = "it has no operation that can be sent";
        let remedy = "name a document with an operation under `paths` whose parameters are \
                      described and whose body, if any, is JSON or a URL-encoded form";
        return Err(ImportError::nothing(&options.file, message, remedy));
    }
    let mut route = ApiRoute::new("api".into(), route_path(&base));
    // Paths in the document do not include the prefix of `servers`.
    route.route.strip_path = route.route.path != "/";
    route.route.policies = policies;
    route.not_understood = not_understood;
    let api = Api {
        consumers,
        routes: vec![route],
        ..Api::default()
    };
    let mut folder = Folder {
        notes,
        ..Folder::default()
    };
    folder.add_text(COPY, text, false);
    let title = root.at(&["info", "title"]).and_then(Node::text);
    let title = title.unwrap_or(&options.name);
    let scenario = scenario(&api, &operations, title, options);
    let file = &options.file;
    let comments = [format!(
        "Imported from {file}, with a request for each operation that can be sent."
    )];
    folder.add_scenario("scenario.yaml", &comments, &scenario)?;
    let scenarios = vec!["./scenario.yaml".to_owned()];
    let gateways = defaults::gateways(&GATEWAYS);
    let suite = defaults::suite(options, title, gateways, scenarios, "tour");
    folder.add(SUITE_FILE, &[], &suite)?;
    Ok(folder)
}

/// Checks the version, and returns the path that the operations' paths are relative to.
fn read_head(root: &Node, document: &Document, log: &mut Log<'_>) -> String {
    let mut keys = Keys::of(root, "the document", log);
    if let Some(version) = keys.text("swagger", log) {
        let message = format!("Swagger {version} is not supported");
        log.problem(&root.head(), message, "convert the document to OpenAPI 3.0");
    } else if let Some(version) = keys.required("openapi", log)
        && !["3.0", "3.1"]
            .iter()
            .any(|known| version.starts_with(known))
    {
        let message = format!("OpenAPI {version} is not supported");
        let help = "use an OpenAPI 3.0 or 3.1 document";
        log.problem(&root.head(), message, help);
    }
    let url = document.root.pointer("/servers/0/url");
    let path = path_of_url(url.and_then(Value::as_str).unwrap_or_default());
    path.trim_end_matches('/').to_owned()
}

fn operations(root: &Node, document: &Document, base: &str, log: &mut Log<'_>) -> Vec<Operation> {
    let mut operations = Vec::new();
    let Some(paths) = root.get("paths") else {
        log.problem(
            &root.span,
            "the document has no `paths`",
            "add `paths:` with an operation",
        );
        return operations;
    };
    let is_extension = |key: &str| key.starts_with("x-");
    for path in paths.entries().iter().filter(|it| !is_extension(&it.key)) {
        if !path.key.starts_with('/') {
            let message = format!("the path `{}` does not begin with /", path.key);
            log.problem(&path.key_span, message, "write a path such as /pets/{id}");
            continue;
        }
        let item = document.at(&["paths", &path.key]);
        for entry in path.value.entries() {
            if !METHODS.contains(&entry.key.as_str()) {
                continue;
            }
            match Operation::read(document, base, &path.key, &entry.key, &item) {
                Ok(operation) => operations.push(operation),
                Err(why) => {
                    let method = entry.key.to_uppercase();
                    let what = format!("{method} {}, which is not sent: {why}", path.key);
                    log.simplified(&entry.key_span, what);
                }
            }
        }
    }
    operations
}

fn scenario(api: &Api, operations: &[Operation], title: &str, options: &Options) -> Scenario {
    let mut scenario = api.scenario(&options.name, title, &api.routes, UpstreamKind::Any);
    // All operations use the credentials of the route's request.
    let sample = scenario.requests.first().cloned();
    let sample = sample.unwrap_or_else(|| Request::new("GET", "/"));
    let (_, query) = sample.path.split_once('?').unwrap_or_default();
    let with_credentials = |operation: &Operation| {
        let mut request = operation.request.clone();
        let mut headers = sample.headers.clone();
        headers.append(&mut request.headers);
        request.headers = headers;
        if !query.is_empty() {
            let separator = if request.path.contains('?') { '&' } else { '?' };
            request.path += &format!("{separator}{query}");
        }
        request
    };
    scenario.requests = operations.iter().map(with_credentials).collect();
    let refusals = scenario.parity.iter().filter(|case| !case.reaches_upstream);
    let mut parity: Vec<ParityCase> = refusals.cloned().collect();
    for (operation, request) in operations.iter().zip(&scenario.requests).take(PROVEN_MAX) {
        let name = format!("{} passes", operation.name);
        parity.push(case(name, request.clone(), None));
        if let Some(body) = &operation.wrong_body {
            let mut wrong = request.clone();
            wrong.body = Some(gatebench_model::Body::new(body.as_str()));
            let name = format!(
                "{} with a body of the wrong type is refused",
                operation.name
            );
            parity.push(case(name, wrong, Some(400)));
        }
    }
    parity.extend(unknown_method(operations, &scenario.requests));
    scenario.parity = parity;
    scenario
}

/// `refused` is the expected status if the request must be refused.
fn case(name: String, mut request: Request, refused: Option<u16>) -> ParityCase {
    if let Some(status) = refused {
        request.checks = vec![Check::Status(status)];
    }
    request.name = None;
    ParityCase::new(name, request, refused.is_none())
}

/// Returns a case that requests the first operation's path with a method that the document does not
/// describe for this path.
fn unknown_method(operations: &[Operation], requests: &[Request]) -> Option<ParityCase> {
    let first = operations.first()?;
    let is_known = |method: &str| {
        let mut same = operations.iter().filter(|it| it.path == first.path);
        same.any(|it| it.request.method == method)
    };
    let mut methods = ["PATCH", "PUT", "DELETE"].into_iter();
    let method = methods.find(|method| !is_known(method))?;
    let mut request = requests.first()?.clone();
    request.method = method.into();
    request.body = None;
    request.headers.remove("Content-Type");
    let name = format!("{method} {} is refused", first.path);
    Some(case(name, request, Some(405)))
}
