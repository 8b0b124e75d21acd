//! Reads a value differently from how it was written, where that cannot lose meaning.

use serde_json::{Map, Value};

use super::describe;
use super::path::Path;
use super::validate::{
    Check, Root, branches, equal, is_nullable, is_of_type, item_schema, listed_values, property_schema, required,
    type_name, types,
};

/// Whole floats up to here are exactly one integer: 2 to the power of 53.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Changes what does not fit and can be read so that it does; gives a sentence for each change.
pub(super) fn coerce(schema: &Value, value: &mut Value) -> Vec<String> {
    let mut coercion = Coercion { check: Check::new(Root(schema)), said: Vec::new() };
    coercion.coerce(schema, value, &Path::ROOT);
    coercion.said
}

struct Coercion<'a> {
    check: Check<'a>,
    said: Vec<String>,
}

impl<'a> Coercion<'a> {
    fn coerce(&mut self, schema: &'a Value, value: &mut Value, path: &Path<'_>) {
        let Value::Object(keywords) = schema else { return };
        if !self.check.may_go_on(path) || (value.is_null() && is_nullable(keywords)) {
            return;
        }
        self.convert(keywords, value, path);
        match value {
            Value::Object(fields) => self.object(keywords, fields, path),
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    if let Some(schema) = item_schema(keywords, at) {
                        self.coerce(schema, item, &path.index(at));
                    }
                }
            }
            _ => {}
        }
        let deeper = path.deeper();
        if let Some(target) = self.check.root.target(keywords)
            && let Some(there) = path.through(target)
        {
            self.coerce(target, value, &there);
        }
        for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.coerce(part, value, &deeper);
        }
        if let Some(branches) = branches(keywords) {
            self.union(branches, value, &deeper);
        }
    }

    /// Only where no branch fits as it is: the first that does once the value is read differently.
    fn union(&mut self, branches: &'a [Value], value: &mut Value, path: &Path<'_>) {
        if branches.iter().any(|branch| self.check.fits(branch, value, path)) {
            return;
        }
        let possible: Vec<&Value> = branches
            .iter()
            .filter(|branch| !self.is_null_only(branch) && self.check.foreign_tags(branch, value) == 0)
            .collect();
        if let [only] = possible[..] {
            return self.coerce(only, value, path);
        }
        for branch in possible {
            if let Some(read) = self.attempt(branch, value, path).filter(|read| !is_wrapped(value, read)) {
                *value = read.value;
                self.said.extend(read.said);
                return;
            }
        }
    }

    /// The value as a schema would have it, if it can be read so.
    fn attempt(&mut self, schema: &'a Value, value: &Value, path: &Path<'_>) -> Option<Reading> {
        let said_before = std::mem::take(&mut self.said);
        let mut read = value.clone();
        self.coerce(schema, &mut read, path);
        let said = std::mem::replace(&mut self.said, said_before);
        self.check.fits(schema, &read, path).then_some(Reading { value: read, said })
    }

    fn is_null_only(&self, branch: &'a Value) -> bool {
        self.check.resolved(branch).and_then(types).is_some_and(|types| types == ["null"])
    }

    /// Changes the value itself, if its type is not wanted and it can be read as one that is.
    fn convert(&mut self, keywords: &'a Map<String, Value>, value: &mut Value, path: &Path<'_>) {
        let wanted: Vec<&str> = match (listed_values(keywords), types(keywords)) {
            (Some(values), _) if values.iter().any(|listed| equal(listed, value)) => return,
            (Some(values), _) => values.iter().map(type_name).collect(),
            (None, Some(types)) => types,
            (None, None) => return,
        };
        if wanted.iter().any(|kind| is_of_type(value, kind)) {
            return;
        }
        let read = match value {
            Value::String(text) => from_text(text, &wanted),
            _ => converted(value, &wanted),
        };
        if let Some(read) = read {
            self.said.push(format!("{}: {} read as {}", path.plain(), describe::value(value), describe::value(&read)));
            *value = read;
        } else if wanted.contains(&"array")
            && wanted.iter().all(|kind| matches!(*kind, "array" | "null"))
            && is_single(value)
        {
            let list = Value::Array(vec![value.clone()]);
            let item = item_schema(keywords, 0);
            let reading = match item {
                Some(item) => self.attempt(item, value, &path.index(0)),
                None => Some(Reading { value: value.clone(), said: Vec::new() }),
            };
            if let Some(reading) = reading {
                self.said.push(format!(
                    "{}: {} read as {}",
                    path.plain(),
                    describe::value(value),
                    describe::value(&list)
                ));
                self.said.extend(reading.said);
                *value = Value::Array(vec![reading.value]);
            }
        }
    }

    fn object(&mut self, keywords: &'a Map<String, Value>, fields: &mut Map<String, Value>, path: &Path<'_>) {
        let mut absent = Vec::new();
        for (name, field) in fields.iter_mut() {
            let Some(schema) = property_schema(keywords, name) else { continue };
            let place = path.key(name);
            self.coerce(schema, field, &place);
            let named = keywords.get("properties").is_some_and(|properties| properties.get(name).is_some());
            let optional = named && !required(keywords).any(|required| required == name);
            if optional && field.is_null() && *schema != Value::Bool(false) && !self.check.fits(schema, field, &place) {
                self.said.push(format!("{}: null read as absent", place.plain()));
                absent.push(name.clone());
            }
        }
        for name in absent {
            fields.shift_remove(&name);
        }
    }
}

/// A value read differently, and what there is to say about it.
struct Reading {
    value: Value,
    said: Vec<String>,
}

/// Whether a single value became a list without being the text of one.
fn is_wrapped(value: &Value, read: &Reading) -> bool {
    let is_text_of_list = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_array());
    read.value.is_array() && !value.is_array() && !value.as_str().is_some_and(is_text_of_list)
}

/// What a string holds as JSON, if it is an array, an object, a number or a boolean and of a wanted type.
fn from_text(text: &str, wanted: &[&str]) -> Option<Value> {
    let held: Value = serde_json::from_str(text).ok()?;
    let is_whole_number_text = || text.trim().trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    match held {
        Value::String(_) | Value::Null => None,
        // An integer too long for 64 bits: as a float it would be another number.
        Value::Number(ref number) if number.is_f64() && is_whole_number_text() => None,
        _ if wanted.iter().any(|kind| is_of_type(&held, kind)) => Some(held),
        _ => converted(&held, wanted),
    }
}

/// A float without a fraction as an integer, where one is wanted.
fn converted(value: &Value, wanted: &[&str]) -> Option<Value> {
    let float = value.as_number().filter(|number| number.is_f64())?.as_f64()?;
    if !wanted.contains(&"integer") || float.fract() != 0.0 || float.abs() >= EXACT_FLOAT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within what a float holds exactly")]
    let whole = float as i64;
    Some(Value::from(whole))
}

/// Whether a value may stand for a list of itself: no list, no object, and no text that was to be one.
fn is_single(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.trim_start().starts_with(['[', '{']),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}
