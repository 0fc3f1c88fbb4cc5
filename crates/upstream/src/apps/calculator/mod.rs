//! The calculator, a SOAP 1.1 service with the four basic operations on 32-bit integers.
//!
//! POST `/ws` takes an operation in the envelope's body. GET `/ws/calculator.wsdl` returns the
//! description of the service. The header `X-Soap-Region` of the service's responses names the
//! calculator that sent them, and thus shows to which of the calculators a gateway forwarded a
//! message. If an operand occurs more than once, its last value is used. The response to a message
//! that cannot be processed is a fault with status 500.

mod message;

use flate2::Compression;

use super::{compress, unknown_path};
use crate::asked::Asked;
use crate::response::{Body, Calculation, Response};
use crate::{Kind, Region};
use message::{Operation, Task};

const TEXT_XML: &str = "text/xml;charset=utf-8";

const WSDL: &[u8] = include_bytes!("calculator.wsdl");

pub(super) fn response(asked: &Asked<'_>, region: Region, scratch: &mut Vec<u8>) -> Response {
    let response = match asked.path {
        "/ws" if asked.method == "POST" => calculation(asked),
        "/ws" => Response::not_allowed("POST"),
        "/ws/calculator.wsdl" => asked.get(|| Response::ok("text/xml", Body::Static(WSDL))),
        _ => unknown_path(Kind::Calculator(region), scratch),
    };
    Response {
        region: Some(region.name()),
        ..response
    }
}

fn calculation(asked: &Asked<'_>) -> Response {
    let coding = asked.text("Content-Encoding").unwrap_or("identity");
    let calculation = Calculation {
        is_compressed: asked.text("Accept-Encoding").is_some_and(takes_gzip),
        is_unreadable: !coding.eq_ignore_ascii_case("identity"),
    };
    Response {
        encoding: calculation.is_compressed.then_some("gzip"),
        ..Response::ok(TEXT_XML, Body::Calculation(calculation))
    }
}

/// Reports whether Accept-Encoding names gzip with a weight above 0 (RFC 9110 12.5.3).
fn takes_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|one| {
        let (coding, parameters) = one.split_once(';').unwrap_or((one, ""));
        let weight = parameters.trim().strip_prefix("q=");
        let is_nothing = weight.is_some_and(|weight| weight.parse() == Ok(0.0));
        coding.trim().eq_ignore_ascii_case("gzip") && !is_nothing
    })
}

/// Returns the status of the response.
pub(crate) fn calculate(calculation: Calculation, body: &[u8], out: &mut Vec<u8>) -> u16 {
    let outcome = if calculation.is_unreadable {
        Err("the body is compressed, which this service does not support; send it uncompressed")
    } else {
        Task::read(body).and_then(|task| Ok((task.operation, result(task)?)))
    };
    let (status, text) = match outcome {
        Ok((operation, result)) => (200, soap_response(operation, result)),
        Err(words) => (500, fault(words)),
    };
    if calculation.is_compressed {
        compress(out, text.as_bytes(), Compression::fast());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    status
}

fn result(task: Task) -> Result<i32, &'static str> {
    let Task {
        operation,
        first,
        second,
    } = task;
    match operation {
        Operation::Add => Ok(first.wrapping_add(second)),
        Operation::Subtract => Ok(first.wrapping_sub(second)),
        Operation::Multiply => Ok(first.wrapping_mul(second)),
        Operation::Divide if second == 0 => Err("division by zero"),
        Operation::Divide => Ok(first.wrapping_div(second)),
    }
}

fn envelope(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"><soap:Body>{body}</soap:Body></soap:Envelope>"
    )
}

fn soap_response(operation: Operation, result: i32) -> String {
    let name = operation.name();
    envelope(&format!(
        "<{name}Response xmlns=\"http://tempuri.org/\"><{name}Result>{result}</{name}Result></{name}Response>"
    ))
}

/// Returns a fault with this text, which comes from this program and therefore needs no escaping.
fn fault(words: &str) -> String {
    envelope(&format!(
        "<soap:Fault><faultcode>soap:Client</faultcode><faultstring>{words}</faultstring></soap:Fault>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(operation: &str, operands: &str) -> (u16, String) {
        let body = format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><{operation} xmlns=\"http://tempuri.org/\">{operands}</{operation}></s:Body></s:Envelope>"
        );
        let calculation = Calculation {
            is_compressed: false,
            is_unreadable: false,
        };
        let mut out = Vec::new();
        let status = calculate(calculation, body.as_bytes(), &mut out);
        (status, String::from_utf8(out).unwrap())
    }

    #[test]
    fn it_calculates() {
        for (operation, operands, expected) in [
            ("Add", "<intA>5</intA><intB>7</intB>", "<AddResult>12<"),
            (
                "Subtract",
                "<intB>7</intB><intA>5</intA>",
                "<SubtractResult>-2<",
            ),
            (
                "Multiply",
                "<intA> -3 </intA><intB>+4</intB>",
                "<MultiplyResult>-12<",
            ),
            (
                "Divide",
                "<intA>-7</intA><intB>2</intB>",
                "<DivideResult>-3<",
            ),
            (
                "Add",
                "<intA>2147483647</intA><intB>1</intB>",
                "<AddResult>-2147483648<",
            ),
            (
                "Add",
                "<intA>1</intA><intB>2</intB><intB>10</intB>",
                "<AddResult>11<",
            ),
        ] {
            let (status, text) = answered(operation, operands);
            assert_eq!(status, 200, "{text}");
            assert!(text.contains(expected) && !text.contains('\n'), "{text}");
        }
        let (_, text) = answered("Add", "<intA>5</intA><intB>7</intB>");
        assert_eq!(text.len(), 326);
    }

    #[test]
    fn impossible_calculations_are_faults() {
        for (operation, operands, words) in [
            ("Divide", "<intA>1</intA><intB>0</intB>", "division by zero"),
            ("Add", "<intA>1</intA>", "intB is missing"),
            ("Add", "<intA>1</intA><intB>two</intB>", "intB is not"),
            (
                "Add",
                "<intA>2147483648</intA><intB>2</intB>",
                "intA is not",
            ),
            ("Power", "<intA>1</intA><intB>2</intB>", "no operation"),
        ] {
            let (status, text) = answered(operation, operands);
            assert_eq!(status, 500);
            assert!(
                text.contains(words) && text.contains("<soap:Fault>"),
                "{text}"
            );
        }
    }

    #[test]
    fn only_clients_that_accept_gzip_get_it() {
        assert!(takes_gzip("br, GZIP;q=0.5") && takes_gzip("gzip"));
        assert!(!takes_gzip("gzip;q=0") && !takes_gzip("identity"));
    }
}
