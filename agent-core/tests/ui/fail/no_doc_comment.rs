use agent_core::tool;

#[tool]
fn greet(name: String) -> String {
    name
}

fn main() {}
