use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(flatten)] name: String) -> String {
    name
}

fn main() {}
