use agent_core::tool;

/// Greets.
#[tool]
fn greet(name: impl ToString) -> String {
    name.to_string()
}

fn main() {}
