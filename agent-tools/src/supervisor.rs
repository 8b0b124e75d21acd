//! The process between the agent and a command: it owns the command's whole tree, and ends it when the agent ends.
//!
//! A program whose `main` begins with [`run_supervisor_if_asked`] runs every command below a supervisor, which is the
//! program itself started again. The supervisor
//!
//! * leads a session of its own, so that nothing below it has a terminal to wait on;
//! * is the subreaper of everything below it, so that a process cannot leave the tree by `setsid` or a double fork;
//! * holds one end of a socket whose other end only the agent holds. A byte, or the end of the stream, is the order to
//!   stop everything; so a `kill -9` of the agent takes the tree with it, and nothing depends on destructors.
//!
//! Without that first statement commands run in a process group of the agent's: the same results, but a process that
//! left the group is not found, and none is ended when the agent is killed.

use std::process::{ExitCode, ExitStatus};
use std::sync::OnceLock;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(crate) mod tree;
#[cfg(target_os = "linux")]
mod watch;

/// The name under which the program is started as a supervisor: `argv[0]`, so it shows in `ps` too.
const NAME: &str = "agent-supervisor";

/// Set once by `main`, before anything else runs, and never changed: whether this very executable answers to [`NAME`]
/// is a fact about the process, so it is the one thing here that is known process-wide and not passed along.
static HOOKED: OnceLock<()> = OnceLock::new();

/// Runs this process as a supervisor if it was started as one; the first statement of a program's `main`.
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = agent_tools::run_supervisor_if_asked() {
///         return code;
///     }
///     // … the program …
///     ExitCode::SUCCESS
/// }
/// ```
///
/// `None`: it was not, and from now on commands of this process run supervised (on Linux; elsewhere nothing changes).
/// Call it before threads start (so not in the body of a `#[tokio::main]` function: there it works, but has to poll, and
/// a command that sends its parent a signal gets away) and before anything is read from the standard input.
pub fn run_supervisor_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    if arguments.next().is_none_or(|name| name != NAME) {
        HOOKED.get_or_init(|| ());
        return None;
    }
    #[cfg(target_os = "linux")]
    return Some(watch::run(arguments));
    #[cfg(not(target_os = "linux"))]
    return None;
}

/// Whether commands run supervised.
pub(crate) fn is_available() -> bool {
    cfg!(target_os = "linux") && HOOKED.get().is_some()
}

/// The executable, `argv[0]` and arguments that start a supervisor for a shell command.
///
/// The command itself follows as the first bytes on the socket. In the arguments `pkill -f` would find it there too, and
/// a command that means another process would end its own supervisor.
pub(crate) fn invocation(command: &str, grace: Duration) -> (&'static str, &'static str, [String; 2]) {
    // The link, not the path it shows: it still works when the file was replaced by an update.
    ("/proc/self/exe", NAME, [grace.as_millis().to_string(), command.len().to_string()])
}

/// What a supervisor says about its shell, as one line on the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The shell ended, with this raw wait status.
    Ended(ExitStatus),
    /// The shell could not be started.
    NotStarted(String),
}

impl Report {
    #[cfg(target_os = "linux")]
    pub(crate) fn to_line(&self) -> String {
        use std::os::unix::process::ExitStatusExt as _;
        match self {
            Self::Ended(status) => format!("ended {}\n", status.into_raw()),
            Self::NotStarted(reason) => format!("failed {}\n", reason.replace('\n', " ")),
        }
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        use std::os::unix::process::ExitStatusExt as _;
        match line.trim_end().split_once(' ')? {
            ("ended", status) => Some(Self::Ended(ExitStatus::from_raw(status.parse().ok()?))),
            ("failed", reason) => Some(Self::NotStarted(reason.to_owned())),
            _ => None,
        }
    }
}
