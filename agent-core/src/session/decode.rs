//! Reading an [`Entry`]: messages, nearly all of a log, are decoded straight from the text; the rest takes a detour.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{Entry, Record};

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record of a session")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let (mut id, mut parent, mut message) = (None, None, None);
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => id = Some(map.next_value()?),
                "parent" => parent = map.next_value()?,
                // `type` is written first. Where it was not, the message is one of the fields.
                "message" if fields.get("type").and_then(Value::as_str) == Some("message") => {
                    message = Some(map.next_value()?);
                }
                _ => {
                    let value = map.next_value()?;
                    fields.insert(key, value);
                }
            }
        }
        let record = match message {
            Some(message) => Record::Message(message),
            None => Record::deserialize(Value::Object(fields)).map_err(A::Error::custom)?,
        };
        Ok(Entry { id: id.ok_or_else(|| A::Error::missing_field("id"))?, parent, record })
    }
}
