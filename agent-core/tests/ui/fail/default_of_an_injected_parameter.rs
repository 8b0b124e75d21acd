use agent_core::tool;

use agent_core::CancellationToken;

/// Waits.
#[tool]
fn wait(#[arg(default)] token: CancellationToken) {
    drop(token);
}

fn main() {}
