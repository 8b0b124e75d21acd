use agent_core::tool;

/// Greets.
#[tool]
fn greet(name: &'static str) -> String {
    name.to_owned()
}

fn main() {}
