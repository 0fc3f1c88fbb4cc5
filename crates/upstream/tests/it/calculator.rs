//! The calculator over real sockets, asked by curl over both protocols.

use std::process::Command;

use crate::common::{Upstream, backends};
use gatebench_upstream::{Kind, Region};

const ADDITION: &str = "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body><Add xmlns=\"http://tempuri.org/\"><intA>5</intA><intB>7</intB></Add></soap:Body></soap:Envelope>";

fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl").arg("-si").args(arguments).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_answers_from_its_region() {
    for backend in backends() {
        for (region, name) in [(Region::Soap1, "soap1"), (Region::Soap2, "soap2")] {
            let upstream = Upstream::start(Kind::Calculator(region), backend);
            let url = format!("http://{}/ws", upstream.address);
            for version in ["--http1.1", "--http2-prior-knowledge"] {
                let told = curl(&[version, "--data", ADDITION, &url]).to_lowercase();
                assert!(told.contains(" 200"), "{told}");
                assert!(told.contains("content-type: text/xml;charset=utf-8\r\n"));
                assert!(told.contains(&format!("x-soap-region: {name}\r\n")));
                assert!(told.contains("content-length: 326\r\n"));
                assert!(told.contains("<addresult>12</addresult>"), "{told}");
                let zero = ADDITION.replace("Add", "Divide").replace('7', "0");
                let told = curl(&[version, "--data", &zero, &url]);
                assert!(told.contains(" 500") && told.contains("<soap:Fault>"));
                let packed = curl(&[version, "--compressed", "--data", ADDITION, &url]);
                assert!(packed.to_lowercase().contains("content-encoding: gzip\r\n"));
                assert!(packed.contains("<AddResult>12</AddResult>"), "{packed}");
            }
            let described = curl(&[&format!("{url}/calculator.wsdl")]);
            assert!(described.contains("<wsdl:definitions"));
            assert!(curl(&[&url]).contains("Allow: POST"));
        }
    }
}
