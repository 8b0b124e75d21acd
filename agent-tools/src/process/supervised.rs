//! Processes below a supervisor, as the agent sees them.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::supervisor::Report;
#[cfg(target_os = "linux")]
use crate::supervisor::tree;

/// How long the sweep with `SIGKILL` may take to show.
const SWEEP_LIMIT: Duration = Duration::from_millis(150);

/// A supervisor and everything below it. Dropping it closes the socket, which is the order to end everything.
#[derive(Debug)]
pub(crate) struct Supervised {
    supervisor: Child,
    socket: UnixStream,
    /// What was read of the report so far.
    report: Vec<u8>,
    /// How the shell ended, once reported.
    status: Option<ExitStatus>,
    grace: Duration,
}

impl Supervised {
    /// Starts `supervisor`, and hands it the command for its shell.
    pub(super) fn start(mut supervisor: Command, command: &str, grace: Duration) -> io::Result<Self> {
        let (mut ours, theirs) = StdUnixStream::pair()?;
        let child = supervisor.stdin(Stdio::from(OwnedFd::from(theirs))).spawn();
        // It holds the other end of the socket too: the write must fail, not wait, if the supervisor is gone.
        drop(supervisor);
        let supervisor = child?;
        // The socket holds a command of any length that is allowed; if not, reading it is the first thing that is done.
        ours.write_all(command.as_bytes())?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        Ok(Self { supervisor, socket, report: Vec::new(), status: None, grace })
    }

    pub(super) async fn shell_ended(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            if self.report.ends_with(b"\n") {
                match Report::parse(&String::from_utf8_lossy(&self.report)) {
                    Some(Report::Ended(status)) => self.status = Some(status),
                    Some(Report::NotStarted(reason)) => return Err(io::Error::other(reason)),
                    None => return Err(io::ErrorKind::InvalidData.into()),
                }
            } else if self.socket.read_buf(&mut self.report).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) async fn stop(&mut self) -> Option<ExitStatus> {
        // A failure means that the supervisor is gone already.
        let _ = self.socket.write_all(b"stop").await;
        let limit = self.grace + SWEEP_LIMIT;
        let end = async {
            let _ = self.shell_ended().await;
            let _ = self.supervisor.wait().await;
        };
        let _ = timeout(limit, end).await;
        self.status
    }

    pub(super) fn survivors(&self) -> Vec<String> {
        #[cfg(target_os = "linux")]
        if let Some(pid) = self.supervisor.id().and_then(|pid| i32::try_from(pid).ok()) {
            let below = tree::descendants(nix::unistd::Pid::from_raw(pid));
            return below.iter().map(tree::Process::describe).collect();
        }
        Vec::new()
    }

    pub(super) async fn ended(&mut self) {
        let _ = self.supervisor.wait().await;
    }
}
