use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(rename = "first name")] name: String) -> String {
    name
}

fn main() {}
