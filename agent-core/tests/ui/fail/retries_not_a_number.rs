use agent_core::tool;

/// Greets.
#[tool(read_only, retries = "twice")]
fn greet() {}

fn main() {}
