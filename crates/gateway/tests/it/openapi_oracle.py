"""Prints openapi-core's verdicts on requests and responses.

Reads {"document": ..., "cases": [...]} as JSON lines from standard input, and writes a line for
each with one digit per case: 1 if the document allows the request or response, 0 otherwise.
"""
import json
import sys
from urllib.parse import parse_qsl

from openapi_core import OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.exceptions import OpenAPIError
from werkzeug.datastructures import Headers, ImmutableMultiDict


class Request:
    host_url = "http://localhost"

    def __init__(self, case):
        self.path = case["path"]
        self.method = case["method"].lower()
        self.content_type = case.get("type", "")
        self.body = case["body"].encode() if case.get("body") is not None else None
        pairs = parse_qsl(case.get("query", ""), keep_blank_values=True)
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(pairs),
            header=Headers(case.get("headers", {})),
            cookie=ImmutableMultiDict(case.get("cookies", {})),
        )


class Response:
    def __init__(self, case):
        self.status_code = case["status"]
        self.content_type = case.get("answer_type", "")
        self.headers = Headers(case.get("answer_headers", {}))
        self.data = case["answer"].encode() if case.get("answer") is not None else b""


def is_allowed(api, case):
    try:
        request = Request(case)
        if "status" in case:
            api.validate_response(request, Response(case))
        else:
            api.validate_request(request)
        return "1"
    except OpenAPIError:
        return "0"


for line in sys.stdin:
    given = json.loads(line)
    api = OpenAPI.from_dict(given["document"])
    print("".join(is_allowed(api, case) for case in given["cases"]), flush=True)
