//! A shell command as a tree of processes: started, read, waited for, ended as a whole.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::Command;

use crate::supervisor;

mod group;
mod supervised;

use group::Group;
use supervised::Supervised;

/// Bytes of the longest command: with the zero that ends it 128 KiB, which Linux allows a single argument.
pub(crate) const MAX_COMMAND: usize = 128 * 1024 - 1;

/// What to start.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Handed to `bash -c`; at most [`MAX_COMMAND`] bytes.
    pub(crate) command: String,
    /// Where it runs; must exist.
    pub(crate) working_dir: PathBuf,
    /// All of its environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Time between the request to end and the end by force.
    pub(crate) grace: Duration,
}

/// A command that was started. Dropping the tree ends all of its processes.
#[derive(Debug)]
pub(crate) struct Running {
    /// The end of the pipe that standard output and standard error share.
    pub(crate) output: pipe::Receiver,
    pub(crate) tree: Tree,
}

/// The processes of a command.
#[derive(Debug)]
pub(crate) enum Tree {
    /// Below a supervisor: complete, and ended with the agent in any case.
    Supervised(Supervised),
    /// A process group: without those that left it.
    Group(Group),
}

impl Launch {
    /// Starts the command with a null standard input, supervised where that is possible.
    pub(crate) fn start(self) -> io::Result<Running> {
        let (reader, writer) = io::pipe()?;
        // A larger pipe lets a fast writer run on while the agent does other things; the default size works as well.
        #[cfg(target_os = "linux")]
        let _ = nix::fcntl::fcntl(&reader, nix::fcntl::FcntlArg::F_SETPIPE_SZ(1 << 20));
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let errors = writer.try_clone()?;
        let attach = |mut command: Command| {
            command.env_clear().envs(self.environment).current_dir(&self.working_dir);
            command.stdout(Stdio::from(writer)).stderr(Stdio::from(errors));
            command
        };
        let tree = if supervisor::is_available() {
            let (program, name, arguments) = supervisor::invocation(&self.command, self.grace);
            let mut command = Command::new(program);
            command.arg0(name).args(arguments);
            Tree::Supervised(Supervised::start(attach(command), &self.command, self.grace)?)
        } else {
            let mut command = Command::new("bash");
            command.args(["-c", "--", &self.command]);
            Tree::Group(Group::start(attach(command), self.grace)?)
        };
        Ok(Running { output, tree })
    }
}

impl Running {
    /// Lets what still runs go on, its output unread, until it ends by itself or the agent does.
    ///
    /// Without a reader it would die of a broken pipe with its next line.
    pub(crate) fn leave(self) {
        let Self { mut output, mut tree } = self;
        tokio::spawn(async move {
            let discard = async {
                let mut buffer = vec![0; 8 * 1024];
                while output.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
            };
            tokio::join!(discard, tree.ended());
        });
    }
}

impl Tree {
    /// Waits for the shell to end, whatever else still runs. May be dropped and called again.
    ///
    /// [`io::ErrorKind::UnexpectedEof`]: the command killed the process that watches over it.
    pub(crate) async fn shell_ended(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Supervised(tree) => tree.shell_ended().await,
            Self::Group(tree) => tree.shell_ended().await,
        }
    }

    /// Ends every process: asks, wakes the stopped ones, and after the grace uses force.
    ///
    /// Returns the shell's end if that became known; within about 200 ms of the grace in any case.
    pub(crate) async fn stop(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Supervised(tree) => tree.stop().await,
            Self::Group(tree) => tree.stop().await,
        }
    }

    /// The processes that outlived their shell, each as pid and command line.
    pub(crate) fn survivors(&self) -> Vec<String> {
        match self {
            Self::Supervised(tree) => tree.survivors(),
            Self::Group(tree) => tree.survivors(),
        }
    }

    /// Waits until no process is left, once the shell has ended.
    async fn ended(&mut self) {
        match self {
            Self::Supervised(tree) => tree.ended().await,
            Self::Group(tree) => tree.ended().await,
        }
    }
}
