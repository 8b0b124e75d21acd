use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[cfg(unix)] name: String) -> String {
    name
}

fn main() {}
