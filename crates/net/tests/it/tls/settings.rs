//! Tests which settings are accepted, and that errors in the settings name their cause.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::*;

fn client_error(change: impl FnOnce(&mut ClientSettings), host: &str) -> String {
    let mut settings = ClientSettings {
        verify: Verify::Skip,
        ..ClientSettings::default()
    };
    change(&mut settings);
    ClientContext::new(&settings, host).unwrap_err().to_string()
}

#[test]
fn errors_of_settings_name_their_cause() {
    let said = client_error(
        |it| it.verify = Verify::Ca(Pem::new("ca.pem", "nonsense")),
        "h",
    );
    assert!(said.starts_with("ca.pem: no certificate found; "), "{said}");

    let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
    let said = client_error(|it| it.verify = Verify::Ca(Pem::new("cut.pem", cut)), "h");
    assert!(said.starts_with("cut.pem: "), "{said}");

    let not_x509 = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let said = client_error(
        |it| it.verify = Verify::Ca(Pem::new("odd.pem", not_x509)),
        "h",
    );
    assert!(said.starts_with("odd.pem: "), "{said}");

    let said = client_error(|_| (), "not a name");
    assert!(
        said.starts_with("the server name 'not a name' is neither"),
        "{said}"
    );

    let said = client_error(
        |it| (it.min, it.max) = (Version::Tls13, Version::Tls12),
        "h",
    );
    assert!(said.contains("at least 1.3 and at most 1.2"), "{said}");

    let missing = Pem::read("/nonexistent/ca.pem".as_ref())
        .unwrap_err()
        .to_string();
    assert!(missing.starts_with("/nonexistent/ca.pem: "), "{missing}");
}

#[test]
fn a_key_is_required_and_must_match_its_certificate() {
    let authority = Authority::new("authority");
    let (one, other) = (authority.issue(&["h"]), authority.issue(&["h"]));

    let swapped = Identity {
        chain: one.chain.clone(),
        key: other.key,
    };
    let error = ServerContext::new(&ServerSettings::new(swapped.clone())).unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with("cert.pem: the first certificate does not match the key in key.pem"),
        "{said}"
    );
    assert_eq!(client_error(|it| it.identity = Some(swapped), "h"), said);

    let keyless = Identity {
        chain: one.chain.clone(),
        key: one.chain,
    };
    let said = ServerContext::new(&ServerSettings::new(keyless))
        .unwrap_err()
        .to_string();
    assert!(
        said.starts_with("cert.pem: no private key found; "),
        "{said}"
    );
}

#[test]
fn a_certificate_in_der_is_accepted() {
    let authority = Authority::new("authority");
    let der = CertificateDer::from_pem_slice(&authority.pem().bytes).unwrap();
    let settings = ClientSettings {
        verify: Verify::Ca(Pem::new("ca.der", der.to_vec())),
        ..ClientSettings::default()
    };
    let client = ClientContext::new(&settings, "localhost").unwrap();
    let server = ServerContext::new(&ServerSettings::new(authority.issue(&["localhost"]))).unwrap();
    Pair::ready(&client, &server);
}

#[test]
fn version_numbers_are_read_back() {
    for version in Version::ALL {
        assert_eq!(Version::from_number(version.as_str()), Some(version));
    }
    assert_eq!(Version::from_number("1.1"), None);
}
