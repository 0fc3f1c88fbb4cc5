//! Tests that no error affects another request when eight threads process valid and invalid
//! messages with shared definitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::calculator::*;
use gatebench_xml::soap::{Fault, Options, Passed, Request, SoapAction, SoapPolicy, Target};

const THREADS: usize = 8;
const ROUNDS: usize = 150;

struct Case {
    policy: Arc<SoapPolicy>,
    body: String,
    action: Option<&'static str>,
    expected: Result<Passed, Fault>,
}

impl Case {
    fn new(policy: &Arc<SoapPolicy>, body: String, action: Option<&'static str>) -> Self {
        let expected = policy.request(&Request {
            soap_action: action,
            ..soap(&body)
        });
        Self {
            policy: Arc::clone(policy),
            body,
            action,
            expected,
        }
    }

    fn assert_unchanged(&self) {
        let outcome = self.policy.request(&Request {
            soap_action: self.action,
            ..soap(&self.body)
        });
        assert_eq!(outcome, self.expected);
    }
}

fn cases() -> Vec<Case> {
    let whole = Arc::new(policy(Options {
        xslt_before: text(subtract_to_add()),
        api_schema: text(wsdl()),
        soap_action: SoapAction::Yes,
        xslt_after: text(int_b_to_10()),
        targets: vec![Target {
            xpath: "//*[local-name() = 'intA']".into(),
            equals: "5".into(),
        }],
        ..verbose()
    }));
    let plain = Arc::new(policy(Options {
        api_schema: text(XSD),
        ..verbose()
    }));
    let broken = Arc::new(policy(Options {
        api_schema: text(wsdl().replace("wsdl:definitions", "wsdl:WRONG_DEFINITION")),
        ..verbose()
    }));
    let looping = Arc::new(policy(Options {
        xslt_before: text(stylesheet(
            "<xsl:template match=\"/\" name=\"t\"><xsl:call-template name=\"t\"/></xsl:template>",
        )),
        ..verbose()
    }));
    const ADD_ACTION: Option<&str> = Some("http://tempuri.org/Add");
    let mut cases = vec![
        Case::new(&whole, subtract(), ADD_ACTION),
        Case::new(&whole, ADD.into(), ADD_ACTION),
        Case::new(&whole, ADD.replace("<intB>7</intB>", ""), ADD_ACTION),
        Case::new(&whole, unknown(), ADD_ACTION),
        Case::new(&whole, ADD.into(), Some("http://tempuri.org/Divide")),
        Case::new(&plain, ADD.into(), None),
        Case::new(&plain, unknown(), None),
        Case::new(&plain, "<a><b></a>".into(), None),
        Case::new(&broken, ADD.into(), None),
        Case::new(&looping, ADD.into(), None),
    ];
    for number in 0..20 {
        let body = ADD.replace(
            "<intA>5",
            &format!("{}<intA>wrong {number}", "\n".repeat(number)),
        );
        cases.push(Case::new(&plain, body, None));
    }
    let failing = cases.iter().filter(|case| case.expected.is_err()).count();
    assert_eq!((cases.len(), failing), (30, 27));
    cases
}

#[test]
fn errors_never_cross_while_definitions_are_recompiled() {
    let cases = cases();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| {
                let cases = &cases;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        cases[(round * 7 + worker * 3) % cases.len()].assert_unchanged();
                        // Process the valid messages concurrently with all others.
                        cases[[0, 1, 5][round % 3]].assert_unchanged();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                cases
                    .iter()
                    .step_by(4)
                    .for_each(|case| case.policy.recompile());
            }
        });
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
}
