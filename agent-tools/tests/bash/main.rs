//! The `bash` tool in a program that has no supervisor. Linux only, as the cases look into `/proc`.
#![cfg(target_os = "linux")]

use agent_core::toolset;

mod cases;

// One after the other, in one test: they count this process's descriptors and children.
#[test]
fn rule_4_6_to_4_9_hold_without_a_supervisor() {
    for (name, case) in cases::ALL {
        println!("{name}");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(case());
    }
}

#[test]
fn rule_1_3_the_model_sees_a_command_and_a_timeout() {
    let tools = toolset![agent_tools::bash::bash];
    let (definition, _) = tools.get("bash").expect("the tool");
    let properties = definition.input_schema["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["command", "timeout"]);
    assert_eq!(definition.input_schema["required"], serde_json::json!(["command"]));
    assert!(definition.effects.destructive && !definition.effects.read_only);
}
