use agent_core::tool;

/// Greets.
#[tool]
unsafe fn greet() {}

fn main() {}
