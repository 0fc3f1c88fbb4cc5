//! Bodies that are expensive to validate against a schema.

use super::{Body, End, Shape, Way, each, soap};

const OWN: &str = "own";

const fn ends(name: &'static str, body: fn() -> String) -> Shape {
    Shape {
        name,
        source: OWN,
        way: Way::Typed,
        body: Body::Built(body),
        end: End::Either,
    }
}

fn list(items: &str) -> String {
    soap(&format!(
        "<list xmlns='urn:t' xmlns:t='urn:t' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'>{items}</list>"
    ))
}

/// Repeats a unit as often as the limits on nodes and on bytes allow.
fn many(unit: &str, nodes_each: usize) -> String {
    list(&unit.repeat((49_900 / nodes_each).min(1_040_000 / unit.len())))
}

pub const SHAPES: &[Shape] = &[
    ends("numbers, all the same", || many("<n>1</n>", 1)),
    ends("numbers, all different", || {
        list(&each(45_000, |n| format!("<n>{n}</n>")))
    }),
    ends("keys that refer to each other", || {
        list(&each(12_000, |n| {
            format!("<i k='{n}' r='{}'/>", (n * 7919) % 12_000)
        }))
    }),
    ends("keys that refer to nothing", || {
        list(&each(12_000, |n| format!("<i k='{n}' r='x{n}'/>")))
    }),
    ends("duplicate keys", || many("<i k='1'/>", 2)),
    ends("missing keys", || many("<i/>", 1)),
    ends("the last of many choices", || many("<c39>x</c39>", 1)),
    ends("none of many choices", || many("<c40>x</c40>", 1)),
    ends("a text split by comments", || {
        list(&format!("<c>{}</c>", "xxxxxxxxxxxxx<!---->".repeat(49_000)))
    }),
    ends("a text split by instructions", || {
        list(&format!("<c>{}</c>", "xxxxxxxxxxxxxxx<?p?>".repeat(49_000)))
    }),
    ends("a number split by comments", || {
        list(&format!("<n>{}</n>", "1<!---->".repeat(49_000)))
    }),
    ends("elements in a text", || many("<c>x<c0/>y</c>", 2)),
    ends("all of a group, in another order", || {
        many("<all><a6/><a5/><a4/><a3/><a2/><a1/></all>", 7)
    }),
    ends("all of a group, twice", || many("<all><a1/><a1/></all>", 3)),
    ends("a list of numbers", || {
        list(&format!("<l>{}</l>", "1 ".repeat(500_000)))
    }),
    ends("a list of strings that are not numbers", || {
        list(&format!("<l>{}</l>", "x ".repeat(500_000)))
    }),
    ends("lists", || many("<l>1 2 3 4 5 6 7</l>", 1)),
    ends("unions", || many("<u>2024-02-29</u>", 1)),
    ends("unions whose last type matches", || {
        many("<u> a  b </u>", 1)
    }),
    ends("wrong numbers", || many("<n>x</n>", 1)),
    ends("long numbers", || {
        list(&format!("<n>{}</n>", "1".repeat(1_000_000)))
    }),
    ends("long floating numbers", || {
        list(&format!("<f>{}</f>", "1".repeat(1_000_000)))
    }),
    ends("times", || many("<d>2024-02-29T23:59:59.999Z</d>", 1)),
    ends("long times", || {
        list(&format!(
            "<d>2024-02-29T23:59:59.{}Z</d>",
            "9".repeat(1_000_000)
        ))
    }),
    ends("base64", || {
        list(&format!("<b>{}</b>", "QUJD".repeat(250_000)))
    }),
    ends("base64 with blanks", || {
        list(&format!("<b>{}</b>", "Q U J D ".repeat(125_000)))
    }),
    ends("qualified names", || many("<q>t:a</q>", 1)),
    ends("qualified names with an unbound prefix", || {
        many("<q>z:a</q>", 1)
    }),
    ends("addresses", || many("<x>http://a.test/b?c=d#e</x>", 1)),
    ends("a long address", || {
        list(&format!("<x>http://a.test/{}</x>", "a/../".repeat(200_000)))
    }),
    ends("a pattern on a long text", || {
        list(&format!("<p>A{}</p>", "-1".repeat(500_000)))
    }),
    ends("a pattern on a long text that does not match", || {
        list(&format!("<p>A{}-</p>", "-1".repeat(500_000)))
    }),
    ends("unknown attributes", || {
        many("<i k='1' y1='' y2='' y3='' y4='' y5='' y6='' y7=''/>", 9)
    }),
    ends("text where none is allowed", || {
        many("<i k='1'>x<j/>x</i>", 3)
    }),
    ends("texts between elements", || many("x<c0/>", 1)),
    ends("types by name", || {
        many("<i xsi:type='t:more' m='1' k='1'/>", 4)
    }),
    ends("types by name that do not fit", || {
        many("<i xsi:type='t:code' k='1'/>", 3)
    }),
    ends("types by unknown names", || {
        many("<i xsi:type='t:none'/>", 2)
    }),
    ends("nil elements", || many("<i xsi:nil='true' k='1'/>", 3)),
    ends("nil elements with content", || {
        many("<i xsi:nil='true' k='1'><j/>x</i>", 4)
    }),
    ends("anything", || {
        list(&format!("<mixed>{}</mixed>", "x<any/>".repeat(49_000)))
    }),
    ends("anything with attributes", || {
        list(&format!(
            "<mixed>{}</mixed>",
            "<any a='' b='' c=''/>".repeat(12_000)
        ))
    }),
    ends("elements of an item", || {
        list(&format!("<i k='1'>{}</i>", "<j>x</j>".repeat(49_000)))
    }),
    ends("the location of another schema", || {
        many(
            "<c xsi:schemaLocation='urn:x http://127.0.0.1:1/x.xsd'>x</c>",
            2,
        )
    }),
];
