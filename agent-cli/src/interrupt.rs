//! Ctrl-C, SIGTERM and a closed terminal: the first signal cancels, the second one leaves at once.

use agent_core::CancellationToken;

use crate::error::{CliError, Kind};

/// Watches for signals from now on. Before, they end the process as they always do.
#[derive(Debug)]
pub(crate) struct Interrupt {
    cancelled: CancellationToken,
}

impl Interrupt {
    /// Begins to watch, on a thread of its own: a main thread that waits for a slow terminal must not keep a second
    /// Ctrl-C from leaving.
    pub(crate) fn watch() -> Result<Self, CliError> {
        let cancelled = CancellationToken::new();
        let failed = |error: std::io::Error| CliError::failed("cannot watch for signals").with_source(error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
        let mut signals = {
            let _inside = runtime.enter();
            Signals::listen().map_err(failed)?
        };
        let token = cancelled.clone();
        let watch = move || {
            runtime.block_on(async {
                signals.next().await;
                token.cancel();
                signals.next().await;
                std::process::exit(i32::from(Kind::Interrupted.code()));
            });
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(failed)?;
        Ok(Self { cancelled })
    }

    /// Cancelled by the first signal.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Whether there was a signal.
    pub(crate) fn came(&self) -> bool {
        self.cancelled.is_cancelled()
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    // Heard and ignored: writing beyond `ulimit -f` is to be an error of that write, not the end of the process.
    _file_size: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            _file_size: signal(SignalKind::from_raw(nix::libc::SIGXFSZ))?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "listening may fail elsewhere")]
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
