//! Creates and writes the certificate of a trial.

use std::fs;
use std::path::Path;

use gatebench_model::Scenario;
use gatebench_net::tls::{Identity, self_signed};

use crate::error::DriverError;
use crate::gateway::{CERTIFICATE_FILE, KEY_FILE};
use crate::system::private::write_private;
use crate::wire::SERVER_NAME;

pub(super) fn create(scenario: &Scenario) -> Result<Option<Identity>, DriverError> {
    let transport = scenario.transport;
    let has_tls = transport.tls || transport.upstream_tls;
    let created = has_tls.then(|| self_signed(&[SERVER_NAME, "127.0.0.1"]));
    Ok(created.transpose()?)
}

pub(super) fn put(identity: &Identity, work: &Path) -> Result<(), DriverError> {
    fs::create_dir_all(work)
        .and_then(|()| fs::write(work.join(CERTIFICATE_FILE), &identity.chain.bytes))
        .and_then(|()| write_private(&work.join(KEY_FILE), &identity.key.bytes))
        .map_err(DriverError::at("write to", work))
}
