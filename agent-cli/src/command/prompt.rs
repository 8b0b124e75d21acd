//! `agent "prompt"`: one prompt, run to its end.

use std::io::{self, Read};

use crate::args::{Prompt, RunArgs};
use crate::config::{Environment, Places};
use crate::error::{CliError, Kind};
use crate::interrupt::Interrupt;
use crate::mode::json::Json;
use crate::mode::print::Print;
use crate::mode::{self, FrontEnd};
use crate::output::{self, Look};
use crate::setup;

pub(super) fn run(flags: &RunArgs) -> Result<(), CliError> {
    let prompt = flags.prompt()?;
    let env = Environment::capture()?;
    let places = Places::of(&env)?;
    let config = setup::config(flags, &env, &places)?;
    let dir = setup::working_dir(&flags.dir, &env)?;
    let choice = config.model()?;
    let agent = setup::agent(&config, &choice, &env, &dir)?;
    let prompt = match prompt {
        Prompt::Text(text) => text,
        Prompt::Stdin => read_stdin("prompt")?,
    };
    let interrupt = Interrupt::watch()?;
    let mut opened = setup::session(flags, &places, &dir)?;
    for notice in &opened.notices {
        output::note(notice);
    }
    let kept = opened.kept.then(|| opened.session.id().to_owned());
    let mut front_end: Box<dyn FrontEnd> = if flags.output.is_json() {
        Box::new(Json::begin(kept.as_deref(), &dir, &format!("{}/{}", choice.provider.name, choice.model))?)
    } else {
        let no_color = env.no_color();
        Box::new(Print::new(Look::of_stdout(no_color), Look::of_stderr(no_color), flags.verbose))
    };
    let done = super::block_on(mode::run(&agent, &mut opened.session, prompt, &mut *front_end, &interrupt));
    let heard = !matches!(&done, Err(error) if error.kind() == Kind::OutputClosed);
    if let Some(id) = kept.filter(|_| heard && !flags.output.is_json()) {
        let look = Look::of_stderr(env.no_color());
        output::note(&look.paint("2", &format!("session {id}; go on with: agent --resume {id} \"…\"")));
    }
    done
}

/// All of standard input, as text. `what` says what it is for.
pub(super) fn read_stdin(what: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::usage(format!("cannot read the {what} from standard input")).with_source(error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::usage(format!("the {what} on standard input is not UTF-8 text")))?;
    match text.trim_end() {
        "" => Err(CliError::usage(format!("the {what} on standard input is empty"))),
        text => Ok(text.to_owned()),
    }
}
