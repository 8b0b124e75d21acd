//! What the process was asked to do, and how it says what came of it. One file for each command.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use crate::args::{self, Command};
use crate::error::{CliError, Kind};
use crate::output::{self, Look};

mod demo;
mod prompt;
mod sessions;
mod tools;

/// Does what the command line says.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    let json = args::asks_for_json(&words);
    let done = match args::parse(words) {
        Ok(cli) => match cli.command {
            None => prompt::run(&cli.run),
            Some(Command::Tools(command)) => tools::run(command),
            Some(Command::Sessions(command)) => sessions::run(command),
            Some(Command::Demo(args)) => demo::run(args),
        },
        Err(error) if error.exit_code() == 0 => output::print(&error.render().to_string()),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error, json);
            error.exit_code()
        }
    }
}

fn report(error: &CliError, json: bool) {
    if error.kind() == Kind::OutputClosed {
        return;
    }
    // It may quote a service or a file.
    output::note(&Look::of_stderr(true).safe(&error.to_string()));
    if json {
        // If standard output is what failed, standard error has said it all.
        let _ = output::print_json(&error.to_json());
    }
}

/// Drives a future to its end on this thread.
fn block_on<T>(future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed("cannot start").with_source(error))?;
    let done = runtime.block_on(future);
    // What still runs on blocking threads has lost its reader; the end of the process is not to wait for it.
    runtime.shutdown_timeout(Duration::from_millis(50));
    done
}
