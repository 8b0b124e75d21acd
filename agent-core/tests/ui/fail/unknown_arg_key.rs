use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(renamed = "who")] name: String) -> String {
    name
}

fn main() {}
