//! What `#[tool]` makes of a function: schema, description, injection, results, registration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use agent_core::context::State;
use agent_core::tool::{ToolErrorKind, ToolSource};
use agent_core::{
    CallId, CancellationToken, Content, Dep, Inject, OrRetry, Progress, Tool, ToolContext, ToolDefinition, ToolError,
    ToolOutput, Toolset, tool, toolset,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn definition(tools: &Toolset) -> &ToolDefinition {
    let (definition, _) = tools.iter().next().expect("a tool");
    definition
}

fn schema(tools: &Toolset) -> &Value {
    &definition(tools).input_schema
}

async fn call_with(context: ToolContext, tools: &Toolset, arguments: Value) -> Result<ToolOutput, ToolError> {
    assert_eq!(tools.problems(), []);
    let (_, tool) = tools.iter().next().expect("a tool");
    let Value::Object(arguments) = arguments else { panic!("not an object: {arguments}") };
    tool.call(context, arguments).await
}

async fn call(tools: &Toolset, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_with(ToolContext::new("/"), tools, arguments).await
}

async fn text(tools: &Toolset, arguments: Value) -> String {
    let output = call(tools, arguments).await.expect("success");
    output.content.iter().filter_map(Content::as_text).collect()
}

async fn failure(tools: &Toolset, arguments: Value) -> (ToolErrorKind, String) {
    let error = call(tools, arguments).await.expect_err("failure");
    (error.kind(), error.message().to_owned())
}

/// Joins two words.
///
/// The words are joined
/// with a blank.
///
/// - even in lists
///   of two levels
#[tool]
fn join_words(
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

// --- 1.4: parameters -------------------------------------------------------------------------------------------------

/// Temperature units.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Units {
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

// --- 1.5: injection --------------------------------------------------------------------------------------------------

struct Database(&'static str);

struct Attempt(u32);

impl Inject for Attempt {
    fn inject(context: &ToolContext) -> Result<Self, ToolError> {
        match context.tool_name() {
            "injected" => Ok(Self(7)),
            other => Err(ToolError::failed(format!("no attempt for {other}"))),
        }
    }
}

type Db = Dep<Database>;

/// Injected parameters.
#[tool]
fn injected(
    borrowed: &ToolContext,
    owned: ToolContext,
    db: Db,
    cancel: CancellationToken,
    progress: &Progress,
    id: CallId,
    attempt: Attempt,
    /// The only argument.
    word: &str,
) -> String {
    progress.report("half way");
    format!(
        "{} {} {} {} {id} {} {word}",
        borrowed.call_id(),
        owned.tool_name(),
        db.0.0,
        cancel.is_cancelled(),
        attempt.0
    )
}

fn context_of(tool: &str) -> ToolContext {
    let mut state = State::default();
    state.insert(Database("rows"));
    ToolContext::new("/").with_call("c1", tool).with_state(state)
}

#[tokio::test]
async fn rule_1_5_injected_parameters_are_filled_and_never_in_the_schema() {
    let tools = toolset![injected];
    assert_eq!(schema(&tools)["properties"], json!({"word": {"type": "string", "description": "The only argument."}}));
    let (send, receive) = std::sync::mpsc::channel();
    let context = context_of("injected").with_progress(Progress::to(move |update| drop(send.send(update))));
    let output = call_with(context, &tools, json!({"word": "w"})).await.expect("success");
    assert_eq!(output.content, [Content::text("c1 injected rows false c1 7 w")]);
    assert_eq!(receive.try_recv().expect("progress").content, [Content::text("half way")]);

    let error = call_with(context_of("other"), &tools, json!({"word": "w"})).await.expect_err("no attempt");
    assert_eq!(error, ToolError::failed("no attempt for other"));
}

#[test]
fn rule_1_5_a_missing_dependency_is_found_before_any_call() {
    let tools = toolset![injected];
    let error = tools.check(&State::default()).expect_err("nobody provided it");
    assert_eq!(
        error.to_string(),
        "the tool `injected` needs `tool_macro::Database`: give the agent one with `.provide(…)`"
    );
    let mut state = State::default();
    state.insert(Database("rows"));
    assert_eq!(tools.check(&state), Ok(()));
}

// --- 1.1: results ----------------------------------------------------------------------------------------------------

#[derive(Serialize)]
struct Forecast {
    degrees: i32,
}

#[derive(Debug, thiserror::Error)]
#[error("no forecast")]
struct NoForecast(#[source] std::io::Error);

struct OnlyDisplay;

impl fmt::Display for OnlyDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if f.alternate() { "all of\nit" } else { "some" })
    }
}

type Outcome<T> = Result<T, NoForecast>;

macro_rules! returning {
    ($($name:ident -> $type:ty = $value:expr;)*) => {
        $(
            /// Returns something.
            #[tool(inline)]
            fn $name() -> $type {
                $value
            }
        )*
    };
}

returning! {
    gives_str -> &'static str = "plain";
    gives_content -> Content = Content::text("content");
    gives_contents -> Vec<Content> = vec![Content::text("a"), Content::text("b")];
    gives_output -> ToolOutput = ToolOutput::error("bad").details(json!({"x": 1}));
    gives_struct -> Forecast = Forecast { degrees: 3 };
    gives_number -> u8 = 7;
    gives_unit -> () = ();
    gives_unit_result -> Result<(), String> = Ok(());
    gives_ok_content -> Outcome<Content> = Ok(Content::text("fine"));
    gives_units -> Outcome<Units> = Ok(Units::Celsius);
    fails_with_sources -> Outcome<()> = Err(NoForecast(std::io::Error::other("no sky")));
    fails_with_string -> Result<String, String> = Err("so it is".to_owned());
    fails_with_display -> Result<Content, OnlyDisplay> = Err(OnlyDisplay);
    fails_with_box -> Result<u8, Box<dyn std::error::Error>> = Err(Box::new(NoForecast(std::io::Error::other("no sky"))));
    fails_with_fatal -> Result<u8, ToolError> = Err(ToolError::fatal("stop"));
    fails_with_retry -> Result<u8, ToolError> = "x".parse::<u8>().or_retry("give a number");
    panics -> u8 = panic!("on purpose {}", 1);
}

#[tokio::test]
async fn rule_1_1_each_kind_of_result_reaches_the_model() {
    assert_eq!(text(&toolset![gives_str], json!({})).await, "plain");
    assert_eq!(text(&toolset![gives_content], json!({})).await, "content");
    let contents = call(&toolset![gives_contents], json!({})).await.expect("success");
    assert_eq!(contents, ToolOutput::content(vec![Content::text("a"), Content::text("b")]));
    assert_eq!(call(&toolset![gives_output], json!({})).await.expect("success"), gives_output());
    let forecast = call(&toolset![gives_struct], json!({})).await.expect("success");
    assert_eq!(forecast, ToolOutput::text("{\"degrees\":3}").details(json!({"degrees": 3})));
    assert_eq!(text(&toolset![gives_number], json!({})).await, "7");
    assert_eq!(text(&toolset![gives_unit], json!({})).await, "done");
    assert_eq!(text(&toolset![gives_unit_result], json!({})).await, "done");
    assert_eq!(text(&toolset![gives_ok_content], json!({})).await, "fine");
    assert_eq!(text(&toolset![gives_units], json!({})).await, "celsius");
}

#[tokio::test]
async fn rule_1_1_each_kind_of_error_reaches_the_model_in_one_line() {
    use ToolErrorKind::{Failed, Fatal, Retry};
    let none = || json!({});
    assert_eq!(failure(&toolset![fails_with_sources], none()).await, (Failed, "no forecast: no sky".to_owned()));
    assert_eq!(failure(&toolset![fails_with_string], none()).await, (Failed, "so it is".to_owned()));
    assert_eq!(failure(&toolset![fails_with_display], none()).await, (Failed, "all of it".to_owned()));
    assert_eq!(failure(&toolset![fails_with_box], none()).await, (Failed, "no forecast: no sky".to_owned()));
    assert_eq!(failure(&toolset![fails_with_fatal], none()).await, (Fatal, "stop".to_owned()));
    assert_eq!(
        failure(&toolset![fails_with_retry], none()).await,
        (Retry, "give a number: invalid digit found in string".to_owned())
    );
}

/// Panics on a thread that may block.
#[tool]
fn panics_blocking() {
    panic!("off the async threads");
}

#[tokio::test]
async fn rule_1_1_a_panic_is_a_failure_wherever_the_function_runs() {
    assert_eq!(failure(&toolset![panics], json!({})).await.1, "the tool panicked: on purpose 1");
    assert_eq!(failure(&toolset![panics_blocking], json!({})).await.1, "the tool panicked: off the async threads");
}

fn thread() -> String {
    format!("{:?}", std::thread::current().id())
}

/// The thread of a sync function.
#[tool]
fn thread_of_sync() -> String {
    thread()
}

/// The thread of an inline function.
#[tool(inline)]
fn thread_of_inline() -> String {
    thread()
}

#[tokio::test]
async fn rule_1_1_sync_functions_run_off_the_async_threads_unless_inline() {
    assert_ne!(text(&toolset![thread_of_sync], json!({})).await, thread());
    assert_eq!(text(&toolset![thread_of_inline], json!({})).await, thread());
}

// --- 1.2, 1.7, 1.8: attributes and registration ------------------------------------------------------------------------

mod inner {
    use agent_core::tool;

    #[tool(
        name = "All-Keys",
        label = "All keys",
        description = "Says everything.",
        read_only,
        idempotent = true,
        destructive = false,
        open_world,
        category = "tests",
        tags = ["a", "b"],
        sequential,
        timeout = "2m",
        retries = 3,
        terminate,
        cold,
        hidden
    )]
    pub(crate) fn all_keys() {}
}
use inner::all_keys as renamed_keys;

