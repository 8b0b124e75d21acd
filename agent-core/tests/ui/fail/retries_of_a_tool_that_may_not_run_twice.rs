use agent_core::tool;

/// Greets.
#[tool(retries = 2)]
fn greet() {}

fn main() {}
