use agent_core::tool;

/// Greets.
#[tool]
fn greet(names: ...) {}

fn main() {}
