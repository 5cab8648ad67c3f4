//! A learner to look at: one that runs, by HTTP, or the store of one that does not.

use crate::config_source::ConfigSource;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::time::Duration;
use undertone::Round;
use undertone::noise::OsEntropy;
use undertone_node::protocol::{Node, Settings};
use undertone_node::store::DiskStore;

/// A learner that runs, or its store.
#[derive(Args)]
pub(crate) struct NodeSource {
    /// A learner that runs, as its log says where: http://127.0.0.1:PORT
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    node: Option<String>,
    /// A file with the token of that learner's owner
    #[arg(long, value_name = "FILE", requires = "node")]
    token_file: Option<PathBuf>,
    /// The store of a learner that does not run; its agreement is needed with it
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// A learner as its store has it.
pub(crate) type StoredNode = Node<OsEntropy, DiskStore>;

/// What was asked for.
pub(crate) enum Target<'a> {
    /// A path of a running learner's HTTP interface can be got.
    Running(Running<'a>),
    /// It was read from its store.
    Stored(Box<StoredNode>),
}

/// A running learner.
pub(crate) struct Running<'a> {
    url: &'a str,
    token: Option<String>,
}

impl NodeSource {
    /// Whether any was given.
    pub(crate) fn is_given(&self) -> bool {
        self.node.is_some() || self.store.is_some()
    }

    pub(crate) fn open(&self, config: &ConfigSource) -> anyhow::Result<Target<'_>> {
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
        let setup = config.load_agreement()?;
        let (store, id) =
            DiskStore::open_any(path, &setup).with_context(|| path.display().to_string())?;
        // Nothing is going to run: how patient it would be does not matter.
        let settings = Settings {
            deadline: Duration::from_secs(1),
            ask_after: Duration::from_secs(1),
            records_wait: Duration::from_secs(1),
            heard_least: 1,
            end: Round::LIMIT,
            inbox_max: 0,
        };
        Ok(Target::Stored(Box::new(Node::open(setup, id, settings, OsEntropy, store)?)))
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
        let mut answer = request.call().with_context(|| url.clone())?;
        let body = answer.body_mut().with_config().limit(BODY_MAX).read_to_vec();
        let body = body.with_context(|| url.clone())?;
        if answer.status().is_success() {
            return Ok(body);
        }
        let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let reason = said["error"].as_str().unwrap_or("no reason given");
        Err(anyhow!("{url}: {}: {reason}", answer.status()))
    }

    fn base(&self) -> &str {
        self.url.trim_end_matches('/')
    }
}

/// The largest answer that is read: a model with many parameters.
const BODY_MAX: u64 = 4 << 30;

/// What a command shows: as JSON, from either kind of learner.
pub(crate) fn value(shown: &impl Serialize) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(shown)?)
}
