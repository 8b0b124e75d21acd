use agent_core::tool;

/// Greets.
#[tool]
fn greet(#[arg(default = "Ada", length = ..=2)] name: &str) -> String {
    name.to_owned()
}

fn main() {}
