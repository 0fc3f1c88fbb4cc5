//! The serialized form of a load, in which the coordinator sends it to an agent.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatebench_engine::{DataError, DataSet, Group, Load, Part, Protocol, ProxyProtocol, Target};
use gatebench_model::{Order as InOrder, Request, Shape, Source};
use gatebench_net::tls::{
    ClientContext, ClientSettings, Identity, Pem, SettingsError, Verify, Version,
};
use gatebench_net::{Backend, Peer};
use serde::{Deserialize, Serialize};

/// A load, and the part of it that the receiver sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    groups: Vec<WireGroup>,
    data: BTreeMap<String, Source>,
    warm_up: Duration,
    measure: Duration,
    drain: Duration,
    cores: Vec<usize>,
    spin: bool,
    backend: Option<String>,
    trace_tag: Option<u16>,
    shares_clock: bool,
    first_worker: usize,
    workers: usize,
    seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireGroup {
    name: String,
    target: WireTarget,
    requests: Vec<Request>,
    order: InOrder,
    shape: Shape,
    timeout: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireTarget {
    address: WirePeer,
    host: String,
    protocol: WireProtocol,
    tls: Option<WireTls>,
    /// The version of the PROXY protocol: 1 or 2.
    proxy: Option<u8>,
    sources: Vec<IpAddr>,
}

#[derive(Debug, Serialize, Deserialize)]
enum WirePeer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

#[derive(Debug, Serialize, Deserialize)]
enum WireProtocol {
    Http1,
    Http2 { streams: u32 },
    Handshakes,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireTls {
    /// The host that the settings were made for.
    host: String,
    verify: WireVerify,
    server_name: Option<String>,
    alpn: Vec<String>,
    min: String,
    max: String,
    identity: Option<[WirePem; 2]>,
    resumption: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum WireVerify {
    System,
    Ca(WirePem),
    Skip,
}

/// A certificate or key: its name and its bytes in base64.
#[derive(Debug, Serialize, Deserialize)]
struct WirePem {
    name: String,
    bytes: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    #[error(transparent)]
    Tls(#[from] SettingsError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("the load contains {0}, which this program does not support")]
    Unknown(String),
}

impl Order {
    pub(crate) fn new(load: &Load, part: Part, cores: Vec<usize>, trace_tag: Option<u16>) -> Self {
        Self {
            groups: load.groups.iter().map(WireGroup::of).collect(),
            data: load.data.sources(),
            warm_up: load.warm_up,
            measure: load.measure,
            drain: load.drain,
            cores,
            spin: load.spin,
            backend: load.backend.map(|it| it.as_str().to_owned()),
            trace_tag,
            shares_clock: load.shares_clock,
            first_worker: part.first_worker,
            workers: part.workers,
            seed: load.seed,
        }
    }

    pub(crate) fn into_load(self) -> Result<Load, OrderError> {
        let groups = self.groups.into_iter().map(WireGroup::into_group);
        Ok(Load {
            groups: groups.collect::<Result<_, _>>()?,
            data: Arc::new(DataSet::new(&self.data)?),
            warm_up: self.warm_up,
            measure: self.measure,
            drain: self.drain,
            cores: self.cores,
            spin: self.spin,
            backend: self.backend.as_deref().map(backend).transpose()?,
            trace_tag: self.trace_tag,
            shares_clock: self.shares_clock,
            part: Some(Part {
                first_worker: self.first_worker,
                workers: self.workers,
            }),
            seed: self.seed,
        })
    }
}

pub(crate) fn backend(name: &str) -> Result<Backend, OrderError> {
    let mut known = [Backend::Uring, Backend::Epoll].into_iter();
    let found = known.find(|it| it.as_str() == name);
    found.ok_or_else(|| OrderError::Unknown(format!("the event loop '{name}'")))
}

impl WireGroup {
    fn of(group: &Group) -> Self {
        Self {
            name: group.name.clone(),
            target: WireTarget::of(&group.target),
            requests: group.requests.clone(),
            order: group.order,
            shape: group.shape.clone(),
            timeout: group.timeout,
        }
    }

    fn into_group(self) -> Result<Group, OrderError> {
        Ok(Group {
            name: self.name,
            target: self.target.into_target()?,
            requests: self.requests,
            order: self.order,
            shape: self.shape,
            timeout: self.timeout,
        })
    }
}

impl WireTarget {
    fn of(target: &Target) -> Self {
        Self {
            address: match &target.address {
                Peer::Tcp(address) => WirePeer::Tcp(*address),
                Peer::Unix(path) => WirePeer::Unix(path.clone()),
            },
            host: target.host.clone(),
            protocol: match target.protocol {
                Protocol::Http1 => WireProtocol::Http1,
                Protocol::Http2 { streams } => WireProtocol::Http2 { streams },
                Protocol::Handshakes => WireProtocol::Handshakes,
            },
            tls: target.tls.as_ref().map(WireTls::of),
            proxy: target.proxy.map(|version| match version {
                ProxyProtocol::V1 => 1,
                ProxyProtocol::V2 => 2,
            }),
            sources: target.sources.clone(),
        }
    }

    fn into_target(self) -> Result<Target, OrderError> {
        Ok(Target {
            address: match self.address {
                WirePeer::Tcp(address) => Peer::Tcp(address),
                WirePeer::Unix(path) => Peer::Unix(path),
            },
            host: self.host,
            protocol: match self.protocol {
                WireProtocol::Http1 => Protocol::Http1,
                WireProtocol::Http2 { streams } => Protocol::Http2 { streams },
                WireProtocol::Handshakes => Protocol::Handshakes,
            },
            tls: self.tls.map(WireTls::into_context).transpose()?,
            proxy: match self.proxy {
                None => None,
                Some(1) => Some(ProxyProtocol::V1),
                Some(2) => Some(ProxyProtocol::V2),
                Some(version) => {
                    return Err(OrderError::Unknown(format!("PROXY version {version}")));
                }
            },
            sources: self.sources,
        })
    }
}

impl WireTls {
    fn of(context: &ClientContext) -> Self {
        let settings = context.settings();
        let alpn = settings.alpn.iter();
        Self {
            host: context.host().to_owned(),
            verify: match &settings.verify {
                Verify::System => WireVerify::System,
                Verify::Ca(pem) => WireVerify::Ca(WirePem::of(pem)),
                Verify::Skip => WireVerify::Skip,
            },
            server_name: settings.server_name.clone(),
            alpn: alpn.map(|name| STANDARD.encode(name)).collect(),
            min: settings.min.as_str().to_owned(),
            max: settings.max.as_str().to_owned(),
            identity: settings
                .identity
                .as_ref()
                .map(|it| [WirePem::of(&it.chain), WirePem::of(&it.key)]),
            resumption: settings.resumption,
        }
    }

    fn into_context(self) -> Result<ClientContext, OrderError> {
        let version = |number: &str| {
            let known = Version::from_number(number);
            known.ok_or_else(|| OrderError::Unknown(format!("TLS {number}")))
        };
        let identity = match self.identity {
            None => None,
            Some([chain, key]) => Some(Identity {
                chain: chain.into_pem()?,
                key: key.into_pem()?,
            }),
        };
        let settings = ClientSettings {
            verify: match self.verify {
                WireVerify::System => Verify::System,
                WireVerify::Ca(pem) => Verify::Ca(pem.into_pem()?),
                WireVerify::Skip => Verify::Skip,
            },
            server_name: self.server_name,
            alpn: self
                .alpn
                .iter()
                .map(|it| decode(it))
                .collect::<Result<_, _>>()?,
            min: version(&self.min)?,
            max: version(&self.max)?,
            identity,
            resumption: self.resumption,
        };
        Ok(ClientContext::new(&settings, &self.host)?)
    }
}

impl WirePem {
    fn of(pem: &Pem) -> Self {
        Self {
            name: pem.name.clone(),
            bytes: STANDARD.encode(&pem.bytes),
        }
    }

    fn into_pem(self) -> Result<Pem, OrderError> {
        Ok(Pem::new(self.name, decode(&self.bytes)?))
    }
}

fn decode(text: &str) -> Result<Vec<u8>, OrderError> {
    let decoded = STANDARD.decode(text);
    decoded.map_err(|error| OrderError::Unknown(format!("bytes that are not base64 ({error})")))
}

#[cfg(test)]
mod tests {
    use gatebench_model::load::Open;
    use gatebench_net::tls::self_signed;

    use super::*;

    #[test]
    fn a_load_survives_the_round_trip() {
        let identity = self_signed(&["localhost"]).unwrap();
        let settings = ClientSettings {
            verify: Verify::Ca(identity.chain.clone()),
            server_name: Some("localhost".into()),
            alpn: vec![b"h2".to_vec()],
            identity: Some(identity),
            resumption: false,
            ..ClientSettings::default()
        };
        let mut target = Target::new(SocketAddr::from(([127, 0, 0, 1], 80)), "a.test");
        target.tls = Some(ClientContext::new(&settings, "a.test").unwrap());
        target.protocol = Protocol::Http2 { streams: 7 };
        target.proxy = Some(ProxyProtocol::V2);
        target.sources = vec![IpAddr::from([127, 0, 0, 2])];
        let list = serde_json::json!({"names": {"list": {"values": ["a", "b"]}}});
        let sources: BTreeMap<String, Source> = serde_json::from_value(list).unwrap();
        let load = Load {
            groups: vec![Group {
                name: "all".into(),
                target,
                requests: vec![Request::new("GET", "/{{names}}")],
                order: InOrder::Random,
                shape: Shape::Open(Open::new(12.5)),
                timeout: Duration::from_millis(1_500),
            }],
            data: Arc::new(DataSet::new(&sources).unwrap()),
            warm_up: Duration::from_millis(1),
            measure: Duration::from_secs(2),
            drain: Duration::from_secs(3),
            cores: vec![0],
            spin: true,
            backend: Some(Backend::Epoll),
            trace_tag: Some(3),
            shares_clock: true,
            part: None,
            seed: 9,
        };
        let part = Part {
            first_worker: 2,
            workers: 5,
        };
        let order = Order::new(&load, part, vec![4, 5], Some(8));
        let text = serde_json::to_string(&order).unwrap();
        let order: Order = serde_json::from_str(&text).unwrap();
        let received = order.into_load().unwrap();
        let tls = received.groups[0].target.tls.as_ref().unwrap();
        assert_eq!((tls.settings(), tls.host()), (&settings, "a.test"));
        let expected = Load {
            cores: vec![4, 5],
            trace_tag: Some(8),
            part: Some(part),
            ..load.clone()
        };
        let shown = |load: &Load| {
            let mut load = load.clone();
            load.groups[0].target.tls = None;
            format!("{load:?}")
        };
        assert_eq!(shown(&received), shown(&expected));
    }
}
