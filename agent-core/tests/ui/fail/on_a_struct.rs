use agent_core::tool;

/// Greets.
#[tool]
pub struct Greet;

fn main() {}
