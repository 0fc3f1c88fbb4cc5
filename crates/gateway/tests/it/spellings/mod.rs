//! Spellings of the path `/admin`. Some are known to bypass gateways, and others are generated.

use std::collections::BTreeSet;

/// Spellings that nginx reads as `/admin` or as a path below it.
pub const KNOWN: [&str; 19] = [
    "//admin",
    "///admin",
    "/./admin",
    "/%2e/admin",
    "/x/../admin",
    "/a/b/../../admin",
    "/x/%2e%2e/admin",
    "/x/.%2e/admin",
    "/x/..%2fadmin",
    "/x%2f..%2fadmin",
    "/%61dmin",
    "/admi%6e",
    "/%2fadmin",
    "/admin%2f",
    "/admin%2fx",
    "/admin#",
    "/admin#x",
    "http://h//admin",
    "http://h/x/../admin",
];

/// Generates numbers that look random but are the same in each run (xorshift64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

type Operator = fn(&mut Random, &str) -> String;

/// The changes to a path, each with its name. A change that does not apply leaves the path
/// unchanged.
pub const OPERATORS: [(&str, Operator); 21] = [
    ("double a slash", |random, path| {
        let more = random.one_of(&["//", "///"]);
        at_slash(random, path, 0, more)
    }),
    ("insert a segment of one dot", |random, path| {
        at_slash(random, path, 0, "/./")
    }),
    ("climb out of a segment", |random, path| {
        let climb = random.one_of(&["/x/../", "/x/y/../../", "/../", "/x/..//"]);
        at_slash(random, path, 0, climb)
    }),
    (
        "encode a letter or digit with lowercase hex digits",
        |random, path| encode(random, path, |byte| byte.is_ascii_alphanumeric(), false),
    ),
    (
        "encode a letter or digit with uppercase hex digits",
        |random, path| encode(random, path, |byte| byte.is_ascii_alphanumeric(), true),
    ),
    ("encode a dot", |random, path| {
        encode(random, path, |byte| byte == b'.', false)
    }),
    ("encode a slash", |random, path| {
        let encoded = random.one_of(&["%2f", "%2F"]);
        at_slash(random, path, 1, encoded)
    }),
    ("insert an encoded slash", |random, path| {
        at_slash(random, path, 0, "/%2f")
    }),
    ("turn a slash into a backslash", |random, path| {
        at_slash(random, path, 1, "\\")
    }),
    ("turn a slash into an encoded backslash", |random, path| {
        let encoded = random.one_of(&["%5c", "%5C"]);
        at_slash(random, path, 1, encoded)
    }),
    ("encode every encoding again", |_, path| {
        path.replace('%', "%25")
    }),
    ("encode a percent sign", |random, path| {
        encode(random, path, |byte| byte == b'%', false)
    }),
    ("add parameters to a segment", |random, path| {
        let parameters = random.one_of(&[";", ";x=1", ";x=1;y", "%3bx"]);
        after_segment(random, path, parameters)
    }),
    ("insert a segment of parameters", |random, path| {
        let segment = random.one_of(&["/;/", "/;x=1/", "/x/..;/", "/x/..;a=b/"]);
        at_slash(random, path, 0, segment)
    }),
    ("add a fragment", |random, path| {
        path.to_owned() + random.one_of(&["#", "#x", "#/../x"])
    }),
    ("add a query", |random, path| {
        path.to_owned() + random.one_of(&["?", "?x=/../", "?a;b//"])
    }),
    ("add an ending", |random, path| {
        path.to_owned() + random.one_of(&["/", "//", "/.", "/x/..", "%2f"])
    }),
    ("add a dot or a space to a segment", |random, path| {
        let end = random.one_of(&[".", "%20", ".%20", "%2E"]);
        after_segment(random, path, end)
    }),
    ("add a byte that may end the path", |random, path| {
        path.to_owned() + random.one_of(&["%00", "%00.png", "%3fx", "%23"])
    }),
    (
        "hide a slash or a dot in overlong UTF-8",
        |random, path| match random.below(2) {
            0 => at_slash(random, path, 1, "%c0%af"),
            _ => path.replacen('.', "%c0%ae", 1),
        },
    ),
    ("prefix the scheme and the host", |random, path| {
        let host = random.one_of(&["http://h", "HTTP://h", "http://h:80"]);
        match path.starts_with('/') {
            true => host.to_owned() + path,
            false => path.to_owned(),
        }
    }),
];

/// Replaces a random slash of the path, except for the first `first` slashes, with another string.
fn at_slash(random: &mut Random, path: &str, first: usize, text: &str) -> String {
    let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    let from = path_start(path, &slashes) + first;
    if from >= slashes.len() {
        return path.to_owned();
    }
    let at = slashes[from + random.below(slashes.len() - from)];
    [&path[..at], text, &path[at + 1..]].concat()
}

