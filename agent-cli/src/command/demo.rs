//! `agent demo`: the real loop and the real tools on a recorded model, in a scratch directory.
//!
//! Nothing is staged but the model's words: the program, its bug, the edit and the test runs are real, and what the
//! model says next hangs on what the tools gave. `--dir` runs it on a program that somebody changed.

use std::fs;
use std::path::{Path, PathBuf};

use agent_core::{Agent, Session, ToolContext, Toolset};
use serde_json::json;
use similar::TextDiff;

use super::{block_on, tools};
use crate::args::DemoArgs;
use crate::config::Environment;
use crate::error::CliError;
use crate::interrupt::Interrupt;
use crate::mode::{self, print::Print};
use crate::output::{self, Look};
use crate::render::write_diff;
use crate::setup;

mod recording;

use recording::Recording;

const PROGRAM: &str = "duration.sh";
const FILES: [(&str, &str); 2] =
    [(PROGRAM, include_str!("demo/duration.sh")), ("test.sh", include_str!("demo/test.sh"))];
const TEST: &str = "bash test.sh";
const PROMPT: &str = "The test of this program fails (`bash test.sh`). Find the bug and fix it.";

pub(super) fn run(args: DemoArgs) -> Result<(), CliError> {
    let env = Environment::capture()?;
    let interrupt = Interrupt::watch()?;
    let look = Look::of_stderr(env.no_color());
    let scratch = Scratch::open(args, &env)?;
    let dir = &scratch.dir;
    let recording = Recording::parse(include_str!("demo/recording.json"))
        .map_err(|error| CliError::failed("the recorded model cannot be read").with_source(error))?;
    let toolset = setup::all_tools()?;
    output::note(&format!(
        "The model is a recording; the loop, the tools, the program and its test are real. They are in {}\n\n> {PROMPT}\n",
        dir.display()
    ));

    let passed_before = block_on(test(&toolset, dir, &interrupt))?.passed;
    let before = read(dir)?;
    let model = recording.model.clone();
    let agent = Agent::builder(recording.play())
        .model(model)
        .tools(toolset.clone())
        .working_dir(dir)
        .build()
        .map_err(|error| CliError::failed("the agent cannot be built").with_source(error))?;
    let mut session = Session::in_memory();
    let mut print = Print::new(Look::of_stdout(env.no_color()), look, true);
    block_on(mode::run(&agent, &mut session, PROMPT.to_owned(), &mut print, &interrupt))?;

    show_diff(&before, &read(dir)?, Look::of_stdout(env.no_color()))?;
    let after = block_on(test(&toolset, dir, &interrupt))?;
    output::print(&format!("\n$ {TEST}\n{}\n", after.text))?;
    if scratch.stays {
        output::note(&format!("The files are in {}", dir.display()));
    }
    match (passed_before, after.passed) {
        (false, true) => Ok(()),
        (true, true) => Err(CliError::failed("nothing was fixed: the test passed before")),
        (_, false) => Err(CliError::failed("the test still fails")),
    }
}

/// The directory the demo works in.
struct Scratch {
    dir: PathBuf,
    /// Removes the directory when it is dropped, unless it is to stay.
    _guard: Option<tempfile::TempDir>,
    stays: bool,
}

impl Scratch {
    fn open(args: DemoArgs, env: &Environment) -> Result<Self, CliError> {
        let failed = |error| CliError::failed("cannot prepare the demo's directory").with_source(error);
        let (dir, guard) = if let Some(dir) = args.dir {
            (env.current_dir.join(dir), None)
        } else {
            let mut guard = tempfile::Builder::new().prefix("agent-demo-").tempdir().map_err(failed)?;
            guard.disable_cleanup(args.keep);
            (guard.path().to_owned(), Some(guard))
        };
        fs::create_dir_all(&dir).map_err(failed)?;
        for (name, text) in FILES {
            let path = dir.join(name);
            // Somebody's own program is what the demo is to work on.
            if !path.exists() {
                fs::write(path, text).map_err(failed)?;
            }
        }
        Ok(Self { dir, stays: guard.is_none() || args.keep, _guard: guard })
    }
}

struct Tested {
    passed: bool,
    text: String,
}

/// Runs the program's test with the bash tool, outside of the model's run.
async fn test(toolset: &Toolset, dir: &Path, interrupt: &Interrupt) -> Result<Tested, CliError> {
    let (definition, tool) = tools::find(toolset, "bash")?;
    let arguments = json!({"command": TEST}).as_object().cloned().unwrap_or_default();
    let outcome = tools::invoke(definition, tool, arguments, ToolContext::new(dir), interrupt.token()).await;
    let Some(outcome) = outcome.filter(|_| !interrupt.came()) else {
        return Err(CliError::interrupted());
    };
    let answer = outcome.map_err(|error| CliError::failed(error.message()))?;
    Ok(Tested { passed: !answer.is_error, text: tools::text_of(&answer) })
}

fn read(dir: &Path) -> Result<String, CliError> {
    let path = dir.join(PROGRAM);
    fs::read_to_string(&path)
        .map_err(|error| CliError::failed(format!("cannot read {}", path.display())).with_source(error))
}

fn show_diff(before: &str, after: &str, look: Look) -> Result<(), CliError> {
    let diff = TextDiff::from_lines(before, after);
    let unified = diff.unified_diff().header(&format!("a/{PROGRAM}"), &format!("b/{PROGRAM}")).to_string();
    if unified.is_empty() {
        return output::print(&format!("\n{PROGRAM} is unchanged.\n"));
    }
    let mut text = b"\n".to_vec();
    write_diff(&unified, look, "", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}
