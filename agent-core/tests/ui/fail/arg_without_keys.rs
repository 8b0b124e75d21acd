use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg] name: String) -> String {
    name
}

fn main() {}
