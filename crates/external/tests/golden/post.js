// post: A body
// Written by gatebench. Run it with: k6 run -e GATEBENCH_URL=http://127.0.0.1:8080 FILE
import http from 'k6/http';
import { check } from 'k6';
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const BASE = __ENV.GATEBENCH_URL || 'http://127.0.0.1:8080';

export const options = {
  scenarios: {
    'steady': {
      executor: 'constant-arrival-rate',
      rate: 25,
      timeUnit: '10s',
      duration: '3s',
      preAllocatedVUs: 8,
      maxVUs: 8,
      gracefulStop: '1s',
      exec: 'run_steady',
    },
  },
  // Like gatebench, do not follow redirects. Bodies are kept only for checks.
  maxRedirects: 0,
  discardResponseBodies: true,
};

// Returns the value at a JSON Pointer (RFC 6901) in a response, or undefined if there is none.
function at(response, pointer) {
  let value;
  try {
    value = JSON.parse(response.body);
  } catch (error) {
    return undefined;
  }
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replace(/~1/g, '/').replace(/~0/g, '~');
    const known = value !== null && typeof value === 'object' && Object.prototype.hasOwnProperty.call(value, key);
    value = known ? value[key] : undefined;
  }
  return value;
}

function same(a, b) {
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b;
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => key in b && same(a[key], b[key]))
  );
}

// The requests, sent in turn.
const REQUESTS = [
  {
    method: 'POST',
    path: '/echo',
    body: '{"a": "é"}',
    headers: { 'Content-Type': 'application/json' },
    params: { tags: { name: 'POST /echo' }, responseType: 'text' },
    checks: {
      'status is 200': (response) => response.status === 200,
      'JSON at \'/a\' is "é"': (response) => same(at(response, '/a'), "é"),
    },
  },
];

http.setResponseCallback(http.expectedStatuses({ min: 100, max: 599 }));

const COUNTERS = {};
for (const kind of ['1xx', '2xx', '3xx', '4xx', '5xx', 'connect', 'reset', 'timeout', 'other']) {
  COUNTERS[kind] = new Counter('gatebench_' + kind);
}

function count(response) {
  COUNTERS[response.status > 0 ? Math.floor(response.status / 100) + 'xx' : error(response.error_code)].add(1);
}

function error(code) {
  if (code === 1050) return 'timeout';
  if (code === 1220) return 'reset';
  return code >= 1100 && code < 1220 ? 'connect' : 'other';
}

function next(requests) {
  return requests[exec.scenario.iterationInTest % requests.length];
}

function send(requests, timeout) {
  const request = next(requests);
  const params = Object.assign({ headers: request.headers, timeout }, request.params);
  const response = http.request(request.method, BASE + request.path, request.body, params);
  count(response);
  check(response, request.checks);
}

export function run_steady() {
  send(REQUESTS, '10s');
}
