use agent_core::tool;

/// Greets.
#[tool(tags = "a")]
fn greet() {}

fn main() {}
