//! Parses JSON and refuses duplicate members, because the next reader could use the other value
//! (RFC 8259 4).

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::{Entry, Map};
use serde_json::{Value, from_slice};

pub(crate) fn read(text: &[u8]) -> Result<Value, String> {
    from_slice::<Strict>(text)
        .map(|read| read.0)
        .map_err(|error| error.to_string())
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            match all.entry(name) {
                Entry::Vacant(place) => {
                    let Strict(value) = members.next_value()?;
                    place.insert(value);
                }
                Entry::Occupied(_) => {
                    return Err(A::Error::custom("an object has a duplicate member"));
                }
            }
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_members_are_refused() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":2,"\u0061":3}"#,
            r#"[1,{"b":[{"":0,"":0}]}]"#,
        ] {
            let message = read(text.as_bytes()).unwrap_err();
            assert!(message.contains("duplicate member"), "{message}");
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
        }
        assert!(read(br#"{"a":{"a":1},"b":[{"a":1},{"a":1}],"A":1}"#).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn other_json_is_read_like_serde(text in "[\\[\\]{}:,\"a-c0-9.eE+ truefalsn-]{0,16}") {
            match (read(text.as_bytes()), serde_json::from_str::<Value>(&text)) {
                (Ok(found), Ok(expected)) => proptest::prop_assert_eq!(found, expected),
                (Err(message), Ok(_)) => {
                    proptest::prop_assert!(message.contains("duplicate"), "{}", message);
                }
                (found, expected) => {
                    proptest::prop_assert!(found.is_err() && expected.is_err(), "{}", text);
                }
            }
        }
    }
}
