use agent_core::tool;

/// Greets.
#[tool]
fn greet(name: &dyn std::fmt::Display) -> String {
    name.to_string()
}

fn main() {}
