//! Tests the messages of connection errors.

use gatebench_engine::ConnectError;
use gatebench_net::tls::SessionError;

#[test]
fn the_remedy_depends_on_the_cause() {
    let late = |made| ConnectError::Late {
        made,
        wanted: 9,
        limit_s: 5,
    };
    assert_eq!(late(0).to_string(), "no connection was made within 5 s");
    assert_eq!(
        late(2).to_string(),
        "a worker made 2 of 9 connections, but no more within 5 s; open fewer connections, or fewer per second"
    );
    let refused = ConnectError::Kernel("Connection refused; or not".into());
    assert_eq!(
        (refused.remedy(), refused.to_string()),
        (None, refused.what())
    );
    assert_eq!(
        ConnectError::NoSource([192, 0, 2, 1].into()).to_string(),
        "the load generator's machine does not have the source address 192.0.2.1; \
         use addresses of that machine as sources"
    );
    let tls = SessionError::NotTls;
    let error = ConnectError::from(tls.clone());
    assert_eq!(error.to_string(), tls.to_string());
    assert_eq!(error.remedy(), Some(tls.remedy()));
}
