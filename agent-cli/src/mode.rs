//! How a run is shown, and what its end means to whoever started the process.

use std::collections::HashSet;

use agent_core::{Agent, AgentEvent, EndReason, Outcome, RunError, Session};
use futures_util::StreamExt;

use crate::error::{CliError, Kind};
use crate::interrupt::Interrupt;

pub(crate) mod json;
pub(crate) mod print;

/// What shows the events of a run.
pub(crate) trait FrontEnd {
    /// Shows one event. An error means nobody can be shown anything any more.
    fn show(&mut self, event: &AgentEvent) -> Result<(), CliError>;
}

/// Runs a prompt to its end. A front end that fails, like a signal, aborts it: the session is left whole.
pub(crate) async fn run(
    agent: &Agent,
    session: &mut Session,
    prompt: String,
    front_end: &mut dyn FrontEnd,
    interrupt: &Interrupt,
) -> Result<(), CliError> {
    let mut run = agent.run(session, prompt);
    let control = run.control();
    let mut shown = Ok(());
    let mut denied = HashSet::new();
    let mut aborted = false;
    loop {
        let event = tokio::select! {
            biased;
            () = interrupt.token().cancelled(), if !aborted => {
                aborted = true;
                control.abort();
                continue;
            }
            event = run.next() => event,
        };
        let Some(event) = event else { break };
        if let AgentEvent::ToolDenied { result } = &event {
            denied.insert(result.tool_name.clone());
        }
        if shown.is_ok() {
            shown = front_end.show(&event);
            if shown.is_err() {
                control.abort();
            }
        }
    }
    let outcome = run.await;
    shown?;
    conclude(outcome, denied, interrupt.came())
}

fn conclude(outcome: Result<Outcome, RunError>, denied: HashSet<String>, interrupted: bool) -> Result<(), CliError> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return Err(run_error(&error)),
    };
    match outcome.reason {
        EndReason::Done if outcome.text.trim().is_empty() => {
            Err(CliError::failed("the model gave an empty answer").hint("ask again with --continue"))
        }
        EndReason::Done | EndReason::Terminated if denied.is_empty() => Ok(()),
        EndReason::Done | EndReason::Terminated => {
            let mut tools: Vec<String> = denied.into_iter().collect();
            tools.sort();
            Err(CliError::new(Kind::Denied, format!("calls of these tools were denied: {}", tools.join(", "))))
        }
        EndReason::Aborted if interrupted => Err(CliError::interrupted()),
        EndReason::Limit { limit } => Err(CliError::new(Kind::Limit, format!("a limit ended the run: {limit}"))),
        EndReason::Length => {
            Err(CliError::new(Kind::Limit, "the model's answer was cut at its limit of output tokens"))
        }
        EndReason::Refused => Err(CliError::failed("the model refused to answer")),
        EndReason::Filtered => Err(CliError::failed("the service's content filter cut the answer")),
        EndReason::Stopped { message } => Err(CliError::failed(format!("the run was stopped: {message}"))),
        EndReason::Failed { error } => Err(CliError::failed(error)),
        // Other ends that a later version of the loop may know are no success either.
        other => Err(CliError::failed(format!("the run ended early: {other:?}"))),
    }
}

fn run_error(error: &RunError) -> CliError {
    use agent_core::ErrorKind::{Auth, Connection, ContextOverflow, NotFound, Quota};
    let hint = match error {
        RunError::Provider(error) => match error.kind {
            Auth => Some("the service does not accept the key: look at the provider's api_key or its variable"),
            NotFound => Some("is the model's name right, and the base URL? see --model and `base_url`"),
            Connection => Some("is the server running, and the base URL right?"),
            Quota => Some("the account has no credit left, or its quota is used up"),
            ContextOverflow => Some("the conversation no longer fits into the model's window: begin a new session"),
            _ => None,
        },
        RunError::Session(_) => Some("nothing that was written so far is lost"),
        _ => None,
    };
    let error = CliError::failed(error.to_string());
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
