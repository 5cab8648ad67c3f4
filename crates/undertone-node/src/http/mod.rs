//! The owner's way in: what a learner is doing, its budget, its predictions, and new records.
//!
//! Everything here is for the owner of the learner and shows private things, such as losses. It listens on this
//! machine only, or asks for a token.

mod answers;
mod guard;
mod metrics;

pub use guard::{Token, TokenError};

use crate::daemon::Event;
use crate::intake::Intake;
use crate::mailbox::Sender;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

/// What an answer may take altogether, body included.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(20);
/// What the first lines of a request may take.
const HEADER_TIME_MAX: Duration = Duration::from_secs(10);
/// What a whole connection may take, until the answer was read.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(120);
/// How many may be connected.
const CONNECTIONS_MAX: usize = 64;
/// The largest body.
pub const BODY_MAX: usize = 16 << 20;

/// What every answer needs.
#[derive(Clone)]
pub(crate) struct Desk {
    learner: Sender<Event>,
    intake: Intake,
    guard: Arc<guard::Guard>,
}

/// Why the owner cannot be served.
#[derive(Debug, Error)]
pub enum HttpError {
    /// Anyone could read private things.
    #[error(
        "{address}: others than this machine could read private losses and post records there; \
         give a token (--token-file), or listen on 127.0.0.1"
    )]
    Open {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("{address}: {error}")]
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// The server cannot start.
    #[error("the server cannot start: {0}")]
    Start(io::Error),
}

/// A server in a thread of its own, until it is dropped.
pub struct Server {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Server {
    /// Listens, and passes what is asked on to the learner's thread.
    ///
    /// # Errors
    /// When the address cannot be used, or is open to others without a token.
    pub fn start(
        address: SocketAddr,
        token: Option<Token>,
        intake: Intake,
        learner: Sender<Event>,
    ) -> Result<Server, HttpError> {
        if token.is_none() && !address.ip().is_loopback() {
            return Err(HttpError::Open { address });
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(HttpError::Start)?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(|error| HttpError::Listen { address, error })?;
        let address = listener.local_addr().map_err(HttpError::Start)?;
        let guard = Arc::new(guard::Guard { token, loopback: address.ip().is_loopback() });
        let router = router(Desk { learner, intake, guard });
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("http".into())
            .spawn(move || {
                runtime.block_on(async {
                    // Ends when the server is dropped; requests under way are given up.
                    tokio::select! {
                        () = serve(listener, router) => {}
                        _ = stopped => {}
                    }
                });
            })
            .map_err(HttpError::Start)?;
        Ok(Server { address, _stop: stop })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves connections, each in a task of its own, as many at a time as there may be.
async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            // The system has no room for another; in a moment it may have.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            // Whoever does not say what it wants, or does not read the answer, has its place taken from it.
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME_MAX)
                .keep_alive(false)
                .serve_connection(TokioIo::new(socket), service);
            let _ = tokio::time::timeout(CONNECTION_TIME_MAX, connection).await;
            drop(place);
        });
    }
}

fn router(desk: Desk) -> Router {
    Router::new()
        .route("/v1/status", get(answers::status))
        .route("/v1/budget", get(answers::budget))
        .route("/v1/records", post(answers::records))
        .route("/v1/predict", post(answers::predict))
        .route("/v1/model/public", get(answers::public_model))
        .route("/metrics", get(answers::metrics))
        .route_layer(middleware::from_fn_with_state(desk.clone(), guard::require_token))
        // These show nothing of the learner.
        .route("/", get(answers::dashboard))
        .route("/healthz", get(answers::healthz))
        .route("/v1/openapi.json", get(answers::openapi))
        .fallback(answers::nothing_here)
        .method_not_allowed_fallback(answers::not_so)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn_with_state(desk.clone(), guard::keep_out_other_sites))
        .layer(middleware::from_fn(guard::limit_size_and_time))
        .with_state(desk)
}
