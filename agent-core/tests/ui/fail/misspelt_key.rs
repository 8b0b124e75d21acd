use agent_core::tool;

/// Greets.
#[tool(timout = "30s")]
fn greet() {}

fn main() {}
