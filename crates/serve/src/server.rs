//! The listening port and its connections.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use crate::app::App;
use crate::bounds::{
    CONNECTION_TIME_MAX, CONNECTIONS_MAX, ENDING_TIME_MAX, HEAD_BYTES_MAX, HEAD_TIME_MAX,
    SEND_BUFFER_BYTES, THREADS_MAX, UNUSED_TIME, WRITE_TIME_MAX,
};
use crate::folder::Folder;
use crate::guard::Guard;
use crate::headed::Headed;
use crate::launch::{Launch, Launcher};
use crate::stalled::Impatient;
use crate::{route, view};

/// The settings of a server.
pub struct Settings {
    pub folder: Folder,
    /// The name of a run that may not have begun yet. The page of this run waits until the run
    /// begins.
    pub expected: Option<String>,
    /// The address to listen on; `None` for 127.0.0.1 and, if the system has IPv6, ::1.
    pub address: Option<IpAddr>,
    /// The port; 0 for any free port.
    pub port: u16,
    /// The runs that a page may start; `None` if all pages are read-only.
    pub launch: Option<Launch>,
}

/// An error that prevents the server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// Another system call failed.
    #[error("cannot start the server: {0}")]
    System(#[from] io::Error),
}

/// A handle that stops a server. A server that has not started yet stops as soon as it starts.
#[derive(Clone, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Default)]
struct StopState {
    requested: Notify,
    when_unused: AtomicBool,
}

impl Stop {
    /// Stops the server immediately.
    pub fn now(&self) {
        self.0.requested.notify_one();
    }

    /// Stops the server as soon as it has had no connection for 5 s, but after at most 60 s.
    pub fn when_unused(&self) {
        self.0.when_unused.store(true, Ordering::Relaxed);
        self.0.requested.notify_one();
    }
}

/// A listening server.
pub struct Server {
    listeners: Vec<std::net::TcpListener>,
    /// The address of the first listener.
    address: SocketAddr,
    app: Arc<App>,
    guard: Arc<Guard>,
    stop: Stop,
}

impl Server {
    /// Listens, but does not serve yet.
    ///
    /// # Errors
    /// [`ServeError::Listen`], [`ServeError::System`].
    pub fn bind(settings: Settings) -> Result<Self, ServeError> {
        let address = settings.address.unwrap_or(Ipv4Addr::LOCALHOST.into());
        let address = SocketAddr::new(address, settings.port);
        let failed = |source| ServeError::Listen { address, source };
        let mut listeners = vec![listen(address).map_err(failed)?];
        let address = listeners[0].local_addr().map_err(failed)?;
        if settings.address.is_none() {
            // A browser may resolve localhost to ::1. A failure is ignored, because the printed URL
            // contains 127.0.0.1.
            let second = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port());
            listeners.extend(listen(second));
        }
        let guard = Guard::new(address, settings.launch.is_some())?;
        let launcher = settings.launch.map(Launcher::new).transpose()?;
        let app = App::new(settings.folder, settings.expected, launcher);
        Ok(Self {
            listeners,
            address,
            app: Arc::new(app),
            guard: Arc::new(guard),
            stop: Stop::default(),
        })
    }

    /// The URL that a browser on this machine can open, with its token. The URL leads to the
    /// expected run, to the only run, or to the list of runs.
    pub fn url(&self) -> String {
        let app = &self.app;
        let run = Some(&*app.expected).filter(|it| !it.is_empty());
        let path = run.or(app.folder.only()).map(view::href_of_run);
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST),
            ip => ip,
        };
        let host = SocketAddr::new(host, self.address.port());
        let path = path.unwrap_or_else(|| "/".into());
        format!("http://{host}{path}?token={}", self.guard.token().as_str())
    }

    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until the server is stopped.
    ///
    /// # Errors
    /// [`ServeError::System`].
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS_MAX)
            .build()?;
        runtime.block_on(async {
            let listeners = self.listeners.into_iter().map(TcpListener::from_std);
            let listeners = listeners.collect::<io::Result<Vec<_>>>()?;
            let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
            let router = route::router(self.app, self.guard);
            let serving = tokio::spawn(accept(listeners, Arc::clone(&connections), router));
            let StopState {
                requested,
                when_unused,
            } = &*self.stop.0;
            requested.notified().await;
            if when_unused.load(Ordering::Relaxed) {
                unused(&connections).await;
            }
            serving.abort();
            Ok(())
        })
    }
}

fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Waits until there has been no connection for [`UNUSED_TIME`], but at most [`ENDING_TIME_MAX`].
async fn unused(connections: &Semaphore) {
    let begun = Instant::now();
    let mut used = begun;
    while used.elapsed() < UNUSED_TIME && begun.elapsed() < ENDING_TIME_MAX {
        sleep(UNUSED_TIME / 50).await;
        // `accept` holds one permit while it waits for a connection.
        if connections.available_permits() < CONNECTIONS_MAX - 1 {
            used = Instant::now();
        }
    }
}

async fn accept(listeners: Vec<TcpListener>, connections: Arc<Semaphore>, router: Router) {
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
            return;
        };
        let next = poll_fn(|context| {
            let mut polled = listeners.iter().map(|it| it.poll_accept(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        });
        match next.await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    serve(stream, router).await;
                    drop(permit);
                });
            }
            // The process has probably run out of file descriptors.
            Err(_) => sleep(HEAD_TIME_MAX / 50).await,
        }
    }
}

/// Serves one request and closes the connection.
async fn serve(stream: TcpStream, router: Router) {
    // If the system refuses the size, its own size remains.
    let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES);
    let stream = TokioIo::new(Headed::new(Impatient::new(stream, WRITE_TIME_MAX)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(stream, TowerToHyperService::new(router));
    // Errors are ignored because they affect only this client, which is too slow or has
    // disconnected.
    let _ = timeout(CONNECTION_TIME_MAX, connection).await;
}
