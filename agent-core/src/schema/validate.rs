//! Does a value fit a schema, and if not, what is wrong with it?

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::path::Path;
use super::{Problem, describe, nearest};

/// How many schemas one check looks at. Beyond it everything fits: no schema can make a check take forever.
const STEPS: u32 = 200_000;

/// The whole schema, in which references are looked up.
#[derive(Clone, Copy)]
pub(super) struct Root<'a>(pub(super) &'a Value);

impl<'a> Root<'a> {
    /// The schema a `$ref` names; `None` without one, or if it does not point into this schema.
    pub(super) fn target(self, keywords: &Map<String, Value>) -> Option<&'a Value> {
        let pointer = keywords.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.0.pointer(pointer)
    }
}

/// Whether a value fits the whole schema.
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    Check::new(Root(schema)).fits(schema, value, &Path::ROOT)
}

/// Everything that keeps a value from fitting the whole schema.
pub(super) fn problems(schema: &Value, value: &Value) -> Vec<Problem> {
    Check::new(Root(schema)).problems(schema, value, &Path::ROOT)
}

/// One look at a value: bounded in steps, whatever the schema.
pub(super) struct Check<'a> {
    pub(super) root: Root<'a>,
    steps_left: Cell<u32>,
}

/// Where problems go.
enum Report {
    /// Only whether there is one counts; the check ends with the first.
    Quick { failed: bool },
    /// All are wanted.
    Full(Vec<Problem>),
}

impl Report {
    fn add(&mut self, path: &Path<'_>, text: impl FnOnce() -> String) {
        match self {
            Self::Quick { failed } => *failed = true,
            Self::Full(problems) => problems.push(Problem { path: path.to_string(), text: text() }),
        }
    }

    fn is_done(&self) -> bool {
        matches!(self, Self::Quick { failed: true })
    }
}

impl<'a> Check<'a> {
    pub(super) fn new(root: Root<'a>) -> Self {
        Self { root, steps_left: Cell::new(STEPS) }
    }

    pub(super) fn fits(&self, schema: &'a Value, value: &Value, path: &Path<'_>) -> bool {
        let mut report = Report::Quick { failed: false };
        self.check(schema, value, path, &mut report);
        !report.is_done()
    }

    pub(super) fn problems(&self, schema: &'a Value, value: &Value, path: &Path<'_>) -> Vec<Problem> {
        let mut report = Report::Full(Vec::new());
        self.check(schema, value, path, &mut report);
        match report {
            Report::Full(problems) => problems,
            Report::Quick { .. } => Vec::new(),
        }
    }

    /// Takes one step; `false` if the check has gone far enough.
    pub(super) fn may_go_on(&self, path: &Path<'_>) -> bool {
        let left = self.steps_left.get();
        self.steps_left.set(left.saturating_sub(1));
        left > 0 && !path.is_too_deep()
    }

    fn check(&self, schema: &'a Value, value: &Value, path: &Path<'_>, report: &mut Report) {
        if report.is_done() || !self.may_go_on(path) {
            return;
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => return report.add(path, || "nothing is allowed here".to_owned()),
            _ => return,
        };
        if value.is_null() && is_nullable(keywords) {
            return;
        }
        if let Some(values) = listed_values(keywords) {
            if !values.iter().any(|allowed| equal(allowed, value)) {
                report.add(path, || unlisted(&values.iter().collect::<Vec<_>>(), value));
                return;
            }
        } else if !has_type(keywords, value) {
            report.add(path, || {
                format!("expected {}, got {}", describe::schema(self.root, schema), describe::value(value))
            });
            return;
        }
        match value {
            Value::Object(fields) => self.object(keywords, fields, path, report),
            Value::Array(items) => self.array(keywords, items, path, report),
            Value::String(text) => string(keywords, text, path, report),
            Value::Number(number) => numeric(keywords, number, path, report),
            Value::Null | Value::Bool(_) => {}
        }
        self.composed(keywords, value, path, report);
    }

    /// `$ref`, `allOf`, `anyOf`, `oneOf` and `not`.
    fn composed(&self, keywords: &'a Map<String, Value>, value: &Value, path: &Path<'_>, report: &mut Report) {
        let deeper = path.deeper();
        if let Some(target) = self.root.target(keywords)
            && let Some(there) = path.through(target)
        {
            self.check(target, value, &there, report);
        }
        if let Some(Value::Array(parts)) = keywords.get("allOf") {
            for part in parts {
                self.check(part, value, &deeper, report);
            }
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = keywords.get(union)
                && !report.is_done()
                && !branches.iter().any(|branch| self.fits(branch, value, &deeper))
            {
                match report {
                    Report::Quick { failed } => *failed = true,
                    Report::Full(problems) => problems.extend(self.union_problems(branches, value, path)),
                }
            }
        }
        if let Some(excluded) = keywords.get("not")
            && !report.is_done()
            && self.fits(excluded, value, &deeper)
        {
            report.add(path, || {
                let excluded = describe::schema(self.root, excluded);
                format!("expected anything but {excluded}, got {}", describe::value(value))
            });
        }
    }

