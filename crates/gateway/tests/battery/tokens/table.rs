//! Tables of tokens. RFC 8725 section 2 and published lists of attacks describe the tokens that
//! must be refused.

use ring::hmac::{HMAC_SHA384, HMAC_SHA512};

use super::Fate::{Either, In, Out};
use super::sign::{
    CLAIMS, HEADER, OTHER_SECRET, Rsa, SECRET, base64url, good, now_s, signed, signed_by, unsigned,
};
use super::{Fate, bearing, get};
use crate::vector::Vector;

/// Correctly signed claims, with the decision that the gateway must make.
const CLAIM_TEXTS: &[(&str, Fate)] = &[
    (CLAIMS, In),
    (r#"{"iss":"me","aud":"api"}"#, In),
    (r#"{"iss":"me","aud":"api","sub":"nobody"}"#, In),
    (r#"{"iss":"me","aud":["api"]}"#, In),
    (r#"{"iss":"me","aud":["x","api"]}"#, In),
    (r#"{"iss":"me","aud":"api","exp":4102444800.5}"#, In),
    (r#"{"iss":"me","aud":"api","exp":4.1e9}"#, In),
    (r#"{"iss":"me","aud":"api","nbf":1}"#, In),
    (r#"{"iss":"me","aud":"api","nbf":0.5,"x":{"exp":1}}"#, In),
    (" { \"iss\" : \"me\",\n\"aud\":\t\"api\" } ", In),
    (r#"{"iss":"me","aud":"api","exp":null}"#, Either),
    (r#"{"iss":"me","aud":"api","nbf":null}"#, Either),
    (r#"{"iss":"me","aud":"api","iat":4102444800}"#, Either),
    (r#"{"iss":"me","aud":"api","jti":5,"x":1,"x":2}"#, Either),
    (r#"{"iss":"me","aud":"api","exp":1}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":0}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":-1}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":-4102444800}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":1e400}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":"4102444800"}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":true}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":[4102444800]}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":NaN}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":Infinity}"#, Out),
    (r#"{"iss":"me","aud":"api","nbf":4102444800}"#, Out),
    (r#"{"iss":"me","aud":"api","nbf":"1"}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":4102444800,"exp":1}"#, Out),
    (r#"{"iss":"me","aud":"api","exp":1,"exp":4102444800}"#, Out),
    (
        r#"{"iss":"me","aud":"api","exp":1,"\u0065xp":4102444800}"#,
        Out,
    ),
    (r#"{"iss":"me","iss":"me","aud":"api"}"#, Out),
    (r#"{"iss":"x","iss":"me","aud":"api"}"#, Out),
    (r#"{"iss":"me","aud":"x","aud":"api"}"#, Out),
    (r#"{"iss":"me","aud":"api","sub":"bob","sub":"alice"}"#, Out),
    (r#"{"aud":"api"}"#, Out),
    (r#"{"iss":null,"aud":"api"}"#, Out),
    (r#"{"iss":"ME","aud":"api"}"#, Out),
    (r#"{"iss":"me ","aud":"api"}"#, Out),
    (r#"{"iss":"me\u0000","aud":"api"}"#, Out),
    (r#"{"iss":"","aud":"api"}"#, Out),
    (r#"{"iss":["me"],"aud":"api"}"#, Out),
    (r#"{"iss":"me"}"#, Out),
    (r#"{"iss":"me","aud":null}"#, Out),
    (r#"{"iss":"me","aud":"API"}"#, Out),
    (r#"{"iss":"me","aud":"api2"}"#, Out),
    (r#"{"iss":"me","aud":"x,api"}"#, Out),
    (r#"{"iss":"me","aud":[]}"#, Out),
    (r#"{"iss":"me","aud":["x"]}"#, Out),
    (r#"{"iss":"me","aud":[["api"]]}"#, Out),
    (r#"{"iss":"me","aud":{"api":true}}"#, Out),
    (r#"{"iss":"me","aud":"api","sub":5}"#, Out),
    (r#"{"Iss":"me","Aud":"api"}"#, Out),
    (r#"{"iss":"me","aud":"api"}x"#, Out),
    (r#"{"iss":"me","aud":"api"}{}"#, Out),
    (r#"{"iss":"me","aud":"api""#, Out),
    (r#"{'iss':'me','aud':'api'}"#, Out),
    ("\u{feff}{\"iss\":\"me\",\"aud\":\"api\"}", Out),
    (r#"["me","api"]"#, Out),
    (r#"["me","alice","api"]"#, Out),
    (r#""me""#, Out),
    ("null", Out),
    ("", Out),
    ("no JSON", Out),
];

pub fn claims() -> Vec<Vector> {
    let of = |text: &str, fate: Fate| {
        let token = signed(SECRET.as_bytes(), HEADER, text);
        bearing(&format!("the claims {text}"), "/token", &token, fate)
    };
    let mut vectors: Vec<Vector> = CLAIM_TEXTS
        .iter()
        .map(|(text, fate)| of(text, *fate))
        .collect();
    let now_s = now_s();
    let with = |more: String| format!(r#"{{"iss":"me","aud":"api",{more}}}"#);
    vectors.extend([
        of(&with(format!("\"exp\":{}", now_s - 1)), Out),
        of(&with(format!("\"exp\":{now_s}")), Out),
        of(&with(format!("\"exp\":{}", now_s + 3600)), In),
        of(&with(format!("\"nbf\":{}", now_s + 3600)), Out),
        of(&with(format!("\"nbf\":{now_s}")), In),
    ]);
    let broken = [CLAIMS.as_bytes(), b"\xff"].concat();
    let token = signed(SECRET.as_bytes(), HEADER, broken);
    vectors.push(bearing("claims that are not UTF-8", "/token", &token, Out));
    vectors
}

/// Headers, all signed with HS256 and the correct secret.
const HEADER_TEXTS: &[(&str, Fate)] = &[
    (HEADER, In),
    (r#"{"alg":"HS256"}"#, In),
    (" {\"alg\" :\n\"HS256\"}", In),
    (r#"{"typ":"at+jwt","alg":"HS256"}"#, In),
    (r#"{"alg":"HS256","kid":"unknown"}"#, Either),
    (r#"{"alg":"HS256","kid":null}"#, Either),
    (r#"{"alg":"HS256","typ":"JWE","enc":"A256GCM"}"#, Either),
    (r#"{"alg":"HS256","zip":"DEF"}"#, Either),
    (r#"{"alg":"HS256","crit":null}"#, Either),
    (r#"{"alg":"HS256","jku":"http://127.0.0.1:9/keys"}"#, Either),
    (
        r#"{"alg":"HS256","x5u":"http://127.0.0.1:9/x","x5c":["AAAA"]}"#,
        Either,
    ),
    (r#"{"alg":"none"}"#, Out),
    (r#"{"alg":"None"}"#, Out),
    (r#"{"alg":"NONE"}"#, Out),
    (r#"{"alg":"nOnE"}"#, Out),
    (r#"{"alg":"none\u0000"}"#, Out),
    (r#"{"alg":""}"#, Out),
    (r#"{"alg":"hs256"}"#, Out),
    (r#"{"alg":"HS256 "}"#, Out),
    (r#"{"alg":" HS256"}"#, Out),
    (r#"{"alg":"HS256\u0000"}"#, Out),
    (r#"{"alg":"HS384"}"#, Out),
    (r#"{"alg":"HS512"}"#, Out),
    (r#"{"alg":"RS256"}"#, Out),
    (r#"{"alg":"PS256"}"#, Out),
    (r#"{"alg":"ES256"}"#, Out),
    (r#"{"alg":"EdDSA"}"#, Out),
    (r#"{"alg":"dir","enc":"A256GCM"}"#, Out),
    (r#"{"alg":null}"#, Out),
    (r#"{"alg":256}"#, Out),
    (r#"{"alg":["HS256"]}"#, Out),
    (r#"{"alg":{"HS256":1}}"#, Out),
    (r#"{"typ":"JWT"}"#, Out),
    (r#"{"Alg":"HS256"}"#, Out),
    (r#"{"alg":"none","alg":"HS256"}"#, Out),
    (r#"{"alg":"HS256","alg":"none"}"#, Out),
    (r#"{"alg":"HS256","\u0061lg":"HS256"}"#, Out),
    (r#"{"alg":"HS256","crit":["exp"],"exp":4102444800}"#, Out),
    (r#"{"alg":"HS256","crit":["b64"],"b64":false}"#, Out),
    (r#"{"alg":"HS256","crit":["x"],"x":1}"#, Out),
    (r#"{"alg":"HS256","crit":[]}"#, Out),
    (r#"{"alg":"HS256","crit":"exp"}"#, Out),
    (r#"{"alg":"HS256","kid":1}"#, Out),
    (r#"{"alg":"HS256","kid":"a","kid":"b"}"#, Out),
    (r#"["HS256"]"#, Out),
    (r#"{"alg":"HS256"}x"#, Out),
    (r#"{"alg":"HS256""#, Out),
    ("\u{feff}{\"alg\":\"HS256\"}", Out),
    ("", Out),
];

pub fn headers() -> Vec<Vector> {
    let of = |name: &str, token: &str, fate| bearing(name, "/token", token, fate);
    let mut vectors = Vec::new();
    for (text, fate) in HEADER_TEXTS {
        let token = signed(SECRET.as_bytes(), text, CLAIMS);
        vectors.push(of(&format!("the header {text}"), &token, *fate));
    }
    for text in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"NONE"}"#,
        r#"{"alg":""}"#,
        HEADER,
    ] {
        let token = format!("{}.", unsigned(text, CLAIMS));
        vectors.push(of(&format!("{text} without a signature"), &token, Out));
    }
    let own = "a secret that the forger has made up, long enough";
    let jwk = format!(
        r#"{{"alg":"HS256","jwk":{{"kty":"oct","k":"{}"}}}}"#,
        base64url(own)
    );
    for (name, secret, header) in [
        ("signed with an unknown secret", own, HEADER),
        ("signed with the key in its own header", own, jwk.as_str()),
        ("signed with an empty secret", "", HEADER),
        ("signed with a zero byte", "\0", HEADER),
        (
            "a kid that names an empty file",
            "",
            r#"{"alg":"HS256","kid":"/dev/null"}"#,
        ),
        (
            "a kid that is a path",
            "",
            r#"{"alg":"HS256","kid":"../../../../dev/null"}"#,
        ),
        (
            "a kid that is a query",
            own,
            r#"{"alg":"HS256","kid":"x' UNION SELECT 'own"}"#,
        ),
        (
            "a kid that is a command",
            own,
            r#"{"alg":"HS256","kid":"|/bin/true"}"#,
        ),
        (
            "a header with a jku",
            own,
            r#"{"alg":"HS256","jku":"http://127.0.0.1:9/"}"#,
        ),
        ("signed with half of the secret", &SECRET[..24], HEADER),
    ] {
        let token = signed(secret.as_bytes(), header, CLAIMS);
        vectors.push(of(name, &token, Out));
    }
    for (name, algorithm) in [("HS384", HMAC_SHA384), ("HS512", HMAC_SHA512)] {
        for says in [name, "HS256"] {
            let header = format!(r#"{{"alg":"{says}"}}"#);
            let token = signed_by(algorithm, SECRET.as_bytes(), &header, CLAIMS);
            vectors.push(of(&format!("{says}, signed with {name}"), &token, Out));
        }
    }
    vectors
}

/// Tokens that are split, changed and joined again.
pub fn texts() -> Vec<Vector> {
    let token = good();
    let parts: Vec<&str> = token.split('.').collect();
    let [head, claims, signature] = parts[..] else {
        panic!("{token}");
    };
    let others = base64url(CLAIMS.replace("alice", "bob"));
    let nothing = "A".repeat(signature.len());
    let last = signature.len() - 1;
    let texts = [
        (token.clone(), In),
        (String::new(), Out),
        (".".into(), Out),
        ("..".into(), Out),
        ("...".into(), Out),
        (head.into(), Out),
        (format!("{head}.{claims}"), Out),
        (format!("{head}.{claims}."), Out),
        (format!(".{claims}.{signature}"), Out),
        (format!("{head}..{signature}"), Out),
        (format!("{claims}.{head}.{signature}"), Out),
        (format!("{head}.{signature}.{claims}"), Out),
        (format!("{token}."), Out),
        (format!(".{token}"), Out),
        (format!("{token}.x"), Out),
        (format!("{head}.{claims}.x.{signature}"), Out),
        (format!("{token}.{claims}.{signature}"), Out),
        (format!("{token}="), Out),
        (format!("{head}=.{claims}.{signature}"), Out),
        (format!("{head}.{claims}=.{signature}"), Out),
        (format!("{head}. {claims}.{signature}"), Out),
        (format!("{head} .{claims}.{signature}"), Out),
        (
            format!("{head}.{claims}.{} {}", &signature[..9], &signature[9..]),
            Out,
        ),
        (format!("{head}.{claims}.{signature}A"), Out),
        (format!("{head}.{claims}.{signature}{signature}"), Out),
        (format!("{head}.{claims}.{}", &signature[..last]), Out),
        (format!("{head}.{claims}.{}", &signature[1..]), Out),
        (format!("{head}.{claims}.{}", &signature[..4]), Out),
        (format!("{head}.{claims}.{nothing}"), Out),
        (format!("{head}.{others}.{signature}"), Out),
        (
            format!("{head}.{}.{signature}", claims.to_ascii_uppercase()),
            Out,
        ),
        (token.to_ascii_lowercase(), Out),
        (token.replace('.', "%2e"), Out),
        (token.replace('.', ".."), Out),
        (token.replace('.', ","), Out),
        (format!("\"{token}\""), Out),
        (format!("<{token}>"), Out),
        (format!("{token},{token}"), Out),
        (format!("{token}, Bearer {token}"), Out),
        (format!("{token} {token}"), Out),
        (format!("{token};"), Out),
        (format!("{token}{}", "A".repeat(9000)), Out),
        (".".repeat(5000), Out),
        (
            format!("{head}.{claims}.{}", trailing_bits(signature)),
            Either,
        ),
    ];
    texts
        .iter()
        .map(|(text, fate)| {
            let name: String = text.chars().take(200).collect();
            bearing(&format!("the text {name}"), "/token", text, *fate)
        })
        .collect()
}

/// Sets a padding bit after the last byte of an encoded signature (RFC 4648 3.5).
fn trailing_bits(signature: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (all, last) = signature.split_at(signature.len() - 1);
    let at = ALPHABET.iter().position(|it| last.as_bytes()[0] == *it);
    format!("{all}{}", char::from(ALPHABET[at.unwrap() | 1]))
}

/// Fields that carry a token, in valid and invalid ways.
pub fn lines() -> Vec<Vector> {
    let token = good();
    let bad = signed(OTHER_SECRET.as_bytes(), HEADER, CLAIMS);
    let lines = [
        (format!("authorization:bearer {token}"), In),
        (format!("AUTHORIZATION: BEARER {token}"), In),
        (format!("Authorization:  Bearer {token}  "), In),
        (format!("Authorization: Bearer  {token}"), Either),
        (format!("Authorization: Bearer\t{token}"), Either),
        ("X: y".into(), Out),
        ("Authorization:".into(), Out),
        ("Authorization: Bearer".into(), Out),
        (format!("Authorization: Bearer{token}"), Out),
        (format!("Authorization: Bearer:{token}"), Out),
        (format!("Authorization: Bearer={token}"), Out),
        (format!("Authorization: {token}"), Out),
        (format!("Authorization: Basic {token}"), Out),
        (format!("Authorization: JWT {token}"), Out),
        (format!("Authorization: Token {token}"), Out),
        (format!("Authorization: Basic x, Bearer {token}"), Out),
        (
            format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}"),
            Out,
        ),
        (
            format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {bad}"),
            Out,
        ),
        (
            format!("Authorization: Bearer {bad}\r\nauthorization: Bearer {token}"),
            Out,
        ),
        (
            format!("Authorization: Basic eDp5\r\nAuthorization: Bearer {token}"),
            Out,
        ),
        (
            format!("Authorization:\r\nAuthorization: Bearer {token}"),
            Out,
        ),
        (format!("Authorization: Bearer\r\n {token}"), Out),
        (format!("Authorization : Bearer {token}"), Out),
        (format!("Proxy-Authorization: Bearer {token}"), Out),
        (format!("X-Authorization: Bearer {token}"), Out),
        (format!("Cookie: access_token={token}"), Out),
        (format!("Cookie: Authorization=Bearer {token}"), Out),
    ];
    let mut vectors: Vec<Vector> = lines
        .into_iter()
        .map(|(line, fate)| {
            let name: String = line.chars().take(200).collect();
            get(name, "/token", format!("{line}\r\n").as_bytes(), fate)
        })
        .collect();
    let target = format!("/token?access_token={token}");
    vectors.push(get("a token in the query", &target, b"", Out));
    vectors
}

/// Tokens for a route with two keys; most of the tokens name a key.
pub fn named_keys() -> Vec<Vector> {
    let of = |secret: &str, kid: &str, fate: Fate| {
        let header = format!(r#"{{"alg":"HS256"{kid}}}"#);
        let token = signed(secret.as_bytes(), &header, CLAIMS);
        bearing(&format!("{header} with {secret}"), "/named", &token, fate)
    };
    vec![
        of(SECRET, r#","kid":"one""#, In),
        of(OTHER_SECRET, r#","kid":"two""#, In),
        of(SECRET, "", In),
        of(OTHER_SECRET, "", In),
        of(SECRET, r#","kid":null"#, Either),
        of(SECRET, r#","kid":"two""#, Out),
        of(OTHER_SECRET, r#","kid":"one""#, Out),
        of(SECRET, r#","kid":"three""#, Out),
        of(SECRET, r#","kid":"""#, Out),
        of(SECRET, r#","kid":"ONE""#, Out),
        of(SECRET, r#","kid":"one\u0000""#, Out),
        of(SECRET, r#","kid":["one"]"#, Out),
        of(SECRET, r#","kid":"two","kid":"one""#, Out),
        of(SECRET, r#","kid":"two","\u006bid":"one""#, Out),
        of(
            "another secret that nobody has, long enough",
            r#","kid":"one""#,
            Out,
        ),
    ]
}

/// Tokens for a route with a public RSA key. Everybody knows the key, so it must not be accepted as
/// a secret (RFC 8725 2.1).
pub fn public_keys(rsa: &Rsa) -> Vec<Vector> {
    let header = r#"{"alg":"RS256"}"#;
    let (good, text) = (rsa.signed(header, CLAIMS), unsigned(header, CLAIMS));
    let (_, signature) = good.rsplit_once('.').unwrap();
    let pem = rsa.public_pem.as_str();
    let inside: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let of = |name: &str, token: &str, fate| bearing(name, "/public", token, fate);
    let hashed = |secret: &str, header: &str| signed(secret.as_bytes(), header, CLAIMS);
    let other = unsigned(header, CLAIMS.replace("alice", "bob"));
    vec![
        of("RS256", &good, In),
        of("HS256 with the key's file", &hashed(pem, HEADER), Out),
        of(
            "HS256 with the key's file, trimmed",
            &hashed(pem.trim_end(), HEADER),
            Out,
        ),
        of("HS256 with the key's text", &hashed(&inside, HEADER), Out),
        of("RS256 with the key's file", &hashed(pem, header), Out),
        of("HS256, signed by the key", &rsa.signed(HEADER, CLAIMS), Out),
        of(
            "RS384, signed as RS256",
            &rsa.signed(r#"{"alg":"RS384"}"#, CLAIMS),
            Out,
        ),
        of(
            "PS256, signed as RS256",
            &rsa.signed(r#"{"alg":"PS256"}"#, CLAIMS),
            Out,
        ),
        of("rs256", &rsa.signed(r#"{"alg":"rs256"}"#, CLAIMS), Out),
        of(
            "none, signed by the key",
            &rsa.signed(r#"{"alg":"none"}"#, CLAIMS),
            Out,
        ),
        of(
            "RS256, signed as RS512",
            &rsa.signed_with_sha512(header, CLAIMS),
            Out,
        ),
        of("other claims", &format!("{other}.{signature}"), Out),
        of("no signature", &format!("{text}."), Out),
        of(
            "half a signature",
            &format!("{text}.{}", &signature[..172]),
            Out,
        ),
        of(
            "a signature of zeros",
            &format!("{text}.{}", base64url([0_u8; 256])),
            Out,
        ),
        of(
            "a signature of one",
            &format!("{text}.{}", base64url(one())),
            Out,
        ),
        of(
            "a longer signature",
            &format!("{text}.AAAA{signature}"),
            Out,
        ),
        of("two signatures", &format!("{good}.{signature}"), Out),
    ]
}

/// The number one in as many bytes as a signature: it is its own signature under any key.
fn one() -> [u8; 256] {
    let mut one = [0; 256];
    one[255] = 1;
    one
}
