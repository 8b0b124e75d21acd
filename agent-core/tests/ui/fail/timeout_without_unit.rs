use agent_core::tool;

/// Greets.
#[tool(timeout = "30")]
fn greet() {}

fn main() {}