#[test]
fn rule_1_7_every_key_is_in_the_definition() {
    let tools = toolset![renamed_keys];
    let mut definition = serde_json::to_value(definition(&tools)).expect("serialisable");
    let source = definition.as_object_mut().and_then(|fields| fields.remove("source")).expect("a source");
    assert!(source["line"].as_u64().is_some_and(|line| line > 100), "{source}");
    assert!(source["file"].as_str().is_some_and(|file| file.ends_with("tool_macro.rs")), "{source}");
    assert_eq!(
        definition,
        json!({
            "name": "All-Keys",
            "label": "All keys",
            "description": "Says everything.",
            "input_schema": {"type": "object", "properties": {}, "additionalProperties": false},
            "read_only": true,
            "destructive": false,
            "idempotent": true,
            "open_world": true,
            "category": "tests",
            "tags": ["a", "b"],
            "sequential": true,
            "timeout": 120.0,
            "retries": 3,
            "terminate": true,
            "cold": true,
            "hidden": true,
        })
    );
}

#[test]
fn rule_1_8_linked_tools_are_sorted_by_name_and_know_their_place() {
    let tools = Toolset::linked();
    assert_eq!(tools.problems(), []);
    let names: Vec<&str> = tools.names_and_labels().iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(names.len() > 20 && names.contains(&"join_words") && names.contains(&"All-Keys"), "{names:?}");
    let (joined, _) = tools.get("join_words").expect("linked");
    assert!(matches!(joined.source, ToolSource::Function { file, .. } if file.ends_with("tool_macro.rs")));
}

#[test]
fn toolset_takes_local_functions_and_says_what_is_no_tool() {
    /// A tool inside a function.
    #[tool]
    fn local_tool() {}

    fn no_tool() {}

    assert_eq!(
        toolset![local_tool, inner::all_keys].names_and_labels(),
        [("local_tool", "Local tool"), ("All-Keys", "All keys")]
    );
    let tools = toolset![no_tool];
    assert!(tools.is_empty());
    let [problem] = tools.problems() else { panic!("one problem: {:?}", tools.problems()) };
    let text = problem.to_string();
    assert!(text.ends_with("no_tool` is no tool: put `#[tool]` on the function"), "{text}");
}
