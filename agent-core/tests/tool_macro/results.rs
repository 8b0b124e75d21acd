//! What a function gives back.

use std::fmt;

use agent_core::tool::ToolErrorKind;
use agent_core::{Content, OrRetry, ToolError, ToolOutput, tool, toolset};
use serde::Serialize;
use serde_json::json;

use crate::parameters::Units;
use crate::{call, failure, text};

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
