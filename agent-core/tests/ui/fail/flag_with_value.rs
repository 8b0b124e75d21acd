use agent_core::tool;

/// Greets.
#[tool(read_only = "yes")]
fn greet() {}

fn main() {}
