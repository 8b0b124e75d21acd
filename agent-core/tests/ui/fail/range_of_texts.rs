use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(range = "a"..="z")] name: String) -> String {
    name
}

fn main() {}
