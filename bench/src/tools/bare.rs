//! The client that parses nothing, which shows how far the load generator is from the kernel's
//! limit.

use super::{Job, Made, Method, Protocol, Tool};

pub static BARE: Tool = Tool {
    name: "bare",
    words,
    read,
    version: None,
};

fn words(job: &Job<'_>) -> Result<Vec<String>, String> {
    if job.work.protocol != Protocol::Http1 || !job.work.keep_alive {
        return Err("supports only plain HTTP/1.1 on persistent connections".into());
    }
    let mut words = vec![
        job.programs.bare.display().to_string(),
        "ring".into(),
        job.url.into(),
        job.work.connections.to_string(),
        job.seconds.to_string(),
    ];
    if job.work.method == Method::Post {
        words.push(job.files.body.display().to_string());
    }
    Ok(words)
}

fn read(_: &Job<'_>, output: &str) -> Result<Made, String> {
    parse(output)
}

fn parse(output: &str) -> Result<Made, String> {
    let value: serde_json::Value =
        serde_json::from_str(output).map_err(|error| format!("the output is not JSON: {error}"))?;
    let requests = value["requests"]
        .as_u64()
        .ok_or("the JSON output has no `requests`")?;
    let seconds = value["seconds"]
        .as_f64()
        .ok_or("the JSON output has no `seconds`")?;
    Ok(Made { requests, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_line_is_read() {
        let made = parse("{\"requests\":180500,\"seconds\":1.000023,\"response_bytes\":66}\n");
        assert_eq!(
            made,
            Ok(Made {
                requests: 180_500,
                seconds: 1.000_023
            })
        );
        assert!(parse("{}").is_err());
    }
}
