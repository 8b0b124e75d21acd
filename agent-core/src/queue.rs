//! [`MessageQueue`]: what a person says while a run is going.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::Message;

/// Messages waiting for a session's run: steering ones for the end of the current batch of calls, follow-ups for the
/// end of the run. Cheap to clone; all clones are the same queue. Survives an aborted run.
#[derive(Debug, Clone, Default)]
pub struct MessageQueue {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    steering: VecDeque<Message>,
    follow_up: VecDeque<Message>,
}

/// How many waiting messages are delivered at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// One, and the model answers it before the next.
    #[default]
    OneAtATime,
    /// All of them.
    All,
}

impl MessageQueue {
    /// Delivers a message after the current batch of tool calls.
    pub fn steer(&self, message: impl Into<Message>) {
        self.lock().steering.push_back(message.into());
    }

    /// Delivers a message when the run would end.
    pub fn follow_up(&self, message: impl Into<Message>) {
        self.lock().follow_up.push_back(message.into());
    }

    /// How many steering and follow-up messages wait.
    pub fn waiting(&self) -> (usize, usize) {
        let waiting = self.lock();
        (waiting.steering.len(), waiting.follow_up.len())
    }

    /// Takes back all messages that still wait: steering ones, then follow-ups.
    pub fn take_back(&self) -> Vec<Message> {
        let mut waiting = self.lock();
        let mut messages: Vec<Message> = waiting.steering.drain(..).collect();
        messages.extend(waiting.follow_up.drain(..));
        messages
    }

    pub(crate) fn next_steering(&self, delivery: Delivery) -> Vec<Message> {
        take(&mut self.lock().steering, delivery)
    }

    pub(crate) fn next_follow_up(&self, delivery: Delivery) -> Vec<Message> {
        take(&mut self.lock().follow_up, delivery)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(queue: &mut VecDeque<Message>, delivery: Delivery) -> Vec<Message> {
    let count = match delivery {
        Delivery::OneAtATime => queue.len().min(1),
        Delivery::All => queue.len(),
    };
    queue.drain(..count).collect()
}
