use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[args] name: String) -> String {
    name
}

fn main() {}
