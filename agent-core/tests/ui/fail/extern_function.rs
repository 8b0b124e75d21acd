use agent_core::tool;

/// Greets.
#[tool]
extern "C" fn greet() {}

fn main() {}
