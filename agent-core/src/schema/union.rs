//! Why a value fits none of several schemas: what is said about `anyOf` and `oneOf`.

use serde_json::{Map, Value};

use super::path::Path;
use super::validate::{Check, equal, has_type, listed_values, required, type_name, unlisted};
use super::{Problem, describe, nearest};

/// How many references are followed to a schema's keywords; a circle of them has none to find.
const REFERENCES: usize = 8;
/// How many equally close forms are told apart.
const SHOWN_FORMS: usize = 5;

impl<'a> Check<'a> {
    /// The values or types the branches allow, the tag that none of them knows, or the problems of the closest ones.
    pub(super) fn union_problems(&self, branches: &'a [Value], value: &Value, path: &Path<'_>) -> Vec<Problem> {
        let here = |text| vec![Problem { path: path.to_string(), text }];
        let allowed: Option<Vec<_>> =
            branches.iter().map(|branch| describe::allowed_values(self.root, branch)).collect();
        if let Some(allowed) = allowed {
            return here(unlisted(&allowed.concat(), value));
        }
        if let Some(variants) = self.variants(branches) {
            return match named_variant(&variants, value) {
                Some(branch) => self.problems(branch, value, &path.deeper()),
                None => here(unknown_variant(&variants, value)),
            };
        }
        let of_type: Vec<&Value> = branches.iter().filter(|branch| self.takes_type(branch, value)).collect();
        if of_type.is_empty() {
            let mut expected: Vec<String> = Vec::new();
            for text in branches.iter().map(|branch| describe::schema(self.root, branch)) {
                if !expected.contains(&text) {
                    expected.push(text);
                }
            }
            return here(format!("expected {}, got {}", expected.join(" or "), describe::value(value)));
        }
        match self.tag_problem(&of_type, value, path) {
            Some(problem) => vec![problem],
            None => self.closest(&of_type, value, path),
        }
    }

    /// The problems of the branch that is closest; where several are equally close, one problem that names them all.
    fn closest(&self, branches: &[&'a Value], value: &Value, path: &Path<'_>) -> Vec<Problem> {
        let ranked = branches.iter().map(|branch| {
            let problems = self.problems(branch, value, &path.deeper());
            ((self.foreign_tags(branch, value), self.missing(branch, value), problems.len()), problems)
        });
        let mut best = None;
        let mut forms: Vec<Vec<Problem>> = Vec::new();
        for (rank, problems) in ranked {
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
                forms.clear();
            }
            if best == Some(rank) && !forms.contains(&problems) {
                forms.push(problems);
            }
        }
        if forms.len() < 2 {
            return forms.pop().unwrap_or_default();
        }
        let more = forms.len().saturating_sub(SHOWN_FORMS);
        let shown: Vec<String> = forms.iter().take(SHOWN_FORMS).map(|problems| in_one_line(problems)).collect();
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        vec![Problem { path: path.to_string(), text: format!("fits no form: either {}{more}", shown.join("; or ")) }]
    }

