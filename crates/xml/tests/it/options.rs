//! Tests the options of a chain.

use gatebench_xml::soap::Source;

#[test]
fn text_and_locations_are_distinguished() {
    assert_eq!(Source::detect("\n <a/>"), Source::Text("\n <a/>".into()));
    assert_eq!(Source::detect(" a.wsdl "), Source::At("a.wsdl".into()));
}
