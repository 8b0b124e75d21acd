use agent_core::tool;

/// Waits.
#[tool]
async fn wait() {
    let count = std::rc::Rc::new(1);
    std::future::ready(()).await;
    drop(count);
}

fn main() {}
