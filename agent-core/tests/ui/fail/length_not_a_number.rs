use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(length = 1..="x")] name: String) -> String {
    name
}

fn main() {}
