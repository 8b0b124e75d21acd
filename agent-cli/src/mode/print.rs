//! Text for people: the answer on standard output, everything else on standard error.

use std::io::{self, Write};
use std::time::Instant;

use agent_core::AgentEvent;

use super::FrontEnd;
use crate::error::CliError;
use crate::output::Look;
use crate::render::Renderer;

/// Shows a run as text.
#[derive(Debug)]
pub(crate) struct Print {
    renderer: Renderer,
}

impl Print {
    /// Text that looks like `answer` on standard output and like `notes` on standard error.
    pub(crate) fn new(answer: Look, notes: Look, verbose: bool) -> Self {
        Self { renderer: Renderer::new(answer, notes, verbose) }
    }
}

impl FrontEnd for Print {
    fn show(&mut self, event: &AgentEvent) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        self.renderer
            .show(event, Instant::now(), &mut stdout, &mut io::stderr().lock())
            .and_then(|()| stdout.flush())
            .map_err(CliError::output)
    }
}
