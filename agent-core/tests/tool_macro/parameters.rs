//! What the parameters of a function say to the model, and what they take from it.

use std::collections::BTreeMap;
use std::path::Path;

use agent_core::tool::ToolErrorKind;
use agent_core::{tool, toolset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{definition, failure, schema, text};

/// Joins two words.
///
/// The words are joined
/// with a blank.
///
/// - even in lists
///   of two levels
#[tool]
pub(crate) fn join_words(
    /// The first word,
    /// as it is.
    first: String,
    mut second: String,
) -> String {
    second.insert(0, ' ');
    first + &second
}

#[test]
fn rule_1_3_the_doc_comment_is_the_description() {
    let tools = toolset![join_words];
    assert_eq!(
        definition(&tools).description,
        "Joins two words.\n\nThe words are joined\nwith a blank.\n\n- even in lists\n  of two levels"
    );
    assert_eq!(
        schema(&tools),
        &json!({
            "type": "object",
            "properties": {
                "first": {"type": "string", "description": "The first word,\nas it is."},
                "second": {"type": "string"},
            },
            "required": ["first", "second"],
            "additionalProperties": false,
        })
    );
}

#[tokio::test]
async fn rule_1_1_the_function_stays_callable_and_is_a_tool() {
    assert_eq!(join_words("a".into(), "b".into()), "a b");
    assert_eq!(text(&toolset![join_words], json!({"first": "a", "second": "b"})).await, "a b");
}

/// Temperature units.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Units {
    #[default]
    Celsius,
    Fahrenheit,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Place {
    /// The city's name.
    #[serde(rename = "cityName")]
    city: String,
    #[schemars(range(min = 1))]
    population: u32,
    part_of: Option<Box<Place>>,
}

type Maybe<T> = Option<T>;

/// Optional arguments.
#[tool]
fn optional(count: Option<u32>, note: Maybe<String>, units: Option<Units>, place: Option<Place>) -> String {
    format!("{count:?} {note:?} {units:?} {}", place.is_some())
}

#[tokio::test]
async fn rule_1_4_an_option_may_be_left_out_also_behind_an_alias() {
    let tools = toolset![optional];
    let schema = schema(&tools);
    assert_eq!(schema.get("required"), None);
    assert_eq!(
        schema["properties"],
        json!({
            "count": {"type": "integer", "minimum": 0},
            "note": {"type": "string"},
            "units": {"$ref": "#/$defs/Units"},
            "place": {"$ref": "#/$defs/Place"},
        })
    );
    assert_eq!(text(&tools, json!({})).await, "None None None false");
    assert_eq!(
        text(&tools, json!({"count": null, "note": "x", "units": "fahrenheit"})).await,
        "None Some(\"x\") Some(Fahrenheit) false"
    );
}

/// Nested types.
#[tool]
fn nested(place: Place, all: Vec<Place>, units: Units, by_name: BTreeMap<String, f64>) -> String {
    format!("{} {} {units:?} {}", place.city, all.len(), by_name.len())
}

#[tokio::test]
async fn rule_1_4_nested_types_are_definitions_and_keep_their_attributes() {
    let tools = toolset![nested];
    assert_eq!(
        schema(&tools),
        &json!({
            "type": "object",
            "properties": {
                "place": {"$ref": "#/$defs/Place"},
                "all": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
                "units": {"$ref": "#/$defs/Units"},
                "by_name": {"type": "object", "additionalProperties": {"type": "number"}},
            },
            "required": ["place", "all", "units", "by_name"],
            "additionalProperties": false,
            "$defs": {
                "Place": {
                    "type": "object",
                    "properties": {
                        "cityName": {"type": "string", "description": "The city's name."},
                        "population": {"type": "integer", "minimum": 1},
                        "part_of": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
                    },
                    "required": ["cityName", "population"],
                },
                "Units": {"description": "Temperature units.", "type": "string", "enum": ["celsius", "fahrenheit"]},
            },
        })
    );
    let names: Vec<&String> = schema(&tools)["properties"].as_object().expect("an object").keys().collect();
    assert_eq!(names, ["place", "all", "units", "by_name"], "declaration order");
    let place = json!({"cityName": "Oslo", "population": 700_000});
    assert_eq!(
        text(&tools, json!({"place": place, "all": [place], "units": "celsius", "by_name": {"a": 1.5}})).await,
        "Oslo 1 Celsius 1"
    );
}

/// Defaults.
#[tool]
fn defaults(
    #[arg(default)] units: Units,
    #[arg(default = 10 * 10, range = 1..=1000)] limit: usize,
    #[arg(default = ".")] path: &Path,
    #[arg(default = vec!["a".to_owned()], length = 1..)] words: &[String],
    #[arg(rename = "type", description = "What kind", example = "tree", length = ..=8)] kind: String,
) -> String {
    format!("{units:?} {limit} {} {} {kind}", path.display(), words.join("+"))
}

#[tokio::test]
async fn rule_1_4_a_default_is_in_the_schema_and_applied() {
    let tools = toolset![defaults];
    let schema = schema(&tools);
    assert_eq!(schema["required"], json!(["type"]));
    assert_eq!(
        schema["properties"],
        json!({
            "units": {"$ref": "#/$defs/Units", "default": "celsius"},
            "limit": {"type": "integer", "minimum": 1, "default": 100, "maximum": 1000},
            "path": {"type": "string", "default": "."},
            "words": {"type": "array", "items": {"type": "string"}, "default": ["a"], "minItems": 1},
            "type": {"type": "string", "description": "What kind", "examples": ["tree"], "maxLength": 8},
        })
    );
    assert_eq!(text(&tools, json!({"type": "x"})).await, "Celsius 100 . a x");
    assert_eq!(text(&tools, json!({"type": "x", "limit": null, "path": "/tmp"})).await, "Celsius 100 /tmp a x");
}

/// Borrowed arguments.
#[tool]
async fn borrowed<'a>(word: &'a str, file: &Path, counts: &[u8], place: &Place, r#type: &str) -> &'a str {
    tokio::task::yield_now().await;
    assert_eq!((file, counts, place.population, r#type), (Path::new("/f"), &[1, 2][..], 3, "t"));
    word
}

#[tokio::test]
async fn rule_1_4_arguments_are_borrowed_also_across_an_await() {
    let place = json!({"cityName": "Oslo", "population": 3});
    let arguments = json!({"word": "w", "file": "/f", "counts": [1, 2], "place": place, "type": "t"});
    assert_eq!(text(&toolset![borrowed], arguments).await, "w");
}

#[tokio::test]
async fn rule_2_2_all_misfits_are_reported_at_once() {
    let place = json!({"cityName": "Oslo"});
    let arguments = json!({"place": place, "all": "none", "units": "kelvin", "bynane": {}});
    let (kind, message) = failure(&toolset![nested], arguments).await;
    assert_eq!(kind, ToolErrorKind::Retry);
    assert_eq!(
        message.lines().collect::<Vec<_>>(),
        [
            "place: missing field `population`",
            "all: expected a sequence, got string \"none\"",
            "units: expected `celsius` or `fahrenheit`, got `kelvin`",
            "by_name: expected an object, got nothing",
            "bynane: unknown argument; did you mean `by_name`? known are place, all, units, by_name",
        ]
    );
}
