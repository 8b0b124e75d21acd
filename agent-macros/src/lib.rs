//! The `#[tool]` attribute of `agent-core`, which re-exports and documents it.
//!
//! A function is read (`model`), judged (`check`) and expanded (`expand`); a rejected one is given back unchanged
//! with its errors (`fallback`).

mod nearest;
mod errors;
mod group;
mod text;
mod attr;
mod model;
mod limits;
mod check;
mod krate;
mod fallback;
mod expand;

use proc_macro::TokenStream;

/// Makes a tool of an ordinary free function (none in an `impl` or `trait`); the function itself stays as it is.
///
/// The doc comment is the tool's description, the parameters are its arguments and their doc comments describe them.
/// A parameter is either read from the model's arguments (`serde::Deserialize + schemars::JsonSchema`; `&str`, `&Path`,
/// `&[T]` and `&T` are borrowed from such) or handed in by the agent (`&ToolContext`, `Dep<T>`, `CancellationToken`,
/// `Progress`, `CallId`, and every type with `Inject`). The tool is registered when the program is linked.
///
/// ```ignore
/// /// Current weather for a city.
/// #[tool(read_only)]
/// async fn get_weather(
///     /// City and country, e.g. "Oslo, Norway"
///     city: &str,
///     #[arg(default)] units: Units,
///     http: Dep<HttpClient>,
/// ) -> Result<Forecast, WeatherError> {
///     http.forecast(city, units).await
/// }
/// ```
///
/// A doc comment keeps its lines as written: it is part of the prompt, so that rewrapping it changes the prompt.
///
/// # What a tool may return
///
/// | returned | the model reads |
/// |---|---|
/// | `String`, `&str`, and what serialises to a JSON string | the text |
/// | `()` | `done` |
/// | `Content`, `Vec<Content>`, `ToolOutput` | that content |
/// | any other `Serialize` | compact JSON; a front end finds the same value in `details` |
/// | `Result<T, E>` with any `E: Display` | `T` as above, or the error with its sources in one line; a `ToolError` keeps its kind |
///
/// A panic is a failure that the model is told of. Aliases of any of these types work.
///
/// # Keys of `#[tool(…)]`
///
/// | key | meaning |
/// |---|---|
/// | `name = "…"` | what the model calls it (1–64 of `A-Z a-z 0-9 _ -`); default: the function's name |
/// | `label = "…"` | what people call it; default: the name in words |
/// | `description = "…"` | instead of the doc comment |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | what it does to the world |
/// | `category = "…"`, `tags = ["…"]` | what to find it by |
/// | `sequential` | no other call runs beside it |
/// | `timeout = "30s"` | the longest a call may take (`ms`, `s`, `m`, `h`) |
/// | `retries = 2` | how often a failed call is repeated; needs `idempotent` or `read_only` |
/// | `terminate` | a run may end after it without asking the model again |
/// | `cold` | only in the catalog until loaded by name |
/// | `hidden` | left out of lists for people |
/// | `inline` | a sync function runs on the async thread: for quick pure ones; default: on a thread that may block |
/// | `crate = path` | where `agent_core` is, if it is reached through another crate's re-export |
///
/// # Keys of `#[arg(…)]` on a parameter
///
/// | key | meaning |
/// |---|---|
/// | `default`, `default = expr` | may be left out, and is then this; shown in the schema |
/// | `rename = "…"` | its name in the schema |
/// | `description = "…"` | instead of its doc comment |
/// | `example = expr` | shown in the schema |
/// | `range = 1..=10` | least and greatest value of a number; either end may be missing |
/// | `length = 1..=80` | least and greatest length, of a text in characters, of a list in elements |
///
/// Limits of the type itself (`u8` ends at 255, `#[schemars(range(…))]` on a field) count along with these. All of them
/// are checked before the function runs. `pattern` and `format` in a schema (`#[schemars(regex(…))]`, `email`) are not:
/// they tell the model what is wanted, and what comes nevertheless is for the function to judge.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand_tool(attribute.into(), &group::open_item(item.into())).into()
}

fn expand_tool(attribute: proc_macro2::TokenStream, item: &proc_macro2::TokenStream) -> proc_macro2::TokenStream {
    let function = match model::read(item.clone()) {
        Ok(function) => function,
        Err(error) => return fallback::unreadable(item, &error),
    };
    let mut errors = errors::Errors::default();
    let attr = attr::read(attribute, &mut errors);
    let params = model::read_params(&function, &mut errors);
    let tool = check::check(&function, attr, params, &mut errors);
    match (tool, errors.into_error()) {
        (Some(tool), None) => expand::expand(&function, &tool),
        (_, error) => fallback::rejected(&function, error.as_ref()),
    }
}
