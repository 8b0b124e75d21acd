use agent_core::tool;

/// Greets.
#[tool(crate = 3)]
fn greet() {}

fn main() {}
