//! A run is a stream of events: text as it comes, tools as they start, report and end; and it can be stopped.
//!
//! `cargo run -p examples --example 04_stream_events`

use std::io::Write as _;

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{Agent, AgentEvent, Session, ToolContext, Toolset, tool};
use futures_util::StreamExt as _;
use serde_json::json;

/// Counts down.
#[tool]
async fn count_down(
    context: &ToolContext,
    /// Where to begin.
    from: u32,
) -> Result<String, String> {
    for number in (1..=from).rev() {
        if context.is_cancelled() {
            return Err(format!("stopped at {number}"));
        }
        context.progress(format!("{number}…"));
        tokio::task::yield_now().await;
    }
    Ok("lift-off".into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let model = ScriptedProvider::new([
        Reply::text("Counting. ").call("count_down", json!({"from": 3})),
        Reply::text("And once more. ").call("count_down", json!({"from": 1000})),
    ]);
    let agent = Agent::builder(model).model("scripted").tools(Toolset::linked()).build()?;
    let mut session = Session::in_memory();

    let mut run = agent.run(&mut session, "Count down from three.");
    let control = run.control();
    let mut reports = 0;
    while let Some(event) = run.next().await {
        match event {
            AgentEvent::TextDelta { text, .. } => {
                print!("{text}");
                std::io::stdout().flush()?;
            }
            AgentEvent::ToolStarted { call, label, .. } => println!("\n[{label}] {}", json!(call.arguments)),
            AgentEvent::ToolProgress { update, .. } => {
                println!("  {}", update.content[0].as_text().unwrap_or_default());
                reports += 1;
                if reports == 6 {
                    // What a person would do with Ctrl-C: everything open gets its result, then the run is over.
                    control.abort();
                }
            }
            AgentEvent::ToolFinished { result } => println!("  → {}", result.text()),
            AgentEvent::RunFinished { reason, .. } => println!("over: {}", serde_json::to_string(&reason)?),
            _ => {}
        }
    }
    run.await?;
    Ok(())
}
