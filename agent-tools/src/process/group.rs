//! Processes held together by their process group.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

#[cfg(target_os = "linux")]
use crate::supervisor::tree;

/// How often a group is asked whether it is still there: nothing tells when a process ends that is no child.
const ASK_INTERVAL: Duration = Duration::from_millis(5);
/// The same for one that was left running on purpose.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// How long `SIGKILL` may take to show.
const KILL_LIMIT: Duration = Duration::from_millis(150);

/// A shell and the members of its group; ended by force when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    shell: Child,
    id: Pid,
    grace: Duration,
}

impl Group {
    pub(super) fn start(mut command: Command, grace: Duration) -> io::Result<Self> {
        let shell = command.stdin(Stdio::null()).process_group(0).spawn()?;
        let pid = shell.id().and_then(|pid| i32::try_from(pid).ok()).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { shell, id: Pid::from_raw(pid), grace })
    }

    pub(super) async fn shell_ended(&mut self) -> io::Result<ExitStatus> {
        self.shell.wait().await
    }

    pub(super) async fn stop(&mut self) -> Option<ExitStatus> {
        let _ = killpg(self.id, Signal::SIGTERM);
        let _ = killpg(self.id, Signal::SIGCONT);
        let deadline = Instant::now() + self.grace;
        // The shell is collected on the way: as a zombie it would keep the group alive.
        while Instant::now() < deadline && self.is_alive() {
            let _ = timeout(ASK_INTERVAL, self.shell.wait()).await;
            if self.shell.id().is_none() && self.is_alive() {
                sleep(ASK_INTERVAL).await;
            }
        }
        if self.is_alive() {
            let _ = killpg(self.id, Signal::SIGKILL);
        }
        timeout(KILL_LIMIT, self.shell.wait()).await.ok()?.ok()
    }

    pub(super) fn survivors(&self) -> Vec<String> {
        #[cfg(target_os = "linux")]
        let names = tree::group_members(self.id).iter().map(tree::Process::describe).collect();
        #[cfg(not(target_os = "linux"))]
        let names = if self.is_alive() { vec![format!("process group {}", self.id)] } else { Vec::new() };
        names
    }

    pub(super) async fn ended(&mut self) {
        while self.is_alive() {
            sleep(IDLE_INTERVAL).await;
        }
    }

    fn is_alive(&self) -> bool {
        killpg(self.id, None).is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Group ids are not given out again while a member lives, so this meets no stranger.
        if self.is_alive() {
            let _ = killpg(self.id, Signal::SIGKILL);
        }
    }
}
