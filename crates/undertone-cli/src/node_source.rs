//! A learner to inspect: a running one over HTTP, or the store of one that is not running.

use crate::agreement_source::load_agreement;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::time::Duration;
use undertone_node::protocol::{Node, StoredNode};

/// A running learner, or a store.
#[derive(Args)]
pub(crate) struct NodeSource {
    /// Ask a running learner at this address, which is in its log: http://127.0.0.1:PORT
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    node: Option<String>,
    /// A file with the token that the learner requires
    #[arg(long, value_name = "FILE", requires = "node")]
    token_file: Option<PathBuf>,
    /// Read the store of a learner that is not running; its agreement is needed too
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// The learner to inspect.
pub(crate) enum Target<'a> {
    /// A running learner.
    Running(Running<'a>),
    /// A learner read from its store.
    Stored(Box<StoredNode>),
}

/// A running learner's HTTP API.
pub(crate) struct Running<'a> {
    url: &'a str,
    token: Option<String>,
}

impl NodeSource {
    /// Whether a running learner or a store was given.
    pub(crate) fn is_given(&self) -> bool {
        self.node.is_some() || self.store.is_some()
    }

    /// Reaches it; a store is read with its agreement.
    pub(crate) fn open(&self, agreement: Option<&Path>) -> anyhow::Result<Target<'_>> {
        if let Some(url) = &self.node {
            let token = match &self.token_file {
                Some(path) => Some(
                    std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
                ),
                None => None,
            };
            return Ok(Target::Running(Running { url, token }));
        }
        let Some(path) = &self.store else { bail!("give --node URL or --store FILE") };
        let agreement =
            agreement.context("--store: give the agreement of the learner's network too")?;
        let setup = load_agreement(agreement)?;
        let node = Node::inspect(path, &setup).with_context(|| path.display().to_string())?;
        Ok(Target::Stored(Box::new(node)))
    }
}

impl Running<'_> {
    /// Gets JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let bytes = self.bytes(path)?;
        serde_json::from_slice(&bytes).with_context(|| format!("{}{path}", self.base()))
    }

    /// Gets bytes.
    pub(crate) fn bytes(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        let url = format!("{}{path}", self.base());
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(30)))
            .http_status_as_error(false)
            .build()
            .into();
        let mut request = agent.get(&url);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {}", token.trim()));
        }
        let mut response = request.call().with_context(|| url.clone())?;
        let body = response.body_mut().with_config().limit(BODY_MAX).read_to_vec();
        let body = body.with_context(|| url.clone())?;
        if response.status().is_success() {
            return Ok(body);
        }
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let reason = problem["error"].as_str().unwrap_or("no reason given");
        Err(anyhow!("{url}: {}: {reason}", response.status()))
    }

    fn base(&self) -> &str {
        self.url.trim_end_matches('/')
    }
}

/// The largest response that is read: a model with many parameters.
const BODY_MAX: u64 = 4 << 30;

/// A value as JSON, as a running learner would send it.
pub(crate) fn value(shown: &impl Serialize) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(shown)?)
}
