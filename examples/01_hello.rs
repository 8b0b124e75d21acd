//! Two tools, a scripted model, one run: the whole of it in one page.
//!
//! `cargo run -p examples --example 01_hello`

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{Agent, Session, Toolset, tool};
use serde_json::json;

/// Current weather for a city.
#[tool(read_only)]
fn get_weather(
    /// City and country, e.g. "Oslo, Norway".
    city: &str,
) -> String {
    format!("{city}: 4 °C, rain until the evening")
}

/// Sends a person a note.
#[tool]
async fn send_note(
    /// Who gets it.
    to: String,
    /// What it says.
    text: String,
) -> String {
    format!("sent to {to}: {text}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    // A real program puts `OpenAi` or `Anthropic` here; nothing else changes.
    let model = ScriptedProvider::new([
        Reply::calling("get_weather", json!({"city": "Oslo, Norway"})),
        Reply::calling("send_note", json!({"to": "Ida", "text": "Take an umbrella."})),
        Reply::text("It rains in Oslo, so I told Ida to take an umbrella."),
    ]);
    let agent = Agent::builder(model).model("scripted").tools(Toolset::linked()).build()?;
    let mut session = Session::in_memory();
    let outcome = agent.run(&mut session, "Should Ida take an umbrella?").await?;

    for result in session.messages().iter().filter_map(|message| message.as_tool_result()) {
        println!("{} → {}", result.tool_name, result.text());
    }
    println!("{}", outcome.text);
    Ok(())
}
