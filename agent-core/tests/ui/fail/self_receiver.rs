use agent_core::tool;

/// Echoes.
#[tool]
fn echo(&self, value: String) -> String {
    value
}

fn main() {}
