use agent_core::tool;

/// Waits.
#[tool]
fn wait() -> ! {
    loop {}
}

fn main() {}