/// Returns the index, among the slashes, of the one that begins the path.
fn path_start(path: &str, slashes: &[usize]) -> usize {
    match path.starts_with('/') {
        true => 0,
        // The first slash after those of `http://`.
        false => 2.min(slashes.len()),
    }
}

/// Inserts a string after a random segment of the path.
fn after_segment(random: &mut Random, path: &str, text: &str) -> String {
    let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    let from = path_start(path, &slashes) + 1;
    let mut ends: Vec<usize> = slashes.into_iter().skip(from).collect();
    ends.push(path.len());
    let at = ends[random.below(ends.len())];
    [&path[..at], text, &path[at..]].concat()
}

/// Percent-encodes a random byte of this kind.
fn encode(random: &mut Random, path: &str, is_it: fn(u8) -> bool, is_upper: bool) -> String {
    let start = match path.starts_with('/') {
        true => 0,
        false => path.match_indices('/').nth(2).map_or(0, |(at, _)| at),
    };
    let places: Vec<usize> = (start..path.len())
        .filter(|&at| is_it(path.as_bytes()[at]))
        .collect();
    if places.is_empty() {
        return path.to_owned();
    }
    let at = places[random.below(places.len())];
    let byte = path.as_bytes()[at];
    let encoded = match is_upper {
        true => format!("%{byte:02X}"),
        false => format!("%{byte:02x}"),
    };
    [&path[..at], &encoded, &path[at + 1..]].concat()
}

/// Generates this many different spellings, each by up to four changes.
pub fn generated(count: usize) -> Vec<String> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut found = BTreeSet::new();
    let mut all = Vec::new();
    while all.len() < count {
        let mut path = random
            .one_of(&["/admin", "/admin", "/admin/", "/admin/users", "/admin/a.b"])
            .to_owned();
        for _ in 0..=random.below(4) {
            let (_, operator) = OPERATORS[random.below(OPERATORS.len())];
            path = operator(&mut random, &path);
        }
        if path != "/admin" && found.insert(path.clone()) {
            all.push(path);
        }
    }
    all
}

/// Reports whether any server could read a target as `/admin` or as a path below it. All readings
/// are tried together: each step that only some servers take is both taken and skipped.
pub fn may_be_protected(target: &str) -> bool {
    let path = without_origin(target);
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
    let mut text = path.as_bytes().to_vec();
    for _ in 0..12 {
        for choices in 0..16_u8 {
            let has = |choice: u8| choices & (1 << choice) != 0;
            if is_protected(&text, has(0), has(1), has(2), has(3)) {
                return true;
            }
        }
        let next = decoded(&text);
        if next == text {
            return false;
        }
        text = next;
    }
    false
}

fn without_origin(target: &str) -> &str {
    match target.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("http://") => {
            let after = &target[7..];
            &after[after.find(['/', '?', '#']).unwrap_or(after.len())..]
        }
        _ => target,
    }
}

fn is_protected(text: &[u8], turns: bool, strips: bool, merges: bool, trims: bool) -> bool {
    let text: Vec<u8> = text
        .iter()
        .map(|&byte| if turns && byte == b'\\' { b'/' } else { byte })
        .collect();
    let text = String::from_utf8_lossy(&text).into_owned();
    let end = text.find(['\0', '?', '#']).filter(|_| trims);
    let mut path: Vec<&str> = Vec::new();
    for segment in text[..end.unwrap_or(text.len())].split('/').skip(1) {
        let name = segment.split(';').next().filter(|_| strips);
        let segment = name.unwrap_or(segment);
        let bare = if trims {
            segment.trim_end_matches(' ')
        } else {
            segment
        };
        match bare {
            "." => {}
            ".." => {
                path.pop();
            }
            "" if merges => {}
            _ if trims => path.push(segment.trim_end_matches([' ', '.'])),
            _ => path.push(segment),
        }
    }
    path.first() == Some(&"admin")
}

/// Decodes percent-encodings once, and then decodes ASCII that is hidden in overlong two-byte
/// UTF-8.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let code = (text[at] == b'%')
            .then(|| Some(digit(at + 1)? * 16 + digit(at + 2)?))
            .flatten();
        out.push(code.map_or(text[at], |code| code as u8));
        at += if code.is_some() { 3 } else { 1 };
    }
    let mut plain = Vec::new();
    let mut rest = out.as_slice();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after.first().copied()) {
            (0xC0 | 0xC1, Some(next @ 0x80..=0xBF)) => {
                plain.push(((byte & 1) << 6) | (next & 0x3F));
                rest = &after[1..];
            }
            _ => plain.push(byte),
        }
    }
    plain
}
