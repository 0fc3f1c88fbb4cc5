// sizes: Responses of two sizes
// Written by gatebench. Run it with: k6 run -e GATEBENCH_URL=http://127.0.0.1:8080 FILE
import http from 'k6/http';
import { check } from 'k6';
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const BASE = __ENV.GATEBENCH_URL || 'http://127.0.0.1:8080';

export const options = {
  scenarios: {
    'full': {
      executor: 'constant-vus',
      vus: 6,
      duration: '1500ms',
      gracefulStop: '2s',
      exec: 'run_full',
    },
  },
  // Like gatebench, do not follow redirects. Bodies are kept only for checks.
  maxRedirects: 0,
  discardResponseBodies: true,
};

// The requests, sent in turn.
const REQUESTS = [
  {
    method: 'GET',
    path: '/size/350B',
    body: null,
    headers: { 'X-Api-Key': 'it\'s' },
    params: { tags: { name: 'GET /size/350B' }, responseType: 'text' },
    checks: {
      'status is 200': (response) => response.status === 200,
      'header content-type is \'text/plain\'': (response) => response.headers['Content-Type'] === 'text/plain',
      'body contains \'x\'': (response) => (response.body || '').includes('x'),
    },
  },
  {
    method: 'GET',
    path: '/size/1KB?a=b',
    body: null,
    headers: { 'X-Api-Key': 'it\'s' },
    params: { tags: { name: 'GET /size/1KB?a=b' }, responseType: 'text' },
    checks: {
      'status is 200': (response) => response.status === 200,
      'header content-type is \'text/plain\'': (response) => response.headers['Content-Type'] === 'text/plain',
      'body contains \'x\'': (response) => (response.body || '').includes('x'),
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

export function run_full() {
  send(REQUESTS, '10s');
}
