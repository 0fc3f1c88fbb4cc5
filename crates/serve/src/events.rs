//! Server-sent events with the changes to open pages.

use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use gatebench_store::{RunOverview, RunState};
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::sleep;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use crate::app::{App, Shared};
use crate::frames::{Frame, Watched};
use crate::pages::{list, run};
use crate::problem::Problem;

/// The interval between two checks for a changed frame.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The changing part of the page for a run that has not started.
const WAITING: &str = "<div id=\"waiting\"></div>";

/// Sends the changes to a page since the frame with the id `since`, until a different page must
/// replace the open one.
pub(crate) fn stream(app: Shared, watched: Watched, since: String) -> Response {
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        return Problem::Busy.into_response();
    };
    let (sender, receiver) = channel(1);
    tokio::spawn(async move {
        let _permit = permit;
        feed(app, watched, since, sender).await;
    });
    let events = ReceiverStream::new(receiver).map(Ok::<_, std::convert::Infallible>);
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// Renders and sends frames. A slow client skips frames and then receives the latest one.
async fn feed(app: Shared, watched: Watched, mut sent: String, sender: Sender<Event>) {
    while !sender.is_closed() {
        app.cores.move_thread();
        let (own, watched) = (Arc::clone(&app), watched.clone());
        let drawing = tokio::task::spawn_blocking(move || {
            own.cores.move_thread();
            own.frames.get(&watched, || draw(&own, &watched))
        });
        // The run may be removed while its page is open.
        let Ok(Ok(frame)) = drawing.await else {
            return;
        };
        let event = match frame.is_over {
            true => Event::default().event("over").data("reload"),
            false if frame.id == sent => {
                sleep(LOOK_EVERY).await;
                continue;
            }
            false => Event::default()
                .id(&frame.id)
                .event("parts")
                .data(frame.html.replace('\r', " ")),
        };
        if sender.send(event).await.is_err() || frame.is_over {
            return;
        }
        sent.clone_from(&frame.id);
        sleep(LOOK_EVERY).await;
    }
}

fn draw(app: &App, watched: &Watched) -> Result<Frame, Problem> {
    let name = match watched {
        Watched::List { filter } => return Ok(Frame::new(list::changing(app, filter)?, false)),
        Watched::Run(name) => name,
    };
    match app.overview(name) {
        Ok(RunOverview {
            manifest,
            state: RunState::Running,
        }) => Ok(Frame::new(run::changing(app, name, &manifest)?, false)),
        Err(Problem::NotFound(_)) if app.may_begin(name) => {
            Ok(Frame::new(WAITING.to_owned(), false))
        }
        _ => Ok(Frame::new(String::new(), true)),
    }
}
