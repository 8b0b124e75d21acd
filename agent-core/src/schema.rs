//! The JSON Schema of a tool's arguments: does what a model sent fit, and if not, could it be read so that it does?
//!
//! Understood is what [`schemars`] generates and what people write by hand (draft 2020-12): `type`, `properties`,
//! `required`, `additionalProperties`, `patternProperties`, `minProperties`, `maxProperties`, `items`, `prefixItems`,
//! `minItems`, `maxItems`, `uniqueItems`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`, `not`, `$ref` inside the schema,
//! `minimum`, `maximum`, their exclusive forms, `multipleOf`, `minLength`, `maxLength`, `nullable`, and `true`/`false`
//! as schemas. `pattern` and `format` are for the model only: they are in the schema it reads, and nothing here holds a
//! value against them (the limits of number types are checked as `minimum` and `maximum`). Keywords not named here are
//! ignored too, `oneOf` is read as `anyOf`, and names in `patternProperties` are matched as plain text (`^` and `$` at
//! the ends and digits are understood, anything else in a pattern matches every name): the tool itself is the final
//! judge of its arguments.

use std::fmt;

use serde_json::{Map, Value};

mod coerce;
mod describe;
mod nearest;
mod path;
mod union;
mod validate;

#[cfg(test)]
mod tests;

pub use nearest::nearest;

use path::Path;

/// Arguments that fit their schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The arguments; those that came in, unless `coerced` says otherwise.
    pub arguments: Map<String, Value>,
    /// What was read differently from how it was written, a sentence each, e.g. `limit: "5" read as 5`.
    pub coerced: Vec<String>,
}

/// Why arguments do not fit: every problem, not only the first one.
///
/// As text it is one line for each, with its JSON path and what was expected; behind twenty the rest is only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, from the root `$`, e.g. `$.edits[0].old_text`.
    pub path: String,
    /// What was expected there and what came, e.g. `expected a string, got 3`.
    pub text: String,
}

impl Problems {
    /// Each problem, in the schema's order.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

/// How many problems are written out.
const SHOWN_PROBLEMS: usize = 20;

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().take(SHOWN_PROBLEMS).enumerate() {
            let newline = if at > 0 { "\n" } else { "" };
            write!(f, "{newline}{}: {}", problem.path, problem.text)?;
        }
        match self.0.len().saturating_sub(SHOWN_PROBLEMS) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Holds arguments against a tool's schema.
///
/// Arguments that fit are given back untouched. Where a value does not fit, it is read differently only if that cannot
/// lose meaning: a string that holds the wanted array, object, number or boolean as JSON; a float without a fraction
/// where an integer is wanted; a single value where only a list is; and `null` for an optional property, which is then
/// absent. A number never becomes a string, and a value outside an `enum` never another one.
pub fn check_arguments(schema: &Value, arguments: Map<String, Value>) -> Result<Checked, Problems> {
    let mut arguments = Value::Object(arguments);
    let mut coerced = Vec::new();
    if !validate::fits(schema, &arguments) {
        coerced = coerce::coerce(schema, &mut arguments);
        let problems = validate::problems(schema, &arguments);
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
    }
    match arguments {
        Value::Object(arguments) => Ok(Checked { arguments, coerced }),
        other => {
            let text = format!("expected an object, got {}", describe::value(&other));
            Err(Problems(vec![Problem { path: Path::ROOT.to_string(), text }]))
        }
    }
}
