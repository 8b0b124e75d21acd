//! Processes below a supervisor, as the agent sees them.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::supervisor::Report;
#[cfg(target_os = "linux")]
use crate::supervisor::tree;

/// How long the supervisor's sweep with `SIGKILL` may take to show.
const SWEEP_LIMIT: Duration = Duration::from_millis(100);
/// The same for a `SIGKILL` sent from here.
const KILL_LIMIT: Duration = Duration::from_millis(50);

/// How often it is looked whether that `SIGKILL` has shown.
const ASK_INTERVAL: Duration = Duration::from_millis(5);

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
            } else if self.socket.read_buf(&mut self.report).await.unwrap_or(0) == 0 {
                // Nobody else ends what the supervisor leaves behind.
                self.kill_all().await;
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) async fn stop(&mut self) -> Option<ExitStatus> {
        // A failure means that the supervisor is gone already.
        let _ = self.socket.write_all(b"stop").await;
        // The command may have stopped it.
        self.signal(Signal::SIGCONT);
        if self.ends_within(self.grace + SWEEP_LIMIT).await {
            return self.status;
        }
        // It was stopped again, or is slow: what it should have done is done here, and it goes last.
        self.kill_all().await;
        self.signal(Signal::SIGCONT);
        if !self.ends_within(KILL_LIMIT).await {
            self.signal(Signal::SIGKILL);
            self.ends_within(KILL_LIMIT).await;
        }
        self.status
    }

    async fn ends_within(&mut self, limit: Duration) -> bool {
        let end = async {
            let _ = self.shell_ended().await;
            let _ = self.supervisor.wait().await;
        };
        timeout(limit, end).await.is_ok()
    }

    /// The supervisor's pid, from its start on also the id of its session.
    fn pid(&self) -> Option<Pid> {
        self.supervisor.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill(pid, signal);
        }
    }

    /// Ends all that the supervisor started, for a supervisor that cannot.
    async fn kill_all(&self) {
        #[cfg(target_os = "linux")]
        if let Some(pid) = self.pid() {
            let limit = Instant::now() + KILL_LIMIT;
            while tree::kill_started_by(pid) && Instant::now() < limit {
                sleep(ASK_INTERVAL).await;
            }
        }
    }

    pub(super) fn survivors(&self) -> Vec<String> {
        #[cfg(target_os = "linux")]
        if let Some(pid) = self.pid() {
            return tree::started_by(pid).iter().map(tree::Process::describe).collect();
        }
        Vec::new()
    }

    pub(super) async fn ended(&mut self) {
        let _ = self.supervisor.wait().await;
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // A stopped supervisor would not see that the socket closes.
        self.signal(Signal::SIGCONT);
    }
}
