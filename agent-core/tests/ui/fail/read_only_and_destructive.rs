use agent_core::tool;

/// Greets.
#[tool(read_only, destructive)]
fn greet() {}

fn main() {}
