use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{Agent, Session, Toolset, json, tool};

/// How many characters a text has.
#[tool]
fn count_characters(text: &str) -> usize {
    text.chars().count()
}

fn main() {
    let model = ScriptedProvider::new([Reply::calling("count_characters", json!({"text": "Grüße"})), Reply::text("Five.")]);
    let agent = Agent::builder(model).model("scripted").tools(Toolset::linked()).build().unwrap();
    let mut session = Session::in_memory();
    agent.run(&mut session, "How long is Grüße?").wait().unwrap();
    println!("{}", session.messages()[2].as_tool_result().unwrap().text());
}
