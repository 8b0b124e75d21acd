//! What the parameters of a function say to the model, and what they take from it.

use std::collections::BTreeMap;
use std::path::Path;

use agent_core::schema::check_arguments;
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
            "count": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
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
                        "population": {"type": "integer", "minimum": 1, "maximum": u32::MAX},
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

#[derive(Deserialize, JsonSchema)]
struct Sizes {
    id: i32,
    parts: Vec<u32>,
    ratio: Option<f32>,
}

/// Numbers of every width.
#[tool]
fn widths(small: i32, long: i64, wide: u128, size: usize, ratio: f32, sizes: Sizes, signed: i128) -> String {
    let Sizes { id, parts, ratio: scale } = sizes;
    format!("{small} {long} {wide} {size} {ratio} {id} {parts:?} {scale:?} {signed}")
}

#[tokio::test]
async fn rule_2_2_a_number_that_its_type_cannot_hold_does_not_fit_the_schema() {
    let tools = toolset![widths];
    let check = |arguments: serde_json::Value| {
        let arguments = arguments.as_object().expect("an object").clone();
        check_arguments(schema(&tools), arguments).map_err(|problems| problems.to_string())
    };
    let far = json!({
        "small": 2_147_483_648_u32, "long": u64::MAX, "wide": -1, "size": -1, "ratio": 1e39, "signed": 1e30,
        "sizes": {"id": i64::MIN, "parts": [1, 4_294_967_296_u64], "ratio": -1e39},
    });
    assert_eq!(
        check(far).expect_err("nothing fits").lines().collect::<Vec<_>>(),
        [
            "$.small: expected at most 2147483647, got 2147483648",
            "$.long: expected at most 9223372036854775807, got 18446744073709551615",
            "$.wide: expected at least 0, got -1",
            "$.size: expected at least 0, got -1",
            "$.ratio: expected at most 3.4028235e+38, got 1e+39",
            "$.signed: expected an integer, got 1e+30",
            "$.sizes.id: expected at least -2147483648, got -9223372036854775808",
            "$.sizes.parts[1]: expected at most 4294967295, got 4294967296",
            "$.sizes.ratio: expected at least -3.4028235e+38, got -1e+39",
        ]
    );
    // What fits the schema can be read.
    let near = json!({
        "small": i32::MIN, "long": i64::MIN, "wide": u64::MAX, "size": usize::MAX, "ratio": 3.402_823_5e38,
        "signed": i64::MIN, "sizes": {"id": i32::MAX, "parts": [u32::MAX], "ratio": -3.402_823_5e38},
    });
    check(near.clone()).expect("fits");
    assert!(text(&tools, near).await.starts_with("-2147483648 -9223372036854775808 18446744073709551615"));
    assert!(!schema(&tools).to_string().contains("format"));
}

/// Limits.
#[tool]
fn limited(
    #[arg(range = -1..=1000)] small: u8,
    #[arg(range = 0..=1)] part: f64,
    #[arg(length = ..=2)] two: Option<Vec<u8>>,
) -> String {
    format!("{small} {part} {two:?}")
}

#[test]
fn rule_1_4_of_two_limits_the_narrower_one_counts() {
    let tools = toolset![limited];
    let schema = &schema(&tools)["properties"];
    assert_eq!(schema["small"], json!({"type": "integer", "minimum": 0, "maximum": 255}));
    assert_eq!(schema["part"], json!({"type": "number", "minimum": 0, "maximum": 1}));
    assert_eq!(schema["two"]["maxItems"], 2);
}
