//! Tests the calculator over real sockets and both protocols, with curl as the client.

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
fn responses_name_the_region() {
    for backend in backends() {
        for (region, name) in [(Region::Soap1, "soap1"), (Region::Soap2, "soap2")] {
            let upstream = Upstream::start(Kind::Calculator(region), backend);
            let url = format!("http://{}/ws", upstream.address);
            for version in ["--http1.1", "--http2-prior-knowledge"] {
                let output = curl(&[version, "--data", ADDITION, &url]).to_lowercase();
                assert!(output.contains(" 200"), "{output}");
                assert!(output.contains("content-type: text/xml;charset=utf-8\r\n"));
                assert!(output.contains(&format!("x-soap-region: {name}\r\n")));
                assert!(output.contains("content-length: 326\r\n"));
                assert!(output.contains("<addresult>12</addresult>"), "{output}");
                let zero = ADDITION.replace("Add", "Divide").replace('7', "0");
                let output = curl(&[version, "--data", &zero, &url]);
                assert!(output.contains(" 500") && output.contains("<soap:Fault>"));
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
