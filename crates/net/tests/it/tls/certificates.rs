//! CAs and the certificates that they sign.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

use super::*;

pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn pem(&self) -> Pem {
        Pem::new("ca.pem", self.0.pem())
    }

    pub(super) fn issue(&self, names: &[&str]) -> Identity {
        self.sign(Self::params(names))
    }

    /// A CA certificate, which a server must not present.
    pub(super) fn shown(&self, names: &[&str]) -> Identity {
        let mut params = Self::params(names);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        self.sign(params)
    }

    pub(super) fn issue_expired(&self, names: &[&str]) -> Identity {
        let mut params = Self::params(names);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2001, 12, 31);
        self.sign(params)
    }

    fn params(names: &[&str]) -> CertificateParams {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        CertificateParams::new(names).unwrap()
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity {
            chain: Pem::new("cert.pem", certificate.pem()),
            key: Pem::new("key.pem", key.serialize_pem()),
        }
    }
}
