//! An answer as it came out of a provider, checked against what the [`Provider`] trait promises.

use std::collections::BTreeMap;

use agent_core::message::{AssistantMessage, Part, StopReason, ToolCall, Usage};
use agent_core::provider::{ModelEvent, ModelRequest, PartKind, Provider, ProviderError};
use futures_util::StreamExt;

/// Everything that came of one request.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Option<StopReason>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) error: Option<ProviderError>,
    /// The text of parts that began and were not finished.
    pub(crate) unfinished: Vec<String>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None })
            .collect()
    }

    pub(crate) fn thinking(&self) -> String {
        let text = |part: &Part| if let Part::Thinking { text, .. } = part { Some(text.clone()) } else { None };
        self.parts.iter().filter_map(text).collect()
    }

    pub(crate) fn calls(&self) -> Vec<&ToolCall> {
        self.parts.iter().filter_map(|part| if let Part::ToolCall(call) = part { Some(call) } else { None }).collect()
    }

    /// The only call there is.
    pub(crate) fn call(&self) -> &ToolCall {
        assert_eq!(self.calls().len(), 1, "one call: {:#?}", self.parts);
        self.calls()[0]
    }

    /// The error there must be.
    pub(crate) fn failure(&self) -> &ProviderError {
        self.error.as_ref().unwrap_or_else(|| panic!("an error, not {self:#?}"))
    }

    /// The message a session would keep.
    pub(crate) fn message(&self, provider: &str, model: &str) -> AssistantMessage {
        assert_eq!(self.error, None);
        AssistantMessage {
            parts: self.parts.clone(),
            stop: self.stop.unwrap(),
            usage: self.usage,
            provider: provider.to_owned(),
            model: model.to_owned(),
        }
    }
}

/// Asks, and checks the order of what comes.
pub(crate) async fn ask(provider: &dyn Provider, request: &ModelRequest) -> Answer {
    let mut stream = provider.stream(request);
    let mut answer = Answer::default();
    let mut open: BTreeMap<usize, (PartKind, String)> = BTreeMap::new();
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    while let Some(event) = stream.next().await {
        assert!(answer.stop.is_none() && answer.error.is_none(), "nothing follows the end: {event:?}");
        match &event {
            Err(error) => answer.error = Some(error.clone()),
            Ok(ModelEvent::PartStarted { index, kind }) => {
                if let PartKind::ToolCall { id, name } = kind {
                    assert!(!id.is_empty() && !name.is_empty(), "a call begins with id and name: {event:?}");
                }
                assert!(open.insert(*index, (kind.clone(), String::new())).is_none() && !parts.contains_key(index));
            }
            Ok(ModelEvent::PartDelta { index, delta }) => {
                assert!(!delta.is_empty(), "a delta brings something");
                open.get_mut(index).unwrap_or_else(|| panic!("{event:?} before its part began")).1.push_str(delta);
            }
            Ok(ModelEvent::PartFinished { index, part }) => {
                check_part(open.remove(index), part);
                assert!(parts.insert(*index, part.clone()).is_none(), "a part is finished once");
            }
            Ok(ModelEvent::Usage(usage)) => answer.usage = *usage,
            Ok(ModelEvent::Finished { stop, model }) => {
                assert!(open.is_empty(), "every part is finished before the answer is: {open:?}");
                answer.stop = Some(*stop);
                answer.model.clone_from(model);
            }
        }
        answer.events.extend(event);
    }
    assert!(answer.stop.is_some() || answer.error.is_some(), "the end is always told");
    answer.parts = parts.into_values().collect();
    answer.unfinished = open.into_values().map(|(_, text)| text).collect();
    answer
}

fn check_part(started: Option<(PartKind, String)>, part: &Part) {
    match (started, part) {
        (Some((PartKind::Text, pieces)), Part::Text { text })
        | (Some((PartKind::Thinking, pieces)), Part::Thinking { text, .. }) => assert_eq!(pieces, *text),
        (Some((PartKind::ToolCall { id, name }, pieces)), Part::ToolCall(call)) => {
            assert_eq!((&id, &name), (&call.id, &call.name));
            if call.unreadable.is_none()
                && !pieces.contains("\\u")
                && serde_json::from_str::<serde_json::Value>(&pieces).is_ok()
            {
                assert_eq!(ToolCall::from_text(&id, &name, &pieces).arguments, call.arguments);
            }
        }
        (None, Part::Opaque { .. }) => {}
        (started, part) => panic!("{part:?} finished what began as {started:?}"),
    }
}
