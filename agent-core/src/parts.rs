//! [`AgentParts`]: what an agent consists of. [`AgentBuilder`](crate::AgentBuilder) fills it in, the loop reads it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::approval::Approval;
use crate::context::State;
use crate::hooks::Hooks;
use crate::limits::Limits;
use crate::message::Prices;
use crate::provider::{ModelSettings, Provider};
use crate::queue::Delivery;
use crate::toolset::Toolset;
use crate::turn::RetryPolicy;

pub(crate) struct AgentParts {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: String,
    pub(crate) instructions: Arc<str>,
    pub(crate) tools: Toolset,
    pub(crate) settings: ModelSettings,
    pub(crate) limits: Limits,
    pub(crate) retry: RetryPolicy,
    pub(crate) prices: Option<Prices>,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) hook_timeout: Duration,
    pub(crate) approval: Arc<dyn Approval>,
    pub(crate) state: State,
    pub(crate) working_dir: PathBuf,
    pub(crate) concurrency: usize,
    pub(crate) sequential: bool,
    pub(crate) max_result_bytes: usize,
    pub(crate) steering: Delivery,
    pub(crate) follow_up: Delivery,
}
