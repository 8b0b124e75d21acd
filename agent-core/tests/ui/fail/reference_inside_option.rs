use agent_core::tool;

/// Greets.
#[tool]
fn greet(name: Option<&str>) -> String {
    name.unwrap_or("you").to_owned()
}

fn main() {}