    /// What is wrong with the tag, if the branches are told apart by one: it is missing, or no branch knows it.
    fn tag_problem(&self, branches: &[&'a Value], value: &Value, path: &Path<'_>) -> Option<Problem> {
        let fields = value.as_object()?;
        let [first, _, ..] = branches else { return None };
        let mut names = self.layers(first).flat_map(required);
        let (name, allowed) = names.find_map(|name| Some((name, self.tags(branches, name)?)))?;
        let text = match fields.get(name) {
            None => format!("required, {}", describe::one_of(&allowed)),
            Some(tag) if allowed.iter().any(|known| equal(known, tag)) => return None,
            Some(tag) => unlisted(&allowed, tag),
        };
        Some(Problem { path: path.key(name).to_string(), text })
    }

    /// The values of a property that each branch requires and by which it differs from all others.
    fn tags(&self, branches: &[&'a Value], name: &str) -> Option<Vec<&'a Value>> {
        let mut tags: Vec<&Value> = Vec::new();
        for branch in branches {
            if !self.layers(branch).flat_map(required).any(|required| required == name) {
                return None;
            }
            let own = self.layers(branch).find_map(|keywords| keywords.get("properties")?.get(name))?;
            let own = describe::allowed_values(self.root, own)?;
            if own.iter().any(|tag| tags.contains(tag)) {
                return None;
            }
            tags.extend(own);
        }
        Some(tags)
    }

    /// How many properties that must have a certain value have another one.
    pub(super) fn foreign_tags(&self, branch: &'a Value, value: &Value) -> usize {
        let properties = |keywords: &'a Map<String, Value>| keywords.get("properties").and_then(Value::as_object);
        let is_foreign = |(name, property): &(&'a String, &'a Value)| {
            let allowed = describe::allowed_values(self.root, property);
            let sent = value.get(name.as_str());
            matches!((allowed, sent), (Some(allowed), Some(sent)) if !allowed.iter().any(|known| equal(known, sent)))
        };
        self.layers(branch).filter_map(properties).flatten().filter(is_foreign).count()
    }

    fn missing(&self, branch: &'a Value, value: &Value) -> usize {
        self.layers(branch).flat_map(required).filter(|name| value.get(name).is_none()).count()
    }

    fn takes_type(&self, schema: &'a Value, value: &Value) -> bool {
        let Some(keywords) = self.resolved(schema) else { return *schema != Value::Bool(false) };
        let is_like = |values: &[Value]| values.iter().any(|allowed| type_name(allowed) == type_name(value));
        has_type(keywords, value) && listed_values(keywords).is_none_or(is_like)
    }

    /// The keywords of a schema, behind its references.
    pub(super) fn resolved(&self, schema: &'a Value) -> Option<&'a Map<String, Value>> {
        self.layers(schema).last()
    }

    /// The keywords of a schema, and of what it refers to.
    fn layers(&self, schema: &'a Value) -> impl Iterator<Item = &'a Map<String, Value>> {
        let root = self.root;
        let next = move |keywords: &&'a Map<String, Value>| root.target(keywords)?.as_object();
        std::iter::successors(schema.as_object(), next).take(REFERENCES)
    }

    /// The variants of an enum whose data stands under its variant's name; `None` if the branches are no such enum.
    fn variants(&self, branches: &'a [Value]) -> Option<Vec<Variant<'a>>> {
        let mut variants = Vec::new();
        for branch in branches {
            match describe::allowed_values(self.root, branch) {
                Some(names) => {
                    for name in names {
                        variants.push(Variant { name: name.as_str()?, data: None });
                    }
                }
                None => variants.push(Variant { name: self.only_property(branch)?, data: Some(branch) }),
            }
        }
        Some(variants)
    }

    /// The name of the only property there may be, which must be there.
    fn only_property(&self, branch: &'a Value) -> Option<&'a str> {
        let keywords = self.resolved(branch)?;
        let properties = keywords.get("properties")?.as_object()?;
        let is_closed = keywords.get("additionalProperties") == Some(&Value::Bool(false));
        let mut names = properties.keys();
        match (names.next(), names.next()) {
            (Some(name), None) if is_closed && required(keywords).eq([name.as_str()]) => Some(name),
            _ => None,
        }
    }
}

/// A variant of an externally tagged enum.
struct Variant<'a> {
    name: &'a str,
    /// The branch of a variant with data.
    data: Option<&'a Value>,
}

/// The branch whose variant the value names, if it names one.
fn named_variant<'a>(variants: &[Variant<'a>], value: &Value) -> Option<&'a Value> {
    let fields = value.as_object()?;
    let mut named = variants.iter().filter(|variant| fields.contains_key(variant.name)).filter_map(|found| found.data);
    match (named.next(), named.next()) {
        (Some(branch), None) => Some(branch),
        _ => None,
    }
}

fn unknown_variant(variants: &[Variant<'_>], value: &Value) -> String {
    let as_written = |name: &str, has_data: bool| {
        let name = describe::literal(&name.into());
        if has_data { format!("{{{name}: …}}") } else { name }
    };
    let forms = variants.iter().map(|variant| as_written(variant.name, variant.data.is_some()));
    let one_of = if variants.len() > 1 { "one of " } else { "" };
    let (sent, got) = match value {
        Value::String(name) => (name.as_str(), describe::value(value)),
        Value::Object(fields) if fields.len() == 1 => {
            let name = fields.keys().next().map(String::as_str).unwrap_or_default();
            (name, as_written(name, true))
        }
        _ => ("", describe::value(value)),
    };
    let near = nearest(sent, variants.iter().map(|variant| variant.name));
    let near = near.first().and_then(|near| variants.iter().find(|variant| variant.name == *near));
    let guess = near.map(|near| format!("; did you mean {}?", as_written(near.name, near.data.is_some())));
    format!("expected {one_of}{}, got {got}{}", describe::listed(forms), guess.unwrap_or_default())
}

fn in_one_line(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{}: {}", problem.path, problem.text)).collect::<Vec<_>>().join(", ")
}
