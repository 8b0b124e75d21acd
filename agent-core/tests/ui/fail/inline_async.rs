use agent_core::tool;

/// Greets.
#[tool(inline)]
async fn greet() {}

fn main() {}
