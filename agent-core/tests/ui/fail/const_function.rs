use agent_core::tool;

/// Greets.
#[tool]
const fn greet() {}

fn main() {}
