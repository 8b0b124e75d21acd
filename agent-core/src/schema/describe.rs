//! Schemas and values in words a model can act on.

use serde_json::{Map, Value};

use super::validate::{self, Root};

/// How many characters of a value, or of a description, are shown.
const SHOWN_CHARS: usize = 80;
/// How many names or values are listed.
const SHOWN_NAMES: usize = 20;
/// How far a description follows schemas inside schemas.
const DEPTH: usize = 8;

/// A value, shortened: scalars as JSON, the rest by kind and size.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Array(items) => match items.len() {
            1 => "an array of 1 item".to_owned(),
            len => format!("an array of {len} items"),
        },
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => Value::from(shortened(text)).to_string(),
        scalar => scalar.to_string(),
    }
}

/// A value of an `enum` or `const`, as JSON.
pub(super) fn literal(value: &Value) -> String {
    shortened(&value.to_string())
}

/// What a schema asks for, e.g. `a string or null`.
pub(super) fn schema(root: Root<'_>, schema: &Value) -> String {
    described(root, schema, 0)
}

fn described(root: Root<'_>, schema: &Value, depth: usize) -> String {
    let Value::Object(keywords) = schema else {
        return if *schema == Value::Bool(false) { "nothing".to_owned() } else { "any value".to_owned() };
    };
    if depth > DEPTH {
        return "a value".to_owned();
    }
    if let Some(values) = allowed_values(root, schema) {
        return one_of(&values);
    }
    if let Some(types) = validate::types(keywords) {
        return alternatives(types.iter().map(|kind| with_article(kind).to_owned()));
    }
    if let Some(target) = root.target(keywords) {
        return described(root, target, depth + 1);
    }
    if let Some(branches) = validate::branches(keywords) {
        return alternatives(branches.iter().map(|branch| described(root, branch, depth + 1)));
    }
    if let Some(Value::Array(parts)) = keywords.get("allOf")
        && let Some(first) = parts.first()
    {
        return described(root, first, depth + 1);
    }
    if keywords.contains_key("properties") { "an object".to_owned() } else { "a value".to_owned() }
}

/// All values a schema allows, if it lists them.
pub(super) fn allowed_values<'a>(root: Root<'a>, schema: &'a Value) -> Option<Vec<&'a Value>> {
    let mut values = Vec::new();
    collect_allowed(root, schema, &mut values, 0).then_some(values)
}

fn collect_allowed<'a>(root: Root<'a>, schema: &'a Value, values: &mut Vec<&'a Value>, depth: usize) -> bool {
    let Value::Object(keywords) = schema else { return false };
    if depth > DEPTH {
        return false;
    }
    if let Some(value) = keywords.get("const") {
        values.push(value);
        true
    } else if let Some(Value::Array(listed)) = keywords.get("enum") {
        values.extend(listed);
        true
    } else if keywords.get("type").and_then(Value::as_str) == Some("null") {
        values.push(&Value::Null);
        true
    } else if let Some(branches) = validate::branches(keywords) {
        branches.iter().all(|branch| collect_allowed(root, branch, values, depth + 1))
    } else {
        root.target(keywords).is_some_and(|target| collect_allowed(root, target, values, depth + 1))
    }
}

/// `"a"`, or `one of "a", "b"`.
pub(super) fn one_of(values: &[&Value]) -> String {
    match values {
        [] => "nothing".to_owned(),
        [only] => literal(only),
        _ => format!("one of {}", listed(values.iter().map(|value| literal(value)))),
    }
}

/// Names with commas between them, bounded.
pub(super) fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(SHOWN_NAMES);
    let text = names.take(SHOWN_NAMES).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

fn alternatives(texts: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct.truncate(SHOWN_NAMES);
    if distinct.is_empty() { "nothing".to_owned() } else { distinct.join(" or ") }
}

/// The first line of a schema's description, in brackets behind a blank; empty if it has none.
pub(super) fn description(root: Root<'_>, keywords: &Map<String, Value>) -> String {
    let own = keywords.get("description").and_then(Value::as_str);
    let target = || root.target(keywords)?.get("description")?.as_str();
    let first_line = own.or_else(target).and_then(|text| text.lines().next()).unwrap_or("").trim();
    if first_line.is_empty() { String::new() } else { format!(" ({})", shortened(first_line)) }
}

fn with_article(kind: &str) -> &str {
    match kind {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "a boolean",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
