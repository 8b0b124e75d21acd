use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(example)] name: String) -> String {
    name
}

fn main() {}