    fn object(
        &self,
        keywords: &'a Map<String, Value>,
        fields: &Map<String, Value>,
        path: &Path<'_>,
        report: &mut Report,
    ) {
        let properties = keywords.get("properties").and_then(Value::as_object);
        for name in required(keywords).filter(|name| !fields.contains_key(*name)) {
            report.add(&path.key(name), || match properties.and_then(|properties| properties.get(name)) {
                Some(property) => {
                    let described = property.as_object().map(|keywords| describe::description(self.root, keywords));
                    format!("required, {}{}", describe::schema(self.root, property), described.unwrap_or_default())
                }
                None => "required".to_owned(),
            });
        }
        for (name, field) in fields {
            let place = path.key(name);
            if let Some(schema) = property_schema(keywords, name) {
                match schema {
                    Value::Bool(false) => report.add(&place, || unknown_property(keywords, name)),
                    schema => self.check(schema, field, &place, report),
                }
            }
        }
        count(keywords, ["minProperties", "maxProperties"], fields.len(), "properties", path, report);
    }

    fn array(&self, keywords: &'a Map<String, Value>, items: &[Value], path: &Path<'_>, report: &mut Report) {
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = item_schema(keywords, at) {
                self.check(schema, item, &path.index(at), report);
            }
        }
        count(keywords, ["minItems", "maxItems"], items.len(), "items", path, report);
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) && !report.is_done() {
            let mut seen = HashSet::new();
            if let Some(at) = items.iter().position(|item| !seen.insert(item)) {
                report.add(&path.index(at), || {
                    format!("expected no item twice, got {} again", describe::value(&items[at]))
                });
            }
        }
    }
}

/// The schema of the item at a place of an array.
pub(super) fn item_schema(keywords: &Map<String, Value>, at: usize) -> Option<&Value> {
    let prefix = keywords.get("prefixItems").and_then(Value::as_array);
    prefix.and_then(|prefix| prefix.get(at)).or_else(|| keywords.get("items"))
}

/// The schema of a property; `None` if anything goes, `false` if there may be no such property.
pub(super) fn property_schema<'a>(keywords: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(schema) = keywords.get("properties").and_then(|properties| properties.get(name)) {
        return Some(schema);
    }
    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
    for (pattern, schema) in patterns.into_iter().flatten() {
        match matches_pattern(pattern, name) {
            Some(true) => return Some(schema),
            Some(false) => {}
            None => return None,
        }
    }
    keywords.get("additionalProperties")
}

