//! `agent tools`: list, show and call tools, without a model.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{
    CancellationToken, Content, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, Toolset, schema,
};
use serde_json::{Map, Value, json};

use super::{block_on, prompt};
use crate::args::{OutputArg, ToolsCommand};
use crate::config::Environment;
use crate::error::CliError;
use crate::interrupt::Interrupt;
use crate::output::{self, Look};
use crate::setup;

/// How long an interrupted tool may take to hand over what it has.
const GRACE: Duration = Duration::from_millis(600);

pub(super) fn run(command: ToolsCommand) -> Result<(), CliError> {
    match command {
        ToolsCommand::List { output } => list(&output),
        ToolsCommand::Show { name, output } => show(&name, &output),
        ToolsCommand::Call { name, arguments, dir, output } => {
            let env = Environment::capture()?;
            let context = ToolContext::new(setup::working_dir(&dir, &env)?).with_state(setup::tool_state(&env));
            call(&name, &arguments, context, &output)
        }
    }
}

fn list(output: &OutputArg) -> Result<(), CliError> {
    let tools = setup::all_tools()?;
    let shown = tools.iter().map(|(definition, _)| definition).filter(|definition| !definition.hidden);
    if output.is_json() {
        return shown.into_iter().try_for_each(output::print_json);
    }
    let row = |definition: &Arc<ToolDefinition>| {
        [definition.name.clone(), definition.label.clone(), definition.source.to_string()]
    };
    output::print(&output::table(&shown.map(row).collect::<Vec<_>>()))
}

fn show(name: &str, output: &OutputArg) -> Result<(), CliError> {
    let tools = setup::all_tools()?;
    let (definition, _) = find(&tools, name)?;
    if output.is_json() {
        return output::print_json(definition);
    }
    let mut text =
        format!("{} ({})\n{}\n\n{}\n", definition.name, definition.label, definition.source, definition.description);
    let effects = definition.effects;
    let said = [
        (effects.read_only, "changes nothing"),
        (effects.destructive, "may destroy something"),
        (effects.idempotent, "may be called twice"),
        (effects.open_world, "reaches beyond this machine"),
    ];
    let said: Vec<&str> = said.into_iter().filter_map(|(holds, word)| holds.then_some(word)).collect();
    if !said.is_empty() {
        let _ = write!(text, "\nEffects: {}\n", said.join(", "));
    }
    let _ = write!(text, "\nArguments (JSON Schema):\n{:#}\n", definition.input_schema);
    output::print(&text)
}

fn call(name: &str, arguments: &str, context: ToolContext, output: &OutputArg) -> Result<(), CliError> {
    let tools = setup::all_tools()?;
    let (definition, tool) = find(&tools, name)?;
    let arguments = if arguments == "-" { prompt::read_stdin("arguments")? } else { arguments.to_owned() };
    let arguments = read_arguments(definition, &arguments)?;
    let interrupt = Interrupt::watch()?;
    let outcome = block_on(async { Ok(invoke(definition, tool, arguments, context, interrupt.token()).await) })?;
    let Some(outcome) = outcome else {
        return Err(CliError::interrupted());
    };
    let answer = outcome.unwrap_or_else(|error| ToolOutput::error(error.message()));
    if output.is_json() {
        output::print_json(&json!({
            "type": "tool_output",
            "tool": definition.name,
            "is_error": answer.is_error,
            "content": answer.content,
            "details": answer.details,
        }))?;
    } else if answer.is_error {
        output::note(&Look::of_stderr(true).safe(&text_of(&answer)));
    } else {
        output::print(&format!("{}\n", Look::of_stdout(true).safe(&text_of(&answer))))?;
    }
    match answer.is_error {
        _ if interrupt.came() => Err(CliError::interrupted()),
        true => Err(CliError::failed(format!("{name} says it failed"))),
        false => Ok(()),
    }
}

/// The tool of this name.
pub(super) fn find<'a>(
    tools: &'a Toolset,
    name: &str,
) -> Result<(&'a Arc<ToolDefinition>, &'a Arc<dyn Tool>), CliError> {
    tools.get(name).ok_or_else(|| {
        let names: Vec<&str> = tools.names_and_labels().into_iter().map(|(name, _)| name).collect();
        CliError::usage(format!("there is no tool `{name}`"))
            .did_you_mean(name, names.iter().copied())
            .hint(format!("tools: {}", names.join(", ")))
    })
}

fn read_arguments(definition: &ToolDefinition, text: &str) -> Result<Map<String, Value>, CliError> {
    let hint = format!("what it takes: agent tools show {}", definition.name);
    let value: Value = serde_json::from_str(text)
        .map_err(|error| CliError::usage("the arguments are not JSON").with_source(error).hint(hint.as_str()))?;
    let Value::Object(arguments) = value else {
        return Err(CliError::usage("the arguments are not a JSON object").hint(hint));
    };
    let checked = schema::check_arguments(&definition.input_schema, arguments).map_err(|problems| {
        let error = CliError::usage(format!("the arguments of {} do not fit", definition.name));
        problems.to_string().lines().fold(error, CliError::hint).hint(hint)
    })?;
    Ok(checked.arguments)
}

/// Runs a tool once, outside of any run. `None`: it was interrupted and gave nothing in time.
pub(super) async fn invoke(
    definition: &ToolDefinition,
    tool: &Arc<dyn Tool>,
    arguments: Map<String, Value>,
    context: ToolContext,
    cancellation: &CancellationToken,
) -> Option<Result<ToolOutput, ToolError>> {
    let own = cancellation.child_token();
    let context = context.with_call("call", &definition.name).with_cancellation(own.clone());
    let mut call = tool.call(context, arguments);
    let limit = definition.timeout.unwrap_or(Duration::MAX);
    tokio::select! {
        biased;
        outcome = &mut call => return Some(outcome),
        () = cancellation.cancelled() => {}
        () = tokio::time::sleep(limit) => {}
    }
    own.cancel();
    let outcome = tokio::time::timeout(GRACE, &mut call).await.ok();
    match outcome {
        None if !cancellation.is_cancelled() => {
            Some(Err(ToolError::failed(format!("The tool took longer than {} s.", limit.as_secs_f64()))))
        }
        outcome => outcome,
    }
}

/// What a tool gave, as text; an image is named.
pub(super) fn text_of(answer: &ToolOutput) -> String {
    let pieces: Vec<String> = answer
        .content
        .iter()
        .map(|piece| match piece {
            Content::Text { text } => text.trim_end_matches('\n').to_owned(),
            Content::Image { data, media_type } => format!("[{media_type}, {} bytes of base64]", data.len()),
        })
        .collect();
    pieces.join("\n")
}
