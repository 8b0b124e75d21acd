//! Keys of the attribute, and the table of linked tools.

use agent_core::tool::ToolSource;
use agent_core::{Toolset, tool, toolset};
use serde_json::json;

use crate::definition;
use crate::parameters::join_words;

mod inner {
    use agent_core::tool;

    #[tool(
        name = "All-Keys",
        label = "All keys",
        description = "Says everything.",
        read_only,
        idempotent = true,
        destructive = false,
        open_world,
        category = "tests",
        tags = ["a", "b"],
        sequential,
        timeout = "2m",
        retries = 3,
        terminate,
        cold,
        hidden
    )]
    pub(crate) fn all_keys() {}
}
use inner::all_keys as renamed_keys;

#[test]
fn rule_1_7_every_key_is_in_the_definition() {
    let tools = toolset![renamed_keys];
    let mut definition = serde_json::to_value(definition(&tools)).expect("serialisable");
    let source = definition.as_object_mut().and_then(|fields| fields.remove("source")).expect("a source");
    assert!(source["line"].as_u64().is_some_and(|line| line > 5), "{source}");
    assert!(source["file"].as_str().is_some_and(|file| file.ends_with("registration.rs")), "{source}");
    assert_eq!(
        definition,
        json!({
            "name": "All-Keys",
            "label": "All keys",
            "description": "Says everything.",
            "input_schema": {"type": "object", "properties": {}, "additionalProperties": false},
            "read_only": true,
            "destructive": false,
            "idempotent": true,
            "open_world": true,
            "category": "tests",
            "tags": ["a", "b"],
            "sequential": true,
            "timeout": 120.0,
            "retries": 3,
            "terminate": true,
            "cold": true,
            "hidden": true,
        })
    );
}

#[test]
fn rule_1_8_linked_tools_are_sorted_by_name_and_know_their_place() {
    let tools = Toolset::linked();
    assert_eq!(tools.problems(), []);
    let names: Vec<&str> = tools.names_and_labels().iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(names.len() > 20 && names.contains(&"join_words") && names.contains(&"All-Keys"), "{names:?}");
    let (joined, _) = tools.get("join_words").expect("linked");
    assert!(matches!(joined.source, ToolSource::Function { file, .. } if file.ends_with("parameters.rs")));
}

#[test]
fn rule_1_8_a_second_tool_of_a_name_is_a_problem_that_names_both_places() {
    let tools = toolset![join_words].and(toolset![join_words]);
    let [problem] = tools.problems() else { panic!("one problem: {:?}", tools.problems()) };
    assert_eq!(problem.to_string().matches("parameters.rs:").count(), 2, "{problem}");
    assert_eq!(tools.len(), 1);
}

#[test]
fn toolset_takes_local_functions_and_says_what_is_no_tool() {
    /// A tool inside a function.
    #[tool]
    fn local_tool() {}

    fn no_tool() {}

    assert_eq!(
        toolset![local_tool, inner::all_keys].names_and_labels(),
        [("local_tool", "Local tool"), ("All-Keys", "All keys")]
    );
    let tools = toolset![no_tool];
    assert!(tools.is_empty());
    let [problem] = tools.problems() else { panic!("one problem: {:?}", tools.problems()) };
    let text = problem.to_string();
    assert!(text.ends_with("no_tool` is no tool: put `#[tool]` on the function"), "{text}");
}
