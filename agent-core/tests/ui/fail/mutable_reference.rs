use agent_core::tool;

/// Greets.
#[tool]
fn greet(name: &mut String) {
    name.clear();
}

fn main() {}
