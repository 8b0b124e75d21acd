use agent_core::tool;

/// Greets.
#[tool(timeout = "0s")]
fn greet() {}

fn main() {}
