use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(range = 1..=10)] name: String) -> String {
    name
}

fn main() {}
