use agent_core::tool;

/// Greets.
#[tool(zebra)]
fn greet() {}

fn main() {}
