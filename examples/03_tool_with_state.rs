//! Tools that need something of the program: a `Dep<T>` parameter is filled by type and never shown to the model.
//!
//! `cargo run -p examples --example 03_tool_with_state`

use std::collections::BTreeMap;
use std::sync::Mutex;

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{Agent, Dep, OrRetry, Session, ToolContext, ToolError, Toolset, tool};
use serde_json::json;

/// What the tools share.
#[derive(Default)]
struct Shelf {
    books: Mutex<BTreeMap<String, u32>>,
}

/// Puts copies of a book on the shelf.
#[tool]
fn add_book(
    shelf: Dep<Shelf>,
    /// The book's title.
    title: String,
    /// How many copies.
    #[arg(default = 1)]
    copies: u32,
) -> Result<String, ToolError> {
    let mut books = shelf.books.lock().map_err(|_| ToolError::fatal("the shelf fell over"))?;
    let count = books.entry(title.clone()).or_default();
    *count += copies;
    Ok(format!("{title}: {count} on the shelf"))
}

/// Takes one copy of a book off the shelf.
#[tool]
fn take_book(
    shelf: Dep<Shelf>,
    context: &ToolContext,
    /// The book's title.
    title: &str,
) -> Result<String, ToolError> {
    let mut books = shelf.books.lock().map_err(|_| ToolError::fatal("the shelf fell over"))?;
    let titles = books.keys().cloned().collect::<Vec<_>>().join(", ");
    let count = books.get_mut(title).filter(|count| **count > 0);
    let count = count.or_retry(&format!("no `{title}` on the shelf; there are: {titles}"))?;
    *count -= 1;
    Ok(format!("call {} took {title}", context.call_id()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    // Without the shelf the agent does not build: a forgotten dependency is no surprise in the middle of a run.
    let forgotten = Agent::builder(ScriptedProvider::new([])).model("scripted").tools(Toolset::linked()).build();
    println!("{}\n", forgotten.expect_err("nobody provided a shelf"));

    let model = ScriptedProvider::new([
        Reply::calling("add_book", json!({"title": "Emma", "copies": 2})),
        Reply::calling("take_book", json!({"title": "Ema"})),
        Reply::calling("take_book", json!({"title": "Emma"})),
        Reply::text("You have Emma."),
    ]);
    let agent = Agent::builder(model).model("scripted").tools(Toolset::linked()).provide(Shelf::default()).build()?;
    let mut session = Session::in_memory();
    agent.run(&mut session, "Get me Emma.").await?;
    for result in session.messages().iter().filter_map(|message| message.as_tool_result()) {
        println!("{}", result.text());
    }

    // The functions are ordinary functions: a unit test calls them.
    let shelf = Dep::new(Shelf::default());
    println!("{}", add_book(shelf, "Ulysses".into(), 3).map_err(|error| anyhow::anyhow!(error.to_string()))?);
    Ok(())
}
