//! Messages for expressions that compare each node, or each character, with every other one.

use super::{Body, End, Shape, Way, each, full, soap};

/// CWE-407, Inefficient Algorithmic Complexity.
const CWE_407: &str = "CWE-407";

const fn ends(name: &'static str, way: Way, body: fn() -> String) -> Shape {
    Shape {
        name,
        source: CWE_407,
        way,
        body: Body::Built(body),
        end: End::Either,
    }
}

/// The number of nodes that a message may have, less some for the envelope.
const NODES: usize = 49_900;

fn parents() -> String {
    soap(&"<b><i/></b>".repeat(NODES / 2))
}

fn ancestors() -> String {
    let deep = format!("{}{}", "<d>".repeat(190), "</d>".repeat(190));
    soap(&deep.repeat(NODES / 190))
}

/// Returns a message like that of [`ancestors`], but with a leaf as the first child of each
/// outermost element.
fn forks() -> String {
    let fork = format!("<d><d/>{}{}</d>", "<d>".repeat(150), "</d>".repeat(150));
    soap(&fork.repeat(NODES / 152))
}

/// Returns a message that is filled with a string and a list of characters.
fn text_and_list(text: &str, list: &str) -> String {
    soap(&format!("<t>{text}</t><f>{list}</f>"))
}

/// Returns characters of three bytes, up to 50,000 of which differ.
fn characters(count: usize) -> String {
    let code = |n: usize| char::from_u32(0x800 + u32::try_from(n % 50_000).unwrap());
    (0..count).map(|n| code(n).unwrap()).collect()
}

fn text_of_others() -> String {
    text_and_list(&"\u{ffe0}".repeat(200_000), &characters(140_000))
}

fn text_of_all() -> String {
    let text: String = characters(170_000).chars().rev().collect();
    text_and_list(&text, &characters(170_000))
}

fn text_of_ascii() -> String {
    let list: String = ('!'..='~').filter(|c| !"<>&".contains(*c)).collect();
    text_and_list(&full("~", 1_000), &list)
}

/// Returns a message in which all but the last character of the search text matches everywhere.
fn almost_everywhere() -> String {
    text_and_list(&"a".repeat(700_000), &format!("{}b", "a".repeat(300_000)))
}

fn one_key() -> String {
    soap(&"<i k='1'/>".repeat(NODES / 2))
}

fn all_keys() -> String {
    soap(&each(NODES / 2, |n| format!("<i k='{n}'/>")))
}

fn all_ids() -> String {
    soap(&each(NODES / 3, |n| {
        format!("<i xml:id='a{n}' r='a{}'/>", n * 7 % (NODES / 3))
    }))
}

fn ids_again_and_again() -> String {
    let ids = each(10_000, |n| format!("<i xml:id='a{n}'/>"));
    let list = each(100_000, |n| format!("a{} ", n % 10_000));
    soap(&format!("{ids}<j r='{list}'/>"))
}

pub const SHAPES: &[Shape] = &[
    ends("parents", Way::Upward, parents),
    ends("parents, routed", Way::UpwardRoute, parents),
    ends("ancestors", Way::Upward, ancestors),
    ends("ancestors, routed", Way::UpwardRoute, ancestors),
    ends("ancestors of forks", Way::Upward, forks),
    ends("none of a list", Way::Translated, text_of_others),
    ends(
        "none of a list, routed",
        Way::TranslatedRoute,
        text_of_others,
    ),
    ends("all of a list", Way::Translated, text_of_all),
    ends("all of a list, routed", Way::TranslatedRoute, text_of_all),
    ends("the last of a list", Way::Translated, text_of_ascii),
    ends("almost everywhere", Way::Sought, almost_everywhere),
    ends("one key for all", Way::Known, one_key),
    ends("a key for each", Way::Known, all_keys),
    ends("an ID for each", Way::Known, all_ids),
    ends("IDs again and again", Way::Known, ids_again_and_again),
];
