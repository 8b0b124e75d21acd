//! The `bash` tool.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use agent_core::{ToolContext, ToolError, ToolOutput, tool};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at};

use crate::process::{Launch, MAX_COMMAND, Running};

mod environment;
mod output;

use output::{Collected, Collector};

/// Silence after which the output of a shell that has ended is taken as complete, whoever still holds the pipe.
const IDLE: Duration = Duration::from_millis(50);
/// The end of that patience when something left behind never falls silent.
const DRAIN_LIMIT: Duration = Duration::from_millis(400);
/// More than a pipe holds: once as much was read, all that the shell itself wrote is among it.
const DRAIN_BYTES: usize = 2 << 20;
/// Seconds; less would end every command before it has begun.
const MIN_TIMEOUT: f64 = 0.001;
/// Processes left running that are shown to the model; the details have all of them.
const SHOWN_SURVIVORS: usize = 5;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
const READ_SIZE: usize = 64 * 1024;

/// What a program decides about the commands its agents run; give one to `AgentBuilder::provide`.
#[derive(Debug, Clone)]
pub struct BashSettings {
    /// The environment commands start from; `None`: the program's own. Secrets are removed from either.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Variables that stay as they are although they look like secrets (or are neutralised, like `PAGER`): names, or
    /// beginnings of names followed by `*`.
    pub allow: Vec<String>,
    /// The time limit of a call that names none.
    pub default_timeout: Duration,
    /// The most a call may ask for.
    pub max_timeout: Duration,
    /// Time between asking the processes to end and ending them by force. Above 400 ms an aborted call may be dropped
    /// by the loop before its partial output is known.
    pub grace: Duration,
    /// Size limit of the file that holds a long output in full, in bytes.
    pub max_output_file: u64,
}

impl Default for BashSettings {
    /// 120 s, at most 600 s; 250 ms of grace; a file of 100 MB.
    fn default() -> Self {
        Self {
            environment: None,
            allow: Vec::new(),
            default_timeout: Duration::from_mins(2),
            max_timeout: Duration::from_mins(10),
            grace: Duration::from_millis(250),
            max_output_file: 100_000_000,
        }
    }
}

/// Runs a command with `bash -c` in the working directory and returns its output, standard output and standard error
/// together.
///
/// There is no input and no terminal; every call is a new shell. A long output is shown as its beginning and its end,
/// and kept in full in a file. A process started with `&` goes on running after the call, until the
/// agent ends.
#[tool(destructive, open_world)]
pub async fn bash(
    /// The command, one or more lines of bash.
    command: String,
    /// Seconds after which the command is stopped; 120 if left out, 600 at most.
    timeout: Option<f64>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let settings = cx.state::<BashSettings>().map_or_else(BashSettings::default, |settings| (*settings).clone());
    let limit = match timeout {
        None => settings.default_timeout,
        Some(seconds) if seconds >= MIN_TIMEOUT => {
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(settings.max_timeout)
        }
        Some(seconds) => {
            return Err(ToolError::retry(format!("timeout must be at least {MIN_TIMEOUT} seconds, not {seconds}")));
        }
    };
    if command.len() > MAX_COMMAND {
        return Err(ToolError::retry(format!(
            "the command has {} bytes, and bash takes {MAX_COMMAND} at most: write it to a script file and run that",
            command.len()
        )));
    }
    let working_dir = cx.working_dir().to_owned();
    if !working_dir.is_dir() {
        return Err(ToolError::failed(format!("the working directory {} does not exist", working_dir.display())));
    }
    // The one place of this crate that looks at the program's environment; `BashSettings::environment` avoids it.
    let variables = settings.environment.unwrap_or_else(|| std::env::vars_os().collect());
    let environment = environment::for_command(variables, &settings.allow);
    let started = Instant::now();
    let launch = Launch { command, working_dir, environment, grace: settings.grace };
    let running = launch.start().map_err(|error| ToolError::failed(format!("bash could not be started: {error}")))?;

    let mut collector = Collector::new(cx.artifacts_dir(), settings.max_output_file);
    let (ending, survivors) = follow(running, &mut collector, cx, started + limit)
        .await
        .map_err(|error| ToolError::failed(format!("bash could not be run: {error}")))?;
    Ok(result(&Finished { ending, survivors, limit, duration: started.elapsed() }, collector.finish(), cx))
}

/// How a command came to its end.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Shell(ExitStatus),
    TimedOut(Option<ExitStatus>),
    Aborted(Option<ExitStatus>),
    /// Nobody is left to tell how the shell ended: the command killed its own supervisor.
    Unknown,
}

impl Ending {
    fn status(self) -> Option<ExitStatus> {
        match self {
            Self::Shell(status) => Some(status),
            Self::TimedOut(status) | Self::Aborted(status) => status,
            Self::Unknown => None,
        }
    }
}

enum Wake {
    Read(usize),
    Ended(Option<ExitStatus>),
    TimeUp,
    Abort,
    Show,
}

const SUPERVISOR_LOST: &str = "the process that watches over the command was killed, so how it ended is unknown; what it started was ended too, but a daemon of a session of its own may still run";

/// The shell's end, or `None` where nobody is left to tell.
fn known(status: io::Result<ExitStatus>) -> io::Result<Option<ExitStatus>> {
    match status {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        status => status.map(Some),
    }
}