/// The names in `required`.
pub(super) fn required(keywords: &Map<String, Value>) -> impl Iterator<Item = &str> {
    keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The types a schema names; `None` if it names none.
pub(super) fn types(keywords: &Map<String, Value>) -> Option<Vec<&str>> {
    match keywords.get("type")? {
        Value::String(kind) => Some(vec![kind.as_str()]),
        Value::Array(kinds) => Some(kinds.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Whether a value has one of the types a schema names; any has, if it names none.
pub(super) fn has_type(keywords: &Map<String, Value>, value: &Value) -> bool {
    match keywords.get("type") {
        Some(Value::String(kind)) => is_of_type(value, kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(|kind| is_of_type(value, kind)),
        _ => true,
    }
}

/// The branches of a union.
pub(super) fn branches(keywords: &Map<String, Value>) -> Option<&Vec<Value>> {
    keywords.get("anyOf").or_else(|| keywords.get("oneOf"))?.as_array()
}

/// The values of a schema's own `const` or `enum`.
pub(super) fn listed_values(keywords: &Map<String, Value>) -> Option<&[Value]> {
    match (keywords.get("const"), keywords.get("enum")) {
        (Some(only), _) => Some(std::slice::from_ref(only)),
        (None, Some(Value::Array(values))) => Some(values),
        _ => None,
    }
}

pub(super) fn is_nullable(keywords: &Map<String, Value>) -> bool {
    keywords.get("nullable") == Some(&Value::Bool(true))
}

/// The most exact type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value has a type. A float is no integer here, even a whole one: what decodes it afterwards is as strict.
pub(super) fn is_of_type(value: &Value, kind: &str) -> bool {
    let own = type_name(value);
    own == kind || (own == "integer" && kind == "number")
}

/// Whether two values are the same, `1` and `1.0` too.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

pub(super) fn unlisted(allowed: &[&Value], value: &Value) -> String {
    let text = format!("expected {}, got {}", describe::one_of(allowed), describe::value(value));
    let sent = value.as_str().filter(|_| allowed.len() > 1).unwrap_or_default();
    match nearest(sent, allowed.iter().filter_map(|value| value.as_str())).first() {
        Some(near) => format!("{text}; did you mean {}?", Value::from(*near)),
        None => text,
    }
}

fn unknown_property(keywords: &Map<String, Value>, name: &str) -> String {
    let keys_of = |keyword| keywords.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
    if let Some(near) = nearest(name, keys_of("properties").map(String::as_str)).first() {
        return format!("unknown property; did you mean `{near}`?");
    }
    let known: Vec<_> = keys_of("properties").map(|name| format!("`{name}`")).collect();
    let patterns: Vec<_> = keys_of("patternProperties").map(|pattern| named_like(pattern)).collect();
    match (known.as_slice(), patterns.as_slice()) {
        ([], []) => "unknown property; none is known".to_owned(),
        ([], _) => {
            format!(
                "expected {} as the property's name, got {}",
                patterns.join(" or "),
                describe::literal(&name.into())
            )
        }
        (_, []) => format!("unknown property; known are {}", describe::listed(known.into_iter())),
        _ => {
            let known = describe::listed(known.into_iter());
            format!("unknown property; known are {known} and {}", patterns.join(" or "))
        }
    }
}

/// A name that matches a pattern, in words.
fn named_like(pattern: &str) -> String {
    match pattern {
        DIGITS | DIGITS_CLASS => "a whole number of at least 0".to_owned(),
        SIGNED_DIGITS | SIGNED_DIGITS_CLASS => "a whole number".to_owned(),
        other => format!("what matches `{other}`"),
    }
}

const DIGITS: &str = r"^\d+$";
const DIGITS_CLASS: &str = "^[0-9]+$";
const SIGNED_DIGITS: &str = r"^-?\d+$";
const SIGNED_DIGITS_CLASS: &str = "^-?[0-9]+$";

/// Whether a name matches a pattern; `None` if the pattern is more than text between `^` and `$`, or digits.
fn matches_pattern(pattern: &str, name: &str) -> Option<bool> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match pattern {
        DIGITS | DIGITS_CLASS => return Some(digits(name)),
        SIGNED_DIGITS | SIGNED_DIGITS_CLASS => return Some(digits(name.strip_prefix('-').unwrap_or(name))),
        _ => {}
    }
    let (text, at_start) = pattern.strip_prefix('^').map_or((pattern, false), |rest| (rest, true));
    let (text, at_end) = text.strip_suffix('$').map_or((text, false), |rest| (rest, true));
    if text.contains(|c| r".*+?()[]{}|\^$".contains(c)) {
        return (text == ".*" || text == ".+" && !name.is_empty()).then_some(true);
    }
    Some(match (at_start, at_end) {
        (true, true) => name == text,
        (true, false) => name.starts_with(text),
        (false, true) => name.ends_with(text),
        (false, false) => name.contains(text),
    })
}

fn string(keywords: &Map<String, Value>, text: &str, path: &Path<'_>, report: &mut Report) {
    if keywords.contains_key("minLength") || keywords.contains_key("maxLength") {
        count(keywords, ["minLength", "maxLength"], text.chars().count(), "characters", path, report);
    }
}

fn count(
    keywords: &Map<String, Value>,
    [least, most]: [&str; 2],
    count: usize,
    what: &str,
    path: &Path<'_>,
    report: &mut Report,
) {
    let count = count as u64;
    if let Some(least) = keywords.get(least).and_then(Value::as_u64).filter(|least| count < *least) {
        report.add(path, || format!("expected at least {least} {what}, got {count}"));
    }
    if let Some(most) = keywords.get(most).and_then(Value::as_u64).filter(|most| count > *most) {
        report.add(path, || format!("expected at most {most} {what}, got {count}"));
    }
}

fn numeric(keywords: &Map<String, Value>, number: &Number, path: &Path<'_>, report: &mut Report) {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let limits = [
        ("minimum", "at least", [Greater, Equal]),
        ("maximum", "at most", [Less, Equal]),
        ("exclusiveMinimum", "more than", [Greater, Greater]),
        ("exclusiveMaximum", "less than", [Less, Less]),
    ];
    for (keyword, words, wanted) in limits {
        if let Some(Value::Number(limit)) = keywords.get(keyword)
            && compare(number, limit).is_some_and(|order| !wanted.contains(&order))
        {
            report.add(path, || format!("expected {words} {limit}, got {number}"));
        }
    }
    if let Some(Value::Number(step)) = keywords.get("multipleOf")
        && !is_multiple(number, step)
    {
        report.add(path, || format!("expected a multiple of {step}, got {number}"));
    }
}

fn compare(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (number.as_i128(), step.as_i128()) {
        return step == 0 || number % step == 0;
    }
    let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else { return true };
    // 0.3 is meant to be a multiple of 0.1, though its quotient is not quite whole.
    let quotient = number / step;
    step == 0.0 || !quotient.is_finite() || (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}
