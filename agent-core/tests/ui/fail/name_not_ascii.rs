use agent_core::tool;

/// Greets.
#[tool]
fn grüße() {}

fn main() {}
