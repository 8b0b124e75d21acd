//! The supervisor's own life: start the shell, tell how it ended, end what is left when told to.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, dup2_stderr, dup2_stdout, getpid, read, setsid, write};
use rustix::process::{WaitOptions, wait};

use super::{Report, tree};

/// Time between two rounds of `SIGKILL`, for what was forked during the first.
const SWEEP_INTERVAL: Duration = Duration::from_millis(5);

/// How often children are asked for where their signals may go to another thread.
const ASK_INTERVAL: Duration = Duration::from_millis(10);

/// Runs to the end of the tree. The socket to the agent is the standard input; the arguments are those of
/// [`invocation`](super::invocation).
pub(super) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut numbers = arguments.map_while(|number| number.to_str()?.parse().ok());
    let (Some(grace), Some(length)) = (numbers.next(), numbers.next()) else { return ExitCode::FAILURE };
    let grace = Duration::from_millis(grace);
    match read_command(length).and_then(start) {
        Ok((shell, signals)) => match watch(shell, &signals, grace) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            report(&Report::NotStarted(error.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Reads the command, and nothing that may follow it, from the socket.
fn read_command(length: u64) -> io::Result<OsString> {
    let mut command = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    File::from(io::stdin().as_fd().try_clone_to_owned()?).read_exact(&mut command)?;
    Ok(OsString::from_vec(command))
}

/// Starts the shell, and blocks the signals that the supervisor reads from then on.
fn start(command: OsString) -> io::Result<(Pid, SigSet)> {
    setsid()?;
    set_child_subreaper(true)?;
    // When a command has stopped this process, the agent's death must wake it, or the tree would stay.
    set_pdeathsig(Signal::SIGCONT)?;
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    let signals =
        SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT]);
    let shell = Command::new("bash").args(["-c", "--"]).arg(command).stdin(Stdio::null()).process_group(0).spawn()?;
    // Not before, as the shell would have inherited it; and at once, as a polite signal of the command's own must not
    // end this process first. A shell that has ended already is met by the first `reap`.
    signals.thread_block()?;
    // The agent waits for the end of the output, so it must not be this process that holds the pipe open.
    dup2_stdout(&nowhere)?;
    dup2_stderr(&nowhere)?;
    Ok((Pid::from_raw(i32::try_from(shell.id()).map_err(io::Error::other)?), signals))
}

fn watch(shell: Pid, signals: &SigSet, grace: Duration) -> nix::Result<()> {
    let signal_fd = SignalFd::with_flags(signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    // Under `#[tokio::main]` the hook comes after the runtime's threads, and one of them may swallow `SIGCHLD`.
    let is_alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    let agent = io::stdin();
    let mut sweep_at: Option<Instant> = None;
    while reap(shell) {
        let mut watched = vec![PollFd::new(signal_fd.as_fd(), PollFlags::POLLIN)];
        if sweep_at.is_none() {
            watched.push(PollFd::new(agent.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut watched, timeout_until(sweep_at, is_alone)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        let mut told_to_stop = watched.get(1).is_some_and(|agent| agent.any() == Some(true));
        if told_to_stop {
            // Whatever it says, it is the order to stop; and no byte at all is the agent's death.
            let _ = read(&agent, &mut [0; 16]);
        }
        // A polite signal, of the command itself perhaps, must not leave the tree behind.
        while let Some(signal) = signal_fd.read_signal()? {
            told_to_stop |= i32::try_from(signal.ssi_signo) != Ok(Signal::SIGCHLD as i32);
        }
        match sweep_at {
            None if told_to_stop => {
                tree::signal_descendants(getpid(), Signal::SIGTERM);
                tree::signal_descendants(getpid(), Signal::SIGCONT);
                sweep_at = Some(Instant::now() + grace);
            }
            Some(time) if time <= Instant::now() => {
                tree::signal_descendants(getpid(), Signal::SIGKILL);
                sweep_at = Some(Instant::now() + SWEEP_INTERVAL);
            }
            _ => {}
        }
    }
    Ok(())
}

fn timeout_until(time: Option<Instant>, is_alone: bool) -> PollTimeout {
    let wait = time.map(|time| time.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
    let wait = if is_alone { wait } else { Some(wait.unwrap_or(ASK_INTERVAL).min(ASK_INTERVAL)) };
    wait.map_or(PollTimeout::NONE, |wait| PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX))
}

/// Collects every child that ended; false when none is left.
fn reap(shell: Pid) -> bool {
    loop {
        // Not `nix`, whose status has no place for an end by a real-time signal: the child would be gone, unnamed.
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == shell.as_raw() => {
                report(&Report::Ended(ExitStatus::from_raw(status.as_raw())));
            }
            Ok(None) => return true,
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn report(report: &Report) {
    // A failure means that the agent is gone, which the poll loop sees as well.
    let _ = write(io::stdin(), report.to_line().as_bytes());
}
