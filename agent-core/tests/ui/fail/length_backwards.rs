use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(length = 10..=1)] name: &str) -> String {
    name.to_owned()
}

fn main() {}
