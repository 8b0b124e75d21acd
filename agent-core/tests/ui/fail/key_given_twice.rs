use agent_core::tool;

/// Greets.
#[tool(label = "a", label = "b")]
fn greet() {}

fn main() {}
