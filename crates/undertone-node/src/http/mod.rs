//! The owner's HTTP API: what a learner is doing, its budget, its predictions, and new records.
//!
//! It is for the owner of the learner only and shows private values, such as losses. It listens on this machine only, or
//! requires a token.

mod guard;
mod handlers;
mod metrics;

pub use guard::Token;

use crate::StartError;
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
use std::thread;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

/// How long a request may take, body included.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(20);
/// How long the headers of a request may take.
const HEADER_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a connection may take, until the response was read.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(120);
/// How many connections may be open.
const CONNECTIONS_MAX: usize = 64;
/// The largest body of a request.
pub const BODY_MAX: usize = 16 << 20;

/// What every handler needs.
#[derive(Clone)]
pub(crate) struct AppState {
    learner: Sender<Event>,
    intake: Intake,
    guard: Arc<guard::Guard>,
}

/// A server in its own thread. It stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Server {
    /// Starts the server, which forwards requests to the learner's thread.
    ///
    /// # Errors
    /// When the address cannot be used, or other machines could connect without a token.
    pub fn start(
        address: SocketAddr,
        token: Option<Token>,
        intake: Intake,
        learner: Sender<Event>,
    ) -> Result<Server, StartError> {
        if token.is_none() && !address.ip().is_loopback() {
            return Err(StartError::TokenMissing { address });
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Server)?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(|error| StartError::Listen { address, error })?;
        let address = listener.local_addr().map_err(StartError::Server)?;
        let guard = Arc::new(guard::Guard { token, loopback: address.ip().is_loopback() });
        let router = router(AppState { learner, intake, guard });
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("http".into())
            .spawn(move || {
                runtime.block_on(async {
                    // Ends when the server is dropped. Open requests are aborted.
                    tokio::select! {
                        () = serve(listener, router) => {}
                        _ = stopped => {}
                    }
                });
            })
            .map_err(StartError::Server)?;
        Ok(Server { address, _stop: stop })
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves connections, each in its own task, up to the limit.
async fn serve(listener: TcpListener, router: Router) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            // The system may have run out of file descriptors for a moment.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            // A client that sends no request or does not read the response is disconnected.
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME_MAX)
                .keep_alive(false)
                .serve_connection(TokioIo::new(socket), service);
            let _ = tokio::time::timeout(CONNECTION_TIME_MAX, connection).await;
            drop(permit);
        });
    }
}

fn router(state: AppState) -> Router {
    Router::new()
        .route("/v1/status", get(handlers::status))
        .route("/v1/budget", get(handlers::budget))
        .route("/v1/records", post(handlers::records))
        .route("/v1/predict", post(handlers::predict))
        .route("/v1/model/public", get(handlers::public_model))
        .route("/metrics", get(handlers::metrics))
        .route_layer(middleware::from_fn_with_state(state.clone(), guard::require_token))
        // These show nothing private.
        .route("/", get(handlers::dashboard))
        .route("/healthz", get(handlers::healthz))
        .route("/v1/openapi.json", get(handlers::openapi))
        .fallback(handlers::not_found)
        .method_not_allowed_fallback(handlers::method_not_allowed)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn_with_state(state.clone(), guard::reject_other_sites))
        .layer(middleware::from_fn(guard::limit_size_and_time))
        .with_state(state)
}
