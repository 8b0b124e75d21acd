use agent_core::tool;

#[tool]
fn greet(name: String) -> String {
    let unfinished = name.
}

fn main() {}
