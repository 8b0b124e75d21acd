use agent_core::tool;

/// Greets.
#[tool(name = "say hello")]
fn greet() {}

fn main() {}
