use agent_core::tool;

/// Greets.
#[tool(name = "")]
fn greet() {}

fn main() {}
