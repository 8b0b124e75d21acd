use agent_core::tool;

/// Greets.
#[tool(name = 3)]
fn greet() {}

fn main() {}