/// Reads until the command is done or has to be; also says who is left.
async fn follow(
    mut running: Running,
    collector: &mut Collector,
    cx: &ToolContext,
    deadline: Instant,
) -> io::Result<(Ending, Vec<String>)> {
    let mut buffer = vec![0; READ_SIZE];
    let mut open = true;
    let mut shown = true;
    let mut ticks = interval(PROGRESS_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let wake = tokio::select! {
            read = running.output.read(&mut buffer), if open => Wake::Read(read?),
            status = running.tree.shell_ended() => Wake::Ended(known(status)?),
            () = sleep_until(deadline) => Wake::TimeUp,
            () = cx.cancellation().cancelled() => Wake::Abort,
            _ = ticks.tick(), if !shown => Wake::Show,
        };
        let ending = match wake {
            Wake::Read(count) => {
                collector.push(&buffer[..count]);
                open = count > 0;
                shown &= !open;
                continue;
            }
            Wake::Show => {
                cx.progress(collector.latest());
                shown = true;
                continue;
            }
            Wake::Ended(status) => {
                drain(&mut running, collector, &mut buffer).await?;
                status.map_or(Ending::Unknown, Ending::Shell)
            }
            Wake::TimeUp => Ending::TimedOut(stop(&mut running, collector, &mut buffer).await?),
            Wake::Abort => Ending::Aborted(stop(&mut running, collector, &mut buffer).await?),
        };
        let survivors = running.tree.survivors();
        if !survivors.is_empty() && matches!(ending, Ending::Shell(_)) {
            running.leave();
        }
        return Ok((ending, survivors));
    }
}

/// Reads what a shell that has ended left in the pipe.
async fn drain(running: &mut Running, collector: &mut Collector, buffer: &mut [u8]) -> io::Result<()> {
    let limit = Instant::now() + DRAIN_LIMIT;
    let mut drained = 0;
    while drained < DRAIN_BYTES {
        let patience = limit.min(Instant::now() + IDLE);
        let Ok(read) = timeout_at(patience, running.output.read(buffer)).await else { break };
        let count = read?;
        if count == 0 {
            break;
        }
        collector.push(&buffer[..count]);
        drained += count;
    }
    Ok(())
}

/// Ends all processes, and reads what they still say.
async fn stop(running: &mut Running, collector: &mut Collector, buffer: &mut [u8]) -> io::Result<Option<ExitStatus>> {
    let mut open = true;
    let stopping = running.tree.stop();
    tokio::pin!(stopping);
    let status = loop {
        tokio::select! {
            status = &mut stopping => break status,
            read = running.output.read(buffer), if open => {
                let count = read?;
                collector.push(&buffer[..count]);
                open = count > 0;
            }
        }
    };
    // What is in the pipe now is all there will be; a writer that could not be ended is not waited for.
    let mut drained = 0;
    while let Ok(count @ 1..) = running.output.try_read(buffer) {
        collector.push(&buffer[..count]);
        drained += count;
        if drained > DRAIN_BYTES {
            break;
        }
    }
    Ok(status)
}

struct Finished {
    ending: Ending,
    survivors: Vec<String>,
    limit: Duration,
    duration: Duration,
}

fn result(finished: &Finished, collected: Collected, cx: &ToolContext) -> ToolOutput {
    let status = finished.ending.status();
    let signal = status.and_then(|status| status.signal()).map(signal_name);
    let failure = match finished.ending {
        Ending::TimedOut(_) => {
            Some(format!("timed out after {} s, and was stopped with all its processes", finished.limit.as_secs_f64()))
        }
        Ending::Aborted(_) => Some("aborted, and stopped with all its processes".to_owned()),
        Ending::Unknown => Some(SUPERVISOR_LOST.to_owned()),
        Ending::Shell(status) => match (status.code(), &signal) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("exit code {code}")),
            (None, signal) => Some(format!("killed by {}", signal.as_deref().unwrap_or("a signal"))),
        },
    };
    let truncation = collected.cut.as_ref().map_or(Value::Null, |cut| {
        json!({
            "total_lines": collected.total_lines,
            "total_bytes": collected.total_bytes,
            "full_output": cut.full_output,
        })
    });
    let details = json!({
        "exit_code": status.and_then(|status| status.code()),
        "signal": signal,
        "duration_ms": u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        "cwd": cx.working_dir().to_string_lossy(),
        "timed_out": matches!(finished.ending, Ending::TimedOut(_)),
        "aborted": matches!(finished.ending, Ending::Aborted(_)),
        "truncation": truncation,
        "still_running": finished.survivors,
    });

    let mut text = collected.text;
    let mut notes = Vec::new();
    if !finished.survivors.is_empty() {
        notes.push(still_running(&finished.survivors));
    }
    let is_error = failure.is_some();
    notes.extend(failure);
    if text.trim().is_empty() {
        "(no output)".clone_into(&mut text);
    }
    if !notes.is_empty() {
        text.truncate(text.trim_end_matches('\n').len());
        text.push_str("\n\n");
        text.push_str(&notes.join("\n"));
    }
    let output = if is_error { ToolOutput::error(text) } else { ToolOutput::text(text) };
    output.details(details)
}

fn still_running(survivors: &[String]) -> String {
    let (shown, more) = survivors.split_at(survivors.len().min(SHOWN_SURVIVORS));
    let count = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
    format!("still running: {}{count}", shown.join("; "))
}

fn signal_name(number: i32) -> String {
    // The C library keeps the first two of the kernel's real-time signals to itself.
    #[cfg(target_os = "linux")]
    if let 34..=64 = number {
        return if number == 34 { "SIGRTMIN".to_owned() } else { format!("SIGRTMIN+{}", number - 34) };
    }
    Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}
